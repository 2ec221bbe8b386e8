// CloudKit Web Services, as Virga and the stub speak them.
#include "peers.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Account account = {.container = "iCloud.virga.bench", .environment = "development", .api_token = "x", .web_token = "x", .zone = "Bench"};

static const char *json = "Content-Type: application/json\r\n";

// A token in a query: what is no letter or digit is escaped.
static void append_escaped(Text *out, const char *text) {
  for (; *text; text++) {
    if (isalnum((unsigned char)*text)) append(out, text, 1);
    else appendf(out, "%%%02X", (unsigned char)*text);
  }
}

static void path_of(char *out, size_t capacity, const char *operation) {
  static __thread char query[1024];
  if (!*query) {
    Text text = {0};
    appendf(&text, "?ckAPIToken=%s&ckWebAuthToken=", account.api_token);
    append_escaped(&text, account.web_token);
    snprintf(query, sizeof query, "%.*s", (int)text.length, text.bytes);
    free(text.bytes);
  }
  bool isDevice = !strncmp(operation, "tokens/", 7);
  snprintf(
    out, capacity, "/%s/1/%s/%s/%s%s%s", isDevice ? "device" : "database", account.container, account.environment,
    isDevice ? "" : "private/", operation, query);
}

static Answer call(Connection *connection, const char *operation, Text *body) {
  char path[2048];
  path_of(path, sizeof path, operation);
  Answer answer = exchange(connection, "POST", path, json, (Piece){body->bytes, body->length});
  free(body->bytes);
  *body = (Text){0};
  if (answer.status != 200) fail("%s: %d %.*s", operation, answer.status, (int)answer.body.length, answer.body.start);
  return answer;
}

static void append_operation(Text *text, const char *type, const char *name, const char *tag, long index, long count) {
  appendf(text, "{\"operationType\":\"%s\",\"record\":{\"recordType\":\"Item\",\"recordName\":\"%s\"", type, name);
  if (*tag) appendf(text, ",\"recordChangeTag\":\"%s\"", tag);
  appendf(text, ",\"fields\":{");
  append_fields(text, index, count, WEB_SERVICE);
  appendf(text, "}}}");
}

static void end_modify(Text *text) { appendf(text, "],\"zoneID\":{\"zoneName\":\"%s\"},\"atomic\":true}", account.zone); }

static void set_up(Connection *connection) {
  Text body = {0};
  appendf(&body, "{\"operations\":[{\"operationType\":\"create\",\"zone\":{\"zoneID\":{\"zoneName\":\"%s\"}}}]}", account.zone);
  call(connection, "zones/modify", &body);
}

static void upload(Connection *connection, long from, long to) {
  Text body = {0};
  appendf(&body, "{\"operations\":[");
  for (long index = from; index < to; index++) {
    char name[16];
    name_record(name, 'r', index);
    if (index > from) append(&body, ",", 1);
    append_operation(&body, "forceUpdate", name, "", index, index);
  }
  end_modify(&body);
  Answer answer = call(connection, "records/modify", &body);
  const char *cursor = NULL;
  Piece records = member(answer.body, "records"), record;
  long saved = 0;
  while (next_element(records, &cursor, &record))
    if (!member(record, "serverErrorCode").start && member(record, "recordChangeTag").start) saved++;
  if (saved != to - from) fail("%ld of %ld records were saved", saved, to - from);
}

static Piece value(Piece record, const char *field) { return member(member(member(record, "fields"), field), "value"); }

static long pull(Connection *connection, char token[512], Visit visit, void *context) {
  long count = 0;
  bool isMore = true;
  while (isMore) {
    Text body = {0};
    appendf(&body, "{\"zones\":[{\"zoneID\":{\"zoneName\":\"%s\"}", account.zone);
    if (*token) appendf(&body, ",\"syncToken\":\"%s\"", token);
    appendf(&body, "}]}");
    Answer answer = call(connection, "changes/zone", &body);
    const char *cursor = NULL, *records = NULL;
    Piece zone = {0}, record;
    if (!next_element(member(answer.body, "zones"), &cursor, &zone) || member(zone, "serverErrorCode").start)
      fail("changes/zone: %.*s", (int)answer.body.length, answer.body.start);
    Piece list = member(zone, "records");
    while (next_element(list, &records, &record)) {
      Found found = {member(record, "recordName"), member(record, "recordChangeTag"), value(record, "body"), number(value(record, "count"))};
      visit(&found, context);
      count++;
    }
    unquote(member(zone, "syncToken"), token, 512);
    isMore = is(member(zone, "moreComing"), "true");
  }
  return count;
}

static bool save(Connection *connection, const char *name, long index, long *count, char tag[128]) {
  Text body = {0};
  appendf(&body, "{\"operations\":[");
  append_operation(&body, *tag ? "update" : "forceUpdate", name, tag, index, *count);
  end_modify(&body);
  Answer answer = call(connection, "records/modify", &body);
  const char *cursor = NULL;
  Piece record = {0};
  next_element(member(answer.body, "records"), &cursor, &record);
  Piece code = member(record, "serverErrorCode");
  if (!code.start) {
    unquote(member(record, "recordChangeTag"), tag, 128);
    return true;
  }
  if (!is(code, "\"CONFLICT\"") && !is(code, "\"ATOMIC_ERROR\"")) fail("%.*s", (int)answer.body.length, answer.body.start);
  Piece theirs = member(record, "serverRecord");
  if (!theirs.start) {
    appendf(&body, "{\"records\":[{\"recordName\":\"%s\"}],\"zoneID\":{\"zoneName\":\"%s\"}}", name, account.zone);
    answer = call(connection, "records/lookup", &body);
    cursor = NULL;
    next_element(member(answer.body, "records"), &cursor, &theirs);
  }
  *count = number(value(theirs, "count"));
  unquote(member(theirs, "recordChangeTag"), tag, 128);
  return false;
}

// The path of a URL of the server's own.
static void url_path(Piece url, char *out, size_t capacity) {
  unquote(url, out, capacity);
  char *scheme = strstr(out, "://"), *path = scheme ? strchr(scheme + 3, '/') : NULL;
  if (path) memmove(out, path, strlen(path) + 1);
}

static void put_asset(Connection *connection, long index, Piece bytes) {
  char name[16], path[2048], file[4096];
  name_record(name, 'f', index);
  Text body = {0};
  appendf(&body, "{\"zoneID\":{\"zoneName\":\"%s\"},\"tokens\":[{\"recordName\":\"%s\",\"recordType\":\"File\",\"fieldName\":\"file\"}]}", account.zone, name);
  Answer answer = call(connection, "assets/upload", &body);
  const char *cursor = NULL;
  Piece token = {0};
  next_element(member(answer.body, "tokens"), &cursor, &token);
  url_path(member(token, "url"), path, sizeof path);
  answer = exchange(connection, "POST", path, "Content-Type: application/octet-stream\r\n", bytes);
  Piece receipt = member(answer.body, "singleFile");
  if (answer.status != 200 || !receipt.start || receipt.length >= sizeof file) fail("an asset was refused: %d", answer.status);
  snprintf(file, sizeof file, "%.*s", (int)receipt.length, receipt.start);
  appendf(&body, "{\"operations\":[{\"operationType\":\"forceUpdate\",\"record\":{\"recordType\":\"File\",\"recordName\":\"%s\",\"fields\":{\"file\":{\"value\":%s,\"type\":\"ASSETID\"}}}}", name, file);
  end_modify(&body);
  answer = call(connection, "records/modify", &body);
  cursor = NULL;
  Piece record = {0};
  next_element(member(answer.body, "records"), &cursor, &record);
  if (member(record, "serverErrorCode").start) fail("%.*s", (int)answer.body.length, answer.body.start);
}

static Answer get_asset(Connection *connection, long index) {
  char name[16], path[2048];
  name_record(name, 'f', index);
  Text body = {0};
  appendf(&body, "{\"records\":[{\"recordName\":\"%s\"}],\"zoneID\":{\"zoneName\":\"%s\"}}", name, account.zone);
  Answer answer = call(connection, "records/lookup", &body);
  const char *cursor = NULL;
  Piece record = {0};
  next_element(member(answer.body, "records"), &cursor, &record);
  url_path(member(value(record, "file"), "downloadURL"), path, sizeof path);
  return exchange(connection, "GET", path, "", (Piece){"", 0});
}

static char courier[2048];

static void listen_again(Connection *listener) { send_request(listener, "GET", courier, "", (Piece){"", 0}); }

static bool listen_for(Connection *control, Connection *listener) {
  Text body = {0};
  appendf(&body, "{\"operations\":[{\"operationType\":\"create\",\"subscription\":{\"subscriptionID\":\"bench\",\"subscriptionType\":\"zone\",\"zoneID\":{\"zoneName\":\"%s\"}}}]}", account.zone);
  call(control, "subscriptions/modify", &body);
  appendf(&body, "{\"apnsEnvironment\":\"%s\"}", account.environment);
  url_path(member(call(control, "tokens/create", &body).body, "webcourierURL"), courier, sizeof courier);
  listen_again(listener);
  return true;
}

const Server web_service = {"web service", set_up, upload, pull, save, put_asset, get_asset, listen_for, listen_again};
