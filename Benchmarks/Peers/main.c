#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *usage =
  "usage: peers stub PORT\n"
  "       peers web-service PORT [ROWS [API-TOKEN WEB-TOKEN]]\n"
  "       peers pocketbase PORT [ROWS]\n"
  "ROWS are letters: s single saves, d delta polls, a assets, p pushes, c conflicts; upload and download come always.\n";

int main(int count, char **arguments) {
  if (count < 3 || count > 6) {
    fputs(usage, stderr);
    return 2;
  }
  int port = atoi(arguments[2]);
  const char *rows = count > 3 ? arguments[3] : "sdapc";
  if (count == 6) {
    account.api_token = arguments[4];
    account.web_token = arguments[5];
  }
  if (!strcmp(arguments[1], "stub")) serve_stub(port);
  else if (!strcmp(arguments[1], "web-service")) drive(&web_service, port, rows);
  else if (!strcmp(arguments[1], "pocketbase")) drive(&pocket_base, port, rows);
  else {
    fputs(usage, stderr);
    return 2;
  }
  return 0;
}
