#include "peers.h"
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 20000, BATCH = 200, CLIENTS = 16, STORM_RECORDS = 50, ASSETS = 20, ASSET_BYTES = 1 << 20, ROUNDS = 100 };
static const double span = 5;

static const Server *server;
static int port;
// The tags of the uploaded records, and the token behind all of them.
static char tags[RECORDS][128], newest[512];

static void report(const char *row, double value, const char *unit) {
  printf("%s\t%.6g\t%s\n", row, value, unit);
  fflush(stdout);
}

static int compare(const void *left, const void *right) {
  double difference = *(const double *)left - *(const double *)right;
  return difference < 0 ? -1 : difference > 0;
}

static double median(double *values, int count) {
  qsort(values, count, sizeof *values, compare);
  return values[count / 2];
}

static void note_tag(const Found *found, void *context) {
  long index = found->name.length == 17 && found->name.start[1] == 'r' ? strtol(found->name.start + 2, NULL, 10) : -1;
  if (index >= 0 && index < RECORDS) unquote(found->tag, tags[index], sizeof tags[index]);
}

static void count_bytes(const Found *found, void *context) { *(long *)context += found->body.length; }

// What a record's count was when it came last.
static void note_count(const Found *found, void *context) { *(long *)context = found->count; }

static void must_save(Connection *connection, long index, long count) {
  char name[16];
  long sent = count;
  name_record(name, 'r', index);
  if (!server->save(connection, name, index, &sent, tags[index])) fail("a save of '%s' met a conflict", name);
}

static void measure_upload(Connection *connection) {
  double start = seconds();
  for (long from = 0; from < RECORDS; from += BATCH) server->upload(connection, from, from + BATCH);
  report("upload", RECORDS / (seconds() - start), "records/s");
}

static void measure_download(Connection *connection) {
  char token[512] = "";
  long bytes = 0;
  double start = seconds();
  long count = server->pull(connection, token, count_bytes, &bytes);
  double time = seconds() - start;
  if (count != RECORDS || bytes < 240 * count) fail("%ld records came with %ld bytes of text", count, bytes);
  report("download", count / time, "records/s");
  server->pull(connection, newest, note_tag, NULL);
}

static void measure_deltas(Connection *connection, Connection *other) {
  double times[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    long seen = -1;
    must_save(connection, round * 131 % RECORDS, 100000 + round);
    double start = seconds();
    server->pull(other, newest, note_count, &seen);
    times[round] = (seconds() - start) * 1e3;
    if (seen != 100000 + round) fail("a change was not in the next poll");
  }
  report("delta poll", median(times, ROUNDS), "ms");
}

typedef struct {
  Connection *connection;
  long index, count;
  double done;
} OneSave;

static void *save_once(void *argument) {
  OneSave *save = argument;
  must_save(save->connection, save->index, save->count);
  save->done = seconds();
  return NULL;
}

// Waits until the listener's answer holds a notice, and asks again.
static void await_notice(Connection *listener) {
  while (receive_answer(listener).body.length == 0) server->listen_again(listener);
  server->listen_again(listener);
}

static void measure_pushes(Connection *connection, Connection *other) {
  Connection listener;
  double before[ROUNDS], after[ROUNDS];
  open_connection(&listener, port);
  if (!server->listen(other, &listener)) return close_connection(&listener);
  usleep(300000);
  for (int round = 0; round < ROUNDS; round++) {
    long seen = -1;
    OneSave save = {connection, round * 137 % RECORDS, 200000 + round, 0};
    pthread_t thread;
    double start = seconds();
    if (pthread_create(&thread, NULL, save_once, &save)) fail("no thread");
    while (seen != save.count) {
      await_notice(&listener);
      server->pull(other, newest, note_count, &seen);
    }
    double end = seconds();
    pthread_join(thread, NULL);
    before[round] = (end - start) * 1e3;
    after[round] = (end - save.done) * 1e3;
    usleep(20000);
  }
  report("push, before the save to the record", median(before, ROUNDS), "ms");
  report("push, after the save's answer", median(after, ROUNDS), "ms");
  close_connection(&listener);
}

typedef struct {
  int number;
  double until;
  long done, conflicts;
} Client;

static void *save_on(void *argument) {
  Client *client = argument;
  Connection connection;
  open_connection(&connection, port);
  for (long turn = 0; seconds() < client->until; turn++, client->done++)
    must_save(&connection, client->number * (RECORDS / CLIENTS) + turn % (RECORDS / CLIENTS), 300000 + turn);
  close_connection(&connection);
  return NULL;
}

static void *add_on(void *argument) {
  Client *client = argument;
  Connection connection;
  static const char prefix = 'c';
  char mine[STORM_RECORDS][128] = {{0}};
  long counts[STORM_RECORDS] = {0};
  unsigned random = client->number + 1;
  open_connection(&connection, port);
  // Each knows the records' first versions, which were saved before.
  for (int index = 0; index < STORM_RECORDS; index++) strcpy(mine[index], tags[index]);
  while (seconds() < client->until) {
    int index = rand_r(&random) % STORM_RECORDS;
    char name[16];
    name_record(name, prefix, index);
    for (;;) {
      long count = counts[index] + 1;
      if (server->save(&connection, name, index, &count, mine[index])) {
        counts[index]++;
        client->done++;
        break;
      }
      counts[index] = count;
      client->conflicts++;
      if (seconds() >= client->until) break;
    }
  }
  close_connection(&connection);
  return NULL;
}

// Runs all clients at once; returns what they did together, and for how long.
static double run_clients(void *(*body)(void *), Client clients[CLIENTS], double *time) {
  pthread_t threads[CLIENTS];
  double start = seconds();
  for (int number = 0; number < CLIENTS; number++) {
    clients[number] = (Client){number, start + span, 0, 0};
    if (pthread_create(&threads[number], NULL, body, &clients[number])) fail("no thread");
  }
  double done = 0;
  for (int number = 0; number < CLIENTS; number++) {
    pthread_join(threads[number], NULL);
    done += clients[number].done;
  }
  *time = seconds() - start;
  return done;
}

static void measure_saves(Connection *connection) {
  enum { SAVES = 300 };
  double times[SAVES], time;
  Client clients[CLIENTS];
  for (int turn = 0; turn < SAVES; turn++) {
    double start = seconds();
    must_save(connection, turn * 37 % RECORDS, 250000 + turn);
    times[turn] = (seconds() - start) * 1e3;
  }
  report("one save", median(times, SAVES), "ms");
  double done = run_clients(save_on, clients, &time);
  report("16 clients' saves", done / time, "saves/s");
}

static void add_counts(const Found *found, void *context) {
  if (found->name.length == 17 && found->name.start[1] == 'c') ((long *)context)[strtol(found->name.start + 2, NULL, 10)] = found->count;
}

static void measure_storm(Connection *connection) {
  Client clients[CLIENTS];
  char token[512] = "";
  long counts[STORM_RECORDS] = {0}, sum = 0, conflicts = 0;
  double time;
  for (int index = 0; index < STORM_RECORDS; index++) {
    char name[16];
    long count = 0;
    name_record(name, 'c', index);
    tags[index][0] = 0;
    server->save(connection, name, index, &count, tags[index]);
  }
  double done = run_clients(add_on, clients, &time);
  server->pull(connection, token, add_counts, counts);
  for (int index = 0; index < STORM_RECORDS; index++) sum += counts[index];
  for (int number = 0; number < CLIENTS; number++) conflicts += clients[number].conflicts;
  report("conflict storm", done / time, "updates/s");
  report("conflicts an update", conflicts / done, "");
  report("updates lost", done - sum, "");
}

static void measure_assets(Connection *connection) {
  char *bytes = malloc(ASSET_BYTES);
  double up = 0, down = 0;
  for (int index = 0; index < ASSETS; index++) {
    // Each is another one, so that none is there already.
    for (int at = 0; at < ASSET_BYTES; at += 4) ((unsigned *)bytes)[at / 4] = (at + index * 65537u) * 2654435761u;
    double start = seconds();
    server->put_asset(connection, index, (Piece){bytes, ASSET_BYTES});
    up += seconds() - start;
  }
  for (int index = 0; index < ASSETS; index++) {
    double start = seconds();
    Answer answer = server->get_asset(connection, index);
    down += seconds() - start;
    unsigned expected = (ASSET_BYTES - 4 + index * 65537u) * 2654435761u;
    if (answer.body.length != ASSET_BYTES || memcmp(answer.body.start + ASSET_BYTES - 4, &expected, 4))
      fail("asset %d came back otherwise: %d, %zu bytes", index, answer.status, answer.body.length);
  }
  report("1 MiB assets up", ASSETS / up, "MiB/s");
  report("1 MiB assets down", ASSETS / down, "MiB/s");
  free(bytes);
}

void drive(const Server *chosen, int to, const char *rows) {
  Connection connection, other;
  server = chosen;
  port = to;
  open_connection(&connection, port);
  open_connection(&other, port);
  server->set_up(&connection);
  measure_upload(&connection);
  measure_download(&connection);
  if (strchr(rows, 's')) measure_saves(&connection);
  // What was saved meanwhile is no delta.
  server->pull(&other, newest, note_tag, NULL);
  if (strchr(rows, 'd')) measure_deltas(&connection, &other);
  if (strchr(rows, 'a')) measure_assets(&connection);
  if (strchr(rows, 'p')) measure_pushes(&connection, &other);
  if (strchr(rows, 'c')) measure_storm(&connection);
  close_connection(&connection);
  close_connection(&other);
}
