// PocketBase: batches of creates, pages by time and identifier, and a rule that stands in for If-Match, which it has not.
#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *records = "/api/collections/bench/records";
static const char *json = "Content-Type: application/json\r\n";
static const char *superuser = "{\"identity\":\"bench@example.org\",\"password\":\"bench-password-1\"}";
static char signed_in[1024];

static Answer call(Connection *connection, const char *method, const char *path, const char *headers, Text *body) {
  char all[2048];
  snprintf(all, sizeof all, "%s%s", headers, json);
  Answer answer = exchange(connection, method, path, all, (Piece){body->bytes, body->length});
  free(body->bytes);
  *body = (Text){0};
  return answer;
}

static void expect(Answer answer, const char *what) {
  if (answer.status != 200 && answer.status != 204)
    fail("%s: %d %.*s", what, answer.status, (int)answer.body.length, answer.body.start);
}

static void authorise(Connection *connection, const char *path, const char *body, char out[1024]) {
  char token[900];
  Text text = {0};
  appendf(&text, "%s", body);
  Answer answer = call(connection, "POST", path, "", &text);
  expect(answer, path);
  unquote(member(answer.body, "token"), token, sizeof token);
  snprintf(out, 1024, "Authorization: %s\r\n", token);
}

static void set_up(Connection *connection) {
  char admin[1024];
  authorise(connection, "/api/collections/_superusers/auth-with-password", superuser, admin);
  Text body = {0};
  appendf(&body, "{\"batch\":{\"enabled\":true,\"maxRequests\":400,\"timeout\":60,\"maxBodySize\":33554432}}");
  expect(call(connection, "PATCH", "/api/settings", admin, &body), "settings");
  const char *rule = "\"@request.auth.id != ''\"";
  appendf(
    &body,
    "{\"name\":\"bench\",\"type\":\"base\",\"listRule\":%s,\"viewRule\":%s,\"createRule\":%s,\"deleteRule\":%s,"
    "\"updateRule\":\"@request.auth.id != '' && (@request.query.tag = '' || @request.query.tag = tag)\",\"fields\":[",
    rule, rule, rule, rule);
  for (const char *names = "title\0body\0category\0uuid\0tag\0"; *names; names += strlen(names) + 1)
    appendf(&body, "{\"name\":\"%s\",\"type\":\"text\"},", names);
  for (const char *names = "count\0price\0createdAt\0done\0"; *names; names += strlen(names) + 1)
    appendf(&body, "{\"name\":\"%s\",\"type\":\"number\"},", names);
  appendf(
    &body,
    "{\"name\":\"file\",\"type\":\"file\",\"maxSelect\":1,\"maxSize\":8388608},"
    "{\"name\":\"updated\",\"type\":\"autodate\",\"onCreate\":true,\"onUpdate\":true}],"
    "\"indexes\":[\"CREATE INDEX bench_updated ON bench (updated, id)\"]}");
  expect(call(connection, "POST", "/api/collections", admin, &body), "collection");
  appendf(&body, "{\"email\":\"bench@example.org\",\"password\":\"bench-password-1\",\"passwordConfirm\":\"bench-password-1\"}");
  expect(call(connection, "POST", "/api/collections/users/records", admin, &body), "user");
  authorise(connection, "/api/collections/users/auth-with-password", superuser, signed_in);
}

static void upload(Connection *connection, long from, long to) {
  Text body = {0};
  appendf(&body, "{\"requests\":[");
  for (long index = from; index < to; index++) {
    char name[16];
    name_record(name, 'r', index);
    appendf(&body, "%s{\"method\":\"POST\",\"url\":\"%s\",\"body\":{\"id\":\"%s\",\"tag\":\"0\",", index > from ? "," : "", records, name);
    append_fields(&body, index, index, FLAT);
    appendf(&body, "}}");
  }
  appendf(&body, "]}");
  expect(call(connection, "POST", "/api/batch", signed_in, &body), "batch");
}

// The token is where the last page ended: a time with its space escaped, and an identifier.
static long pull(Connection *connection, char token[512], Visit visit, void *context) {
  long count = 0;
  for (long page = 1000; page == 1000;) {
    char path[1024], updated[64] = "", last[64] = "";
    int length = snprintf(path, sizeof path, "%s?perPage=1000&skipTotal=1&sort=updated,id", records);
    if (*token) snprintf(path + length, sizeof path - length, "&filter=%s", token);
    Answer answer = exchange(connection, "GET", path, signed_in, (Piece){"", 0});
    expect(answer, "records");
    Piece items = member(answer.body, "items"), item;
    const char *cursor = NULL;
    for (page = 0; next_element(items, &cursor, &item); page++) {
      Found found = {member(item, "id"), member(item, "tag"), member(item, "body"), number(member(item, "count"))};
      visit(&found, context);
      unquote(member(item, "updated"), updated, sizeof updated);
      unquote(found.name, last, sizeof last);
    }
    count += page;
    char *space = strchr(updated, ' ');
    if (page == 0 || !space) break;
    *space = 0;
    snprintf(
      token, 512,
      "updated%%3E'%s%%20%s'%%7C%%7C(updated%%3D'%s%%20%s'%%26%%26id%%3E'%s')", updated, space + 1, updated, space + 1, last);
  }
  return count;
}

static bool save(Connection *connection, const char *name, long index, long *count, char tag[128]) {
  static __thread unsigned long next;
  if (!next) next = (unsigned long)&next ^ (unsigned long)(seconds() * 1e9);
  char path[512], mine[32];
  snprintf(mine, sizeof mine, "%016lx", next = next * 6364136223846793005UL + 1442695040888963407UL);
  snprintf(path, sizeof path, "%s/%s%s%s", records, name, *tag ? "?tag=" : "", tag);
  Text body = {0};
  appendf(&body, "{\"tag\":\"%s\",", mine);
  append_fields(&body, index, *count, FLAT);
  appendf(&body, "}");
  Answer answer = call(connection, "PATCH", path, signed_in, &body);
  if (answer.status == 404 && !*tag) {
    appendf(&body, "{\"id\":\"%s\",\"tag\":\"%s\",", name, mine);
    append_fields(&body, index, *count, FLAT);
    appendf(&body, "}");
    answer = call(connection, "POST", records, signed_in, &body);
    expect(answer, "a new record");
  }
  if (answer.status == 200) {
    strcpy(tag, mine);
    return true;
  }
  snprintf(path, sizeof path, "%s/%s", records, name);
  answer = exchange(connection, "GET", path, signed_in, (Piece){"", 0});
  expect(answer, "a record");
  *count = number(member(answer.body, "count"));
  unquote(member(answer.body, "tag"), tag, 128);
  return false;
}

static void put_asset(Connection *connection, long index, Piece bytes) {
  char name[16], headers[1200];
  name_record(name, 'f', index);
  Text body = {0};
  appendf(&body, "--edge\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n%s\r\n--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n", name);
  append(&body, bytes.start, bytes.length);
  appendf(&body, "\r\n--edge--\r\n");
  snprintf(headers, sizeof headers, "%sContent-Type: multipart/form-data; boundary=edge\r\n", signed_in);
  expect(exchange(connection, "POST", records, headers, (Piece){body.bytes, body.length}), "a file");
  free(body.bytes);
}

static Answer get_asset(Connection *connection, long index) {
  char name[16], path[512], file[256];
  name_record(name, 'f', index);
  snprintf(path, sizeof path, "%s/%s", records, name);
  unquote(member(exchange(connection, "GET", path, signed_in, (Piece){"", 0}).body, "file"), file, sizeof file);
  snprintf(path, sizeof path, "/api/files/bench/%s/%s", name, file);
  return exchange(connection, "GET", path, signed_in, (Piece){"", 0});
}

static bool listen_for(Connection *control, Connection *listener) { return false; }

const Server pocket_base = {"PocketBase", set_up, upload, pull, save, put_asset, get_asset, listen_for, NULL};
