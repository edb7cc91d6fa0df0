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

static inline CURLcode credmgr_curl_get_long(void *getinfo, CURL *curl, CURLINFO info, long *value) {
    return ((CURLcode (*)(CURL *, CURLINFO, ...))getinfo)(curl, info, value);
}
