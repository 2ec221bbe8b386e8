#define _GNU_SOURCE
#include "peers.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(1);
}

double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static void reserve(Text *text, size_t more) {
  if (text->length + more <= text->capacity) return;
  text->capacity = (text->length + more) * 2;
  text->bytes = realloc(text->bytes, text->capacity);
  if (!text->bytes) fail("out of memory");
}

void append(Text *text, const char *bytes, size_t length) {
  reserve(text, length);
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
}

void appendf(Text *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  reserve(text, length + 1);
  vsnprintf(text->bytes + text->length, length + 1, format, again);
  text->length += length;
  va_end(again);
  va_end(arguments);
}

void open_connection(Connection *connection, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int on = 1;
  *connection = (Connection){.port = port, .descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address)) fail("port %d: %m", port);
  setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void close_connection(Connection *connection) {
  close(connection->descriptor);
  free(connection->received.bytes);
}

static void send_all(int descriptor, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = send(descriptor, bytes, length, MSG_NOSIGNAL);
    if (count <= 0) fail("sending: %m");
    bytes += count;
    length -= count;
  }
}

void send_request(Connection *connection, const char *method, const char *path, const char *headers, Piece body) {
  Text request = {0};
  appendf(&request, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s", method, path, connection->port, headers);
  if (body.length > 0 || strcmp(method, "GET") != 0) appendf(&request, "Content-Length: %zu\r\n", body.length);
  append(&request, "\r\n", 2);
  bool isSmall = body.length < 65536;
  if (isSmall) append(&request, body.start, body.length);
  send_all(connection->descriptor, request.bytes, request.length);
  if (!isSmall) send_all(connection->descriptor, body.start, body.length);
  free(request.bytes);
  connection->received.length = 0;
}

// The value of a head's field; `nil` without a start.
static Piece field(Piece head, const char *name) {
  size_t length = strlen(name);
  for (const char *line = head.start; line && line < head.start + head.length;) {
    const char *end = memmem(line, head.start + head.length - line, "\r\n", 2);
    if (!end) break;
    if ((size_t)(end - line) > length && line[length] == ':' && !strncasecmp(line, name, length)) {
      const char *value = line + length + 1;
      while (*value == ' ') value++;
      return (Piece){value, end - value};
    }
    line = end + 2;
  }
  return (Piece){0};
}

static void receive_more(Connection *connection) {
  reserve(&connection->received, 1 << 17);
  ssize_t count;
  do count = recv(connection->descriptor, connection->received.bytes + connection->received.length, 1 << 17, 0);
  while (count < 0 && errno == EINTR);
  if (count <= 0) fail("the server closed the connection");
  connection->received.length += count;
}

Answer receive_answer(Connection *connection) {
  Text *text = &connection->received;
  char *end;
  while (!text->bytes || !(end = memmem(text->bytes, text->length, "\r\n\r\n", 4))) receive_more(connection);
  size_t head = end + 4 - text->bytes;
  Piece length = field((Piece){text->bytes, head - 2}, "Content-Length");
  size_t body = 0;
  if (length.start) {
    body = strtoul(length.start, NULL, 10);
    while (text->length < head + body) receive_more(connection);
  } else if (field((Piece){text->bytes, head - 2}, "Transfer-Encoding").start) {
    // Chunks are moved together.
    for (size_t at = head;;) {
      while (!memmem(text->bytes + at, text->length - at, "\r\n", 2)) receive_more(connection);
      size_t count = strtoul(text->bytes + at, NULL, 16);
      size_t data = (char *)memmem(text->bytes + at, text->length - at, "\r\n", 2) + 2 - text->bytes;
      while (text->length < data + count + 2) receive_more(connection);
      memmove(text->bytes + head + body, text->bytes + data, count);
      body += count;
      at = data + count + 2;
      if (count == 0) break;
    }
  }
  return (Answer){atoi(text->bytes + 9), {text->bytes, head}, {text->bytes + head, body}};
}

Answer exchange(Connection *connection, const char *method, const char *path, const char *headers, Piece body) {
  send_request(connection, method, path, headers, body);
  return receive_answer(connection);
}
