// A server of the web service's few calls that keeps all in memory, checks nobody and makes nothing durable: what any server of
// this protocol could reach with this driver on this machine.
#define _GNU_SOURCE
#include "peers.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct {
  char *name, *type, *fields;
  long sequence;
} Record;

enum { SLOTS = 1 << 20, BLOBS = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static Record *table[SLOTS];
// Records by the number of their last change; a number that was passed on holds none.
static Record **feed;
static long sequence, feed_capacity, blob_count;
static struct { char *bytes; size_t length; } blobs[BLOBS];

static char *copy(Piece piece) {
  char *text = malloc(piece.length + 1);
  if (piece.length) memcpy(text, piece.start, piece.length);
  text[piece.length] = 0;
  return text;
}

static Record **slot(Piece name) {
  unsigned long hash = 1469598103934665603UL;
  for (size_t at = 0; at < name.length; at++) hash = (hash ^ (unsigned char)name.start[at]) * 1099511628211UL;
  for (unsigned long place = hash >> 20;; place++) {
    Record **found = &table[place & (SLOTS - 1)];
    if (!*found || is(name, (*found)->name)) return found;
  }
}

static void append_record(Text *out, const Record *record) {
  appendf(out, "{\"recordName\":%s,\"recordType\":%s,\"fields\":", record->name, record->type);
  append(out, record->fields, strlen(record->fields));
  appendf(out, ",\"recordChangeTag\":\"%ld\",\"deleted\":false}", record->sequence);
}

static void note_change(Record *record) {
  if (record->sequence) feed[record->sequence] = NULL;
  record->sequence = ++sequence;
  if (sequence >= feed_capacity) {
    feed_capacity = (sequence + 1) * 2;
    feed = realloc(feed, feed_capacity * sizeof *feed);
  }
  feed[sequence] = record;
}

static void modify(Piece body, Text *out) {
  const char *cursor = NULL;
  Piece operation;
  bool isFirst = true;
  Piece operations = member(body, "operations");
  appendf(out, "{\"records\":[");
  while (next_element(operations, &cursor, &operation)) {
    Piece record = member(operation, "record"), name = member(record, "recordName"), tag = member(record, "recordChangeTag");
    Record **found = slot(name);
    if (!isFirst) append(out, ",", 1);
    isFirst = false;
    // The tag is a string of the number.
    if (*found && is(member(operation, "operationType"), "\"update\"") && strtol(tag.start + 1, NULL, 10) != (*found)->sequence) {
      appendf(out, "{\"recordName\":%s,\"serverErrorCode\":\"CONFLICT\",\"serverRecord\":", (*found)->name);
      append_record(out, *found);
      append(out, "}", 1);
      continue;
    }
    if (!*found) {
      *found = calloc(1, sizeof **found);
      (*found)->name = copy(name);
    }
    free((*found)->type);
    free((*found)->fields);
    (*found)->type = copy(member(record, "recordType"));
    (*found)->fields = copy(member(record, "fields"));
    note_change(*found);
    append_record(out, *found);
  }
  appendf(out, "]}");
  pthread_cond_broadcast(&news);
}

static void look_up(Piece body, Text *out) {
  const char *cursor = NULL;
  Piece item;
  Piece names = member(body, "records");
  appendf(out, "{\"records\":[");
  while (next_element(names, &cursor, &item)) {
    Record *record = *slot(member(item, "recordName"));
    if (record) append_record(out, record);
  }
  appendf(out, "]}");
}

static void append_changes(Piece body, Text *out) {
  const char *cursor = NULL;
  Piece zone = {0};
  next_element(member(body, "zones"), &cursor, &zone);
  Piece token = member(zone, "syncToken");
  long from = token.start ? strtol(token.start + 1, NULL, 10) : 0, count = 0;
  Piece id = member(zone, "zoneID");
  appendf(out, "{\"zones\":[{\"zoneID\":%.*s,\"records\":[", (int)id.length, id.start);
  while (from < sequence && count < 200) {
    Record *record = feed[++from];
    if (!record) continue;
    if (count++) append(out, ",", 1);
    append_record(out, record);
  }
  appendf(out, "],\"syncToken\":\"%ld\",\"moreComing\":%s}]}", from, from < sequence ? "true" : "false");
}

static void wait_for_news(Text *out) {
  long seen = sequence;
  while (sequence == seen) pthread_cond_wait(&news, &lock);
  appendf(out, "{\"ck\":{\"fet\":{}}}");
}

static void exchange_blob(const char *method, long index, Piece body, Text *out) {
  if (index < 0 || index >= BLOBS) fail("more assets than the stub has room for");
  if (*method == 'G') return append(out, blobs[index].bytes, blobs[index].length);
  blobs[index].bytes = copy(body);
  blobs[index].length = body.length;
  appendf(out, "{\"singleFile\":{\"receipt\":\"%ld\",\"size\":%zu,\"downloadURL\":\"http://127.0.0.1/blob/%ld\"}}", index, body.length, index);
}

static void respond(const char *method, const char *path, Piece body, Text *out) {
  const char *blob = strstr(path, "/blob/");
  pthread_mutex_lock(&lock);
  if (blob) exchange_blob(method, atol(blob + 6), body, out);
  else if (strstr(path, "/records/modify")) modify(body, out);
  else if (strstr(path, "/records/lookup")) look_up(body, out);
  else if (strstr(path, "/changes/zone")) append_changes(body, out);
  else if (strstr(path, "/courier")) wait_for_news(out);
  else if (strstr(path, "/assets/upload")) appendf(out, "{\"tokens\":[{\"url\":\"http://127.0.0.1/blob/%ld\"}]}", blob_count++);
  else if (strstr(path, "/tokens/create")) appendf(out, "{\"webcourierURL\":\"http://127.0.0.1/courier\"}");
  else appendf(out, "{}");
  pthread_mutex_unlock(&lock);
}

static bool receive(int descriptor, Text *text) {
  char block[1 << 16];
  ssize_t count = recv(descriptor, block, sizeof block, 0);
  if (count > 0) append(text, block, count);
  return count > 0;
}

static void *serve_client(void *argument) {
  int descriptor = (int)(long)argument;
  Text in = {0}, out = {0}, answer = {0};
  for (;;) {
    char *end, method[16], path[2048];
    while (!in.bytes || !(end = memmem(in.bytes, in.length, "\r\n\r\n", 4)))
      if (!receive(descriptor, &in)) goto gone;
    size_t head = end + 4 - in.bytes, length = 0;
    *end = 0;
    if (sscanf(in.bytes, "%15s %2047s", method, path) != 2) goto gone;
    char *field = strcasestr(in.bytes, "\r\nContent-Length:");
    if (field) length = strtoul(field + 17, NULL, 10);
    while (in.length < head + length)
      if (!receive(descriptor, &in)) goto gone;
    out.length = answer.length = 0;
    respond(method, path, (Piece){in.bytes + head, length}, &out);
    appendf(&answer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", out.length);
    append(&answer, out.bytes, out.length);
    for (size_t sent = 0; sent < answer.length;) {
      ssize_t count = send(descriptor, answer.bytes + sent, answer.length - sent, MSG_NOSIGNAL);
      if (count <= 0) goto gone;
      sent += count;
    }
    in.length -= head + length;
    memmove(in.bytes, in.bytes + head + length, in.length);
  }
gone:
  free(in.bytes);
  free(out.bytes);
  free(answer.bytes);
  close(descriptor);
  return NULL;
}

void serve_stub(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) fail("port %d: %m", port);
  for (;;) {
    int descriptor = accept(listener, NULL, NULL);
    if (descriptor < 0) continue;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve_client, (void *)(long)descriptor)) fail("no thread for a client");
    pthread_detach(thread);
  }
}
