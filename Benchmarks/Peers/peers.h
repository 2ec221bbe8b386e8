// A load driver for servers of one machine: the same rows against Virga, PocketBase and an in-memory stub of the protocol,
// which says what the driver and the kernel themselves allow.
#pragma once
#include <stdbool.h>
#include <stddef.h>

// A piece of somebody else's bytes.
typedef struct {
  const char *start;
  size_t length;
} Piece;

// Bytes that grow.
typedef struct {
  char *bytes;
  size_t length, capacity;
} Text;

void append(Text *text, const char *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void appendf(Text *text, const char *format, ...);

// Ends the program with a message: a measurement that met an error is none.
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);

double seconds(void);

// A connection that is kept, with one request under way at a time.
typedef struct {
  int port, descriptor;
  // What came of the answer, its head first.
  Text received;
} Connection;

typedef struct {
  int status;
  Piece head, body;
} Answer;

void open_connection(Connection *connection, int port);
void close_connection(Connection *connection);
// Sends a request without waiting for its answer. `headers` are whole lines.
void send_request(
  Connection *connection, const char *method, const char *path, const char *headers, Piece body);
// The answer is good until the connection's next request.
Answer receive_answer(Connection *connection);
Answer exchange(Connection *connection, const char *method, const char *path, const char *headers, Piece body);

// JSON is looked into where it lies. What is missing is a piece without a start.
Piece member(Piece object, const char *key);
// The next element of an array; `cursor` begins as NULL.
bool next_element(Piece array, const char **cursor, Piece *element);
bool is(Piece piece, const char *text);
long number(Piece piece);
// A string's contents, its escapes undone, into `out`.
void unquote(Piece string, char *out, size_t capacity);

// The fields of record `index`: eight of them, about 500 bytes, in three spellings.
typedef enum { WEB_SERVICE, FLAT } Spelling;
void append_fields(Text *text, long index, long count, Spelling spelling);

// A record as a feed gave it.
typedef struct {
  Piece name, tag, body;
  long count;
} Found;
typedef void (*Visit)(const Found *found, void *context);

// How a server is spoken to. Names of records are 15 characters.
typedef struct {
  const char *name;
  void (*set_up)(Connection *);
  void (*upload)(Connection *, long from, long to);
  // Reads all pages behind `token` and moves it; returns how many records came.
  long (*pull)(Connection *, char token[512], Visit, void *context);
  // Saves a record that `tag` is the newest version of. Returns whether it was; else `tag` and `count` are the server's.
  bool (*save)(Connection *, const char *name, long index, long *count, char tag[128]);
  void (*put_asset)(Connection *, long index, Piece bytes);
  // The answer that holds the bytes.
  Answer (*get_asset)(Connection *, long index);
  // Asks for news on a connection of its own, and answers false if the server has none to tell.
  bool (*listen)(Connection *control, Connection *listener);
  void (*listen_again)(Connection *listener);
} Server;

typedef struct {
  const char *container, *environment, *api_token, *web_token, *zone;
} Account;
extern Account account;
extern const Server web_service, pocket_base;

void name_record(char out[16], char kind, long index);
void serve_stub(int port);
void drive(const Server *server, int port, const char *rows);
