#pragma once

#include <curl/curl.h>

// libcurl is opened at first use, so its functions arrive as addresses. The two that set and read an option are
// variadic, which Swift cannot call: here each kind of value gets a function of its own.

static inline CURLcode credmgr_curl_set_long(void *setopt, CURL *curl, CURLoption option, long value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, option, value);
}

static inline CURLcode credmgr_curl_set_offset(void *setopt, CURL *curl, CURLoption option, curl_off_t value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, option, value);
}

static inline CURLcode credmgr_curl_set_string(void *setopt, CURL *curl, CURLoption option, const char *value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, option, value);
}

static inline CURLcode credmgr_curl_set_pointer(void *setopt, CURL *curl, CURLoption option, const void *value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, option, value);
}

/// For the options whose callback has the shape of CURLOPT_WRITEFUNCTION: that one, the read and the header one.
static inline CURLcode credmgr_curl_set_data_callback(void *setopt, CURL *curl, CURLoption option,
                                                      curl_write_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, option, value);
}

static inline CURLcode credmgr_curl_set_progress_callback(void *setopt, CURL *curl, curl_xferinfo_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode credmgr_curl_set_socket_opener(void *setopt, CURL *curl, curl_opensocket_callback value) {
    return ((CURLcode (*)(CURL *, CURLoption, ...))setopt)(curl, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode credmgr_curl_get_long(void *getinfo, CURL *curl, CURLINFO info, long *value) {
    return ((CURLcode (*)(CURL *, CURLINFO, ...))getinfo)(curl, info, value);
}

static inline CURLcode credmgr_curl_get_string(void *getinfo, CURL *curl, CURLINFO info, const char **value) {
    return ((CURLcode (*)(CURL *, CURLINFO, ...))getinfo)(curl, info, value);
}

// zlib comes with libcurl, and is opened as late. Its header may be missing where libcurl's is there.

/// `z_stream`: its layout is part of zlib's binary interface.
typedef struct {
    const unsigned char *next_in;
    unsigned available_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned available_out;
    unsigned long total_out;
    const char *message;
    void *state, *allocate, *release, *opaque;
    int data_type;
    unsigned long checksum, reserved;
} credmgr_zlib_stream;

/// Decompresses as far as there is room, with the addresses of `inflateInit2_`, `inflate` and `inflateEnd`.
///
/// `window` tells the form: 31 for gzip (RFC 1952), 15 for zlib (RFC 1950), -15 for deflate alone (RFC 1951), each
/// with a window of any size. `is_whole` tells whether the end was reached. Returns how many bytes there are, whatever came after them.
static inline unsigned long credmgr_inflate(void *begin, void *inflate, void *end, int window,
                                            const unsigned char *input, unsigned size, unsigned char *output,
                                            unsigned room, int *is_whole) {
    credmgr_zlib_stream stream = {0};
    *is_whole = 0;
    // Of the version only the first digit counts.
    if (((int (*)(void *, int, const char *, int))begin)(&stream, window, "1", (int)sizeof stream) != 0) return 0;
    stream.next_in = input;
    stream.available_in = size;
    stream.next_out = output;
    stream.available_out = room;
    // Z_FINISH, Z_STREAM_END
    *is_whole = ((int (*)(void *, int))inflate)(&stream, 4) == 1;
    // Raw deflate has no mark of its own: only a body without a rest is known to be compressed.
    if (window < 0 && stream.available_in != 0) *is_whole = 0;
    ((int (*)(void *))end)(&stream);
    return stream.total_out;
}
