#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
  return at;
}

static const char *skip_string(const char *at, const char *end) {
  for (at++; at < end && *at != '"'; at++)
    if (*at == '\\') at++;
  return at + 1;
}

static const char *skip_value(const char *at, const char *end) {
  at = skip_space(at, end);
  int depth = 0;
  do {
    if (at >= end) fail("JSON that ends too early");
    if (*at == '"') {
      at = skip_string(at, end);
    } else {
      if (*at == '{' || *at == '[') depth++;
      if (*at == '}' || *at == ']') depth--;
      at++;
      // A number or a word goes on to what follows it.
      if (depth == 0)
        while (at < end && !strchr(",]}\n ", *at)) at++;
    }
  } while (depth > 0);
  return at;
}

Piece member(Piece object, const char *key) {
  if (!object.start || object.length < 2 || *object.start != '{') return (Piece){0};
  const char *end = object.start + object.length;
  size_t length = strlen(key);
  const char *at = skip_space(object.start + 1, end);
  while (at < end && *at == '"') {
    const char *name = at + 1;
    at = skip_string(at, end);
    bool isIt = (size_t)(at - 1 - name) == length && !memcmp(name, key, length);
    at = skip_space(skip_space(at, end) + 1, end);
    const char *behind = skip_value(at, end);
    if (isIt) return (Piece){at, behind - at};
    at = skip_space(behind, end);
    if (at < end && *at == ',') at = skip_space(at + 1, end);
  }
  return (Piece){0};
}

bool next_element(Piece array, const char **cursor, Piece *element) {
  if (!array.start || *array.start != '[') return false;
  const char *end = array.start + array.length;
  const char *at = skip_space(*cursor ? *cursor : array.start + 1, end);
  if (at < end && *at == ',') at = skip_space(at + 1, end);
  if (at >= end || *at == ']') return false;
  const char *behind = skip_value(at, end);
  *element = (Piece){at, behind - at};
  *cursor = behind;
  return true;
}

bool is(Piece piece, const char *text) {
  return piece.start && piece.length == strlen(text) && !memcmp(piece.start, text, piece.length);
}

long number(Piece piece) { return piece.start ? strtol(piece.start, NULL, 10) : -1; }

void unquote(Piece string, char *out, size_t capacity) {
  size_t length = 0;
  const char *end = string.start + string.length - 1;
  for (const char *at = string.start + 1; string.start && at < end; at++) {
    if (length + 1 >= capacity) fail("a text that is too long");
    out[length++] = *at == '\\' ? *++at : *at;
  }
  out[length] = 0;
}

void name_record(char out[16], char kind, long index) { snprintf(out, 16, "%c%014ld", kind, index); }

static void fill(char *out, size_t length, unsigned long seed) {
  static const char *words[] = {"virga ", "cloud ", "rain ", "ground ", "fall ", "drift ", "grey ", "light "};
  size_t at = 0;
  while (at < length) {
    seed = seed * 6364136223846793005UL + 1442695040888963407UL;
    const char *word = words[seed >> 61];
    while (*word && at < length) out[at++] = *word++;
  }
  out[length] = 0;
}

void append_fields(Text *text, long index, long count, Spelling spelling) {
  char title[49], body[241];
  fill(title, 48, index * 2654435761UL + 1);
  fill(body, 240, index * 40503UL + 7);
  const char *format =
    spelling == WEB_SERVICE
      ? "\"title\":{\"value\":\"%s\"},\"body\":{\"value\":\"%s\"},\"category\":{\"value\":\"cat-%05ld\"},"
        "\"uuid\":{\"value\":\"%08lx-0000-4000-8000-%012lx\"},\"count\":{\"value\":%ld},"
        "\"price\":{\"value\":%.3f,\"type\":\"DOUBLE\"},\"createdAt\":{\"value\":%ld,\"type\":\"TIMESTAMP\"},"
        "\"done\":{\"value\":%ld}"
      : "\"title\":\"%s\",\"body\":\"%s\",\"category\":\"cat-%05ld\",\"uuid\":\"%08lx-0000-4000-8000-%012lx\","
        "\"count\":%ld,\"price\":%.3f,\"createdAt\":%ld,\"done\":%ld";
  appendf(
    text, format, title, body, index % 97, index & 0xffffffff, index * 31, count, index * 0.25 + 0.125,
    1764000000000L + index, index & 1);
}
