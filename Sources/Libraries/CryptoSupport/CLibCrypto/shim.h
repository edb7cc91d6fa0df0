#pragma once

// The functions of OpenSSL's libcrypto that are used, as a table of pointers: nothing here refers to the library
// itself, so nothing links it. The types are those of the library's own headers.

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <stddef.h>

#define CRYPTO_FUNCTIONS(FUNCTION) \
    FUNCTION(ERR_get_error) \
    FUNCTION(ERR_reason_error_string) \
    FUNCTION(ERR_clear_error) \
    FUNCTION(EVP_Q_digest) \
    FUNCTION(BN_clear_free) \
    FUNCTION(EVP_KDF_fetch) \
    FUNCTION(EVP_KDF_free) \
    FUNCTION(EVP_KDF_CTX_new) \
    FUNCTION(EVP_KDF_CTX_free) \
    FUNCTION(EVP_KDF_derive) \
    FUNCTION(EVP_PKEY_CTX_new_from_name) \
    FUNCTION(EVP_PKEY_CTX_free) \
    FUNCTION(EVP_PKEY_fromdata_init) \
    FUNCTION(EVP_PKEY_fromdata) \
    FUNCTION(EVP_PKEY_keygen_init) \
    FUNCTION(EVP_PKEY_CTX_set_params) \
    FUNCTION(EVP_PKEY_generate) \
    FUNCTION(EVP_PKEY_CTX_new_from_pkey) \
    FUNCTION(EVP_PKEY_derive_init) \
    FUNCTION(EVP_PKEY_derive_set_peer) \
    FUNCTION(EVP_PKEY_derive) \
    FUNCTION(EVP_PKEY_free) \
    FUNCTION(EVP_PKEY_is_a) \
    FUNCTION(EVP_PKEY_get_bits) \
    FUNCTION(EVP_PKEY_get_utf8_string_param) \
    FUNCTION(EVP_PKEY_get_octet_string_param) \
    FUNCTION(EVP_PKEY_get_bn_param) \
    FUNCTION(BN_bn2binpad) \
    FUNCTION(BN_num_bits) \
    FUNCTION(BIO_new_mem_buf) \
    FUNCTION(BIO_free) \
    FUNCTION(PEM_read_bio_PrivateKey) \
    FUNCTION(EVP_MD_CTX_new) \
    FUNCTION(EVP_MD_CTX_free) \
    FUNCTION(EVP_DigestSignInit_ex) \
    FUNCTION(EVP_DigestSign) \
    FUNCTION(EVP_DigestVerifyInit_ex) \
    FUNCTION(EVP_DigestVerify)

#define CRYPTO_FIELD(name) __typeof__(&name) _Nonnull name;
#define CRYPTO_NAME(name) #name,

/// The functions. Looking them all up takes about 6 microseconds, opening the library a hundred times that.
struct crypto_functions {
    CRYPTO_FUNCTIONS(CRYPTO_FIELD)
};

/// How many functions the table has: it holds nothing else.
static const size_t crypto_function_count = sizeof(struct crypto_functions) / sizeof(void *);

/// The name of the function at a place of the table; `index` is less than crypto_function_count.
static inline const char *_Nonnull crypto_function_name(size_t index) {
    static const char *const _Nonnull names[] = {CRYPTO_FUNCTIONS(CRYPTO_NAME)};
    return names[index];
}

#undef CRYPTO_FIELD
#undef CRYPTO_NAME
#undef CRYPTO_FUNCTIONS

/// What a key is made of (the library's own macros are beyond what Swift reads).
static const int crypto_public_key = EVP_PKEY_PUBLIC_KEY;
static const int crypto_key_pair = EVP_PKEY_KEYPAIR;
