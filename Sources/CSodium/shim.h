// libsodium: XChaCha20-Poly1305 with its long nonces, and sealed boxes.
#pragma once
#include <sodium.h>
