#pragma once
#include <sqlite3.h>

// Variadic, so Swift cannot call it. SQLite counts its memory under a lock that every allocation takes, and nobody asks
// for the count. It has no effect once a connection was opened.
static inline void virga_sqlite_count_no_memory(void) {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
