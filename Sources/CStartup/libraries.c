// Which libraries the program opens at first use, told to packagers in the form of systemd's ELF dlopen metadata. The
// names are those that the targets of Sources/Libraries and Sources/Stores give to `DynamicLibrary`; scripts/package
// says the same to Debian and rpm.

#include <stdint.h>

#define NOTE_DLOPEN 0x407c0c0a

#define LIBRARY(feature, purpose, priority, soname)                                                                  \
    __attribute__((used, retain, aligned(4), section(".note.dlopen"))) static const struct {                         \
        struct {                                                                                                     \
            uint32_t name_size, content_size, type;                                                                  \
        } header;                                                                                                    \
        char name[4];                                                                                                \
        __attribute__((aligned(4))) char content[sizeof(CONTENT(feature, purpose, priority, soname))];               \
    } library_##feature = {                                                                                          \
        {sizeof "FDO", sizeof(CONTENT(feature, purpose, priority, soname)), NOTE_DLOPEN},                            \
        "FDO",                                                                                                       \
        CONTENT(feature, purpose, priority, soname)}

#define CONTENT(feature, purpose, priority, soname)                                                                  \
    "[{\"feature\":\"" #feature "\",\"description\":\"" purpose "\",\"priority\":\"" priority                        \
    "\",\"soname\":[\"" soname "\"]}]"

LIBRARY(curl, "Requests to providers and APIs", "required", "libcurl.so.4");
LIBRARY(zlib, "Responses that are compressed with gzip, unasked", "recommended", "libz.so.1");
LIBRARY(crypto, "Signatures, and passphrases of the encrypted file store", "required", "libcrypto.so.3");
LIBRARY(secret, "The keyring of the desktop", "recommended", "libsecret-1.so.0");
LIBRARY(microhttpd, "Sign-in through a browser of this machine", "recommended", "libmicrohttpd.so.12");
LIBRARY(qrencode, "QR codes of the device flow", "suggested", "libqrencode.so.4");
