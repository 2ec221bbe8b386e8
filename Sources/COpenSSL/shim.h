// OpenSSL 3's EVP interface, with wrappers for what Swift cannot import: variadic functions and macros with casts.
#pragma once
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

static inline EVP_PKEY *copenssl_generate_p256(void) { return EVP_EC_gen("P-256"); }
