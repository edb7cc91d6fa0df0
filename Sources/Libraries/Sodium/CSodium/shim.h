#pragma once
// Of libsodium: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) and BLAKE2b (RFC 7693) for the cache, ChaCha20-Poly1305
// (RFC 8439), SHA-256 (FIPS 180-4) and HMAC (RFC 2104) for the store, and the key exchange and the boxes of oidc-agent. The archive libsodium.a is
// linked: opening a library at run time would cost more than all that is done with it. `sodium_init` is not called: it
// chooses faster code for long messages by asking the processor, which on a virtual machine takes longer than the
// plain code takes for a token.
#include <sodium/crypto_aead_chacha20poly1305.h>
#include <sodium/crypto_aead_xchacha20poly1305.h>
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <sodium/crypto_hash_sha256.h>
#include <sodium/crypto_kx.h>
#include <sodium/crypto_secretbox.h>
