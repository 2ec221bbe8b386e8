"""pyicloud's CloudKit client, as strict as it gets, against a real `virga serve`.

Its models refuse every key that they do not know (`validation_extra="forbid"`), so an answer with a key too many fails here.
It sends assets over https only, so a TLS proxy of a few lines stands before the server.
"""

import base64
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

import requests

from pyicloud.common.cloudkit.client import (
    CloudKitApiError,
    CloudKitAuthError,
    CloudKitContainerClient,
)
from pyicloud.common.cloudkit.models import (
    CKModifyOperation,
    CKFVInt64,
    CKQueryFilterBy,
    CKQueryObject,
    CKQuerySortBy,
    CKRecord,
    CKTombstoneRecord,
    CKWriteRecord,
    CKZoneChangesZoneReq,
    CKZoneID,
    CKZoneIDReq,
)

CONTAINER = "iCloud.com.example.Conformance"
VIRGA = os.environ.get("VIRGA", ".build/debug/virga")


class TLSProxy:
    """Ends TLS on a free port of loopback and hands the bytes on."""

    def __init__(self, folder):
        self.certificate = str(folder / "certificate.pem")
        key = str(folder / "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
             self.certificate],
            check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.target = None
        threading.Thread(target=self._accept, args=(listener, context), daemon=True).start()

    def _accept(self, listener, context):
        while True:
            client, _ = listener.accept()
            threading.Thread(target=self._serve, args=(client, context), daemon=True).start()

    def _serve(self, client, context):
        try:
            with context.wrap_socket(client, server_side=True) as near, socket.create_connection(self.target) as far:
                back = threading.Thread(target=self._pump, args=(far, near), daemon=True)
                back.start()
                self._pump(near, far)
                back.join()
        except OSError:
            client.close()

    @staticmethod
    def _pump(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class PyiCloudSuite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.proxy = TLSProxy(folder)
        base = f"https://localhost:{cls.proxy.port}"
        cls.server = subprocess.Popen(
            [VIRGA, "serve", "--data", str(folder / "data"), "--port", "0", "--base-url", base],
            stdout=subprocess.PIPE, text=True)
        for line in cls.server.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                port = int(found.group(1))
            if line.startswith("Try next:"):
                break
        cls.proxy.target = ("127.0.0.1", port)
        tokens = json.loads(subprocess.run(
            [VIRGA, "account", "token", "--container", CONTAINER, "--json", "--endpoint", f"http://127.0.0.1:{port}",
             "--home", str(folder / "home")], check=True, capture_output=True, text=True).stdout)
        cls.session = requests.Session()
        cls.session.verify = cls.proxy.certificate
        cls.session.trust_env = False
        cls.base = f"{base}/database/1/{CONTAINER}/development/private"
        cls.params = {"ckAPIToken": tokens["apiToken"], "ckWebAuthToken": tokens["webAuthToken"]}

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        code = cls.server.wait(timeout=30)
        cls.server.stdout.close()
        cls.session.close()
        cls.folder.cleanup()
        assert code == 0, f"the server ended with {code}"

    def setUp(self):
        self.client = self.make_client()
        self.zone = CKZoneIDReq(zoneName=self.id().rsplit(".", 1)[1])
        zone = {"zoneID": {"zoneName": self.zone.zoneName}}
        self.client.raw_post("/zones/modify", {"operations": [{"operationType": "create", "zone": zone}]})

    def make_client(self, extra="forbid", **parameters):
        return CloudKitContainerClient(
            self.base, self.session, {**self.params, **parameters}, validation_extra=extra)

    def operation(self, kind, name, fields=None, tag=None, record_type="Note"):
        record = CKWriteRecord(recordName=name, recordType=record_type, fields=fields or {}, recordChangeTag=tag)
        return CKModifyOperation(operationType=kind, record=record)

    def save(self, *operations, atomic=None):
        return self.client.modify(operations=list(operations), zone_id=self.zone, atomic=atomic).records

    @staticmethod
    def text(value):
        return {"type": "STRING", "value": value}

    # Zones

    def test_zones_are_listed(self):
        names = [zone.zoneID.zoneName for zone in self.client.zones_list().zones]
        self.assertIn(self.zone.zoneName, names)
        self.assertIn("_defaultZone", names)

    def test_database_changes_name_the_zones_that_changed(self):
        first = self.client.database_changes()
        self.assertIn(self.zone.zoneName, [zone.zoneID.zoneName for zone in first.zones])
        self.assertEqual(self.client.database_changes(sync_token=first.syncToken).zones, [])
        self.save(self.operation("create", "n1", {"text": self.text("a")}))
        later = self.client.database_changes(sync_token=first.syncToken)
        self.assertEqual([zone.zoneID.zoneName for zone in later.zones], [self.zone.zoneName])

    # Records

    def test_records_of_every_type_come_back(self):
        fields = {
            "text": self.text("ñandú"), "whole": {"type": "INT64", "value": -(2**53)},
            "real": {"type": "DOUBLE", "value": 0.5}, "time": {"type": "TIMESTAMP", "value": 1_700_000_000_000},
            "bytes": {"type": "BYTES", "value": base64.b64encode(b"\x00\xff").decode()},
            "texts": {"type": "STRING_LIST", "value": ["a", "b"]},
            "wholes": {"type": "INT64_LIST", "value": [1, 2]}, "reals": {"type": "DOUBLE_LIST", "value": [1.5]},
            "other": {"type": "REFERENCE", "value": {"recordName": "n2", "action": "NONE"}},
        }
        self.save(self.operation("create", "n1", fields))
        record = self.client.lookup(["n1"], zone_id=self.zone).records[0]
        self.assertIsInstance(record, CKRecord)
        self.assertEqual(record.recordType, "Note")
        self.assertEqual(set(record.fields), set(fields))
        self.assertEqual(record.fields.get_value("text"), "ñandú")
        self.assertEqual(record.fields.get_value("whole"), -(2**53))
        self.assertEqual(record.fields.get_value("texts"), ["a", "b"])
        self.assertEqual(record.fields.get_value("other").recordName, "n2")

    def test_desired_keys_narrow_a_lookup(self):
        self.save(self.operation("create", "n1", {"a": self.text("1"), "b": self.text("2")}))
        record = self.client.lookup(["n1"], zone_id=self.zone, desired_keys=["b"]).records[0]
        self.assertEqual(list(record.fields), ["b"])

    def test_tags_move_with_each_update(self):
        first = self.save(self.operation("create", "n1", {"text": self.text("a")}))[0]
        second = self.save(self.operation("update", "n1", {"text": self.text("b")}, first.recordChangeTag))[0]
        self.assertNotEqual(first.recordChangeTag, second.recordChangeTag)
        self.assertEqual(second.fields.get_value("text"), "b")

    def test_a_stale_tag_is_a_conflict(self):
        first = self.save(self.operation("create", "n1", {"text": self.text("a")}))[0]
        self.save(self.operation("update", "n1", {"text": self.text("b")}, first.recordChangeTag))
        with self.assertRaises(CloudKitApiError) as raised:
            self.save(self.operation("update", "n1", {"text": self.text("c")}, first.recordChangeTag))
        # The protocol gives every error a `uuid`, which pyicloud's model of it lacks: it is read leniently here.
        self.assertEqual(raised.exception.payload["records"][0]["serverErrorCode"], "CONFLICT")
        self.client = self.make_client(extra="ignore")
        with self.assertRaisesRegex(CloudKitApiError, "n1: CONFLICT"):
            self.save(self.operation("update", "n1", {"text": self.text("c")}, first.recordChangeTag))
        self.assertEqual(
            self.client.lookup(["n1"], zone_id=self.zone).records[0].fields.get_value("text"), "b")

    def test_a_taken_name_is_a_conflict(self):
        self.save(self.operation("create", "n1", {"text": self.text("a")}))
        self.client = self.make_client(extra="ignore")
        with self.assertRaisesRegex(CloudKitApiError, "n1: CONFLICT"):
            self.save(self.operation("create", "n1", {"text": self.text("b")}))

    # Changes

    def test_changes_are_paged_and_end_with_tombstones(self):
        self.save(*[self.operation("create", f"n{n}", {"n": {"type": "INT64", "value": n}}) for n in range(25)])
        request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName=self.zone.zoneName))
        pages = list(self.client.iter_changes(zone_req=request, results_limit=10))
        self.assertEqual([len(page.records) for page in pages], [10, 10, 5])
        names = [record.recordName for page in pages for record in page.records]
        self.assertEqual(sorted(names), sorted(f"n{n}" for n in range(25)))
        tag = pages[0].records[0].recordChangeTag
        self.save(self.operation("delete", "n0", tag=tag), self.operation("forceDelete", "n1"))
        request.syncToken = pages[-1].syncToken
        zone = self.client.changes(zone_req=request).zones[0]
        self.assertEqual([type(record) for record in zone.records], [CKTombstoneRecord] * 2)
        self.assertEqual([record.recordName for record in zone.records], ["n0", "n1"])
        request.syncToken = zone.syncToken
        self.assertEqual(self.client.changes(zone_req=request).zones[0].records, [])

    def test_a_zone_that_is_not_there_is_an_error(self):
        request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName="nowhere"))
        with self.assertRaisesRegex(CloudKitApiError, "ZONE_NOT_FOUND"):
            self.client.changes(zone_req=request)

    def test_current_sync_token_comes_along_if_wanted(self):
        client = self.make_client(getCurrentSyncToken=True)
        saved = client.modify(operations=[self.operation("create", "n1")], zone_id=self.zone)
        self.assertTrue(saved.syncToken)
        self.assertTrue(client.lookup(["n1"], zone_id=self.zone).syncToken)

    # Assets

    def test_assets_go_up_and_come_down(self):
        content = os.urandom(300_000)
        token = self.client.upload_asset(
            record_type="Note", field_name="photo", record_name="n1", data=content, zone_id=self.zone)
        self.assertEqual(token.size, len(content))
        value = {"type": "ASSETID", "value": token.model_dump(exclude_none=True)}
        self.save(self.operation("create", "n1", {"photo": value}))
        record = self.client.lookup(["n1"], zone_id=self.zone).records[0]
        url = record.fields.get_value("photo").downloadURL
        self.assertEqual(self.client.download_asset_bytes(url), content)
        self.assertEqual(b"".join(self.client.download_asset_stream(url)), content)

    # Queries

    def test_queries_are_paged(self):
        self.save(*[self.operation("create", f"n{n:02}", {"n": {"type": "INT64", "value": n}}) for n in range(25)])
        # A query without a filter would ask for an index on the record's name, which a schema has to declare.
        query = CKQueryObject(
            recordType="Note",
            filterBy=[
                CKQueryFilterBy(
                    comparator="GREATER_THAN_OR_EQUALS", fieldName="n", fieldValue=CKFVInt64(type="INT64", value=0))
            ],
            sortBy=[CKQuerySortBy(fieldName="n", ascending=False)])
        numbers, marker = [], None
        while True:
            page = self.client.query(query=query, zone_id=self.zone, results_limit=10, continuation=marker)
            numbers += [record.fields.get_value("n") for record in page.records]
            marker = page.continuationMarker
            if marker is None:
                break
        self.assertEqual(numbers, list(reversed(range(25))))
        self.assertTrue(self.make_client(getCurrentSyncToken=True).query_sync_token(query=query, zone_id=self.zone))

    # Credentials

    def test_wrong_credentials_are_an_authentication_error(self):
        client = CloudKitContainerClient(
            self.base, self.session, {"ckAPIToken": "0" * 64}, validation_extra="forbid")
        with self.assertRaises(CloudKitAuthError):
            client.zones_list()


if __name__ == "__main__":
    unittest.main(verbosity=int(os.environ.get("VERBOSITY", "1")))
