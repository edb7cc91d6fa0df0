#pragma once
/* libmicrohttpd without linking it: its types, the types of the functions that are looked up at run time, and
   inline calls of its variadic ones, which Swift cannot call. */
#include <microhttpd.h>

typedef void (*credmgr_mhd_stop)(struct MHD_Daemon *daemon);
typedef enum MHD_Result (*credmgr_mhd_queue_response)(
    struct MHD_Connection *connection, unsigned int status, struct MHD_Response *response);
typedef struct MHD_Response *(*credmgr_mhd_create_response)(
    size_t size, void *buffer, enum MHD_ResponseMemoryMode mode);
typedef struct MHD_Response *(*credmgr_mhd_create_response_from_callback)(
    uint64_t size, size_t block_size, MHD_ContentReaderCallback reader, void *context,
    MHD_ContentReaderFreeCallback release);
typedef void (*credmgr_mhd_destroy_response)(struct MHD_Response *response);
typedef enum MHD_Result (*credmgr_mhd_add_response_header)(
    struct MHD_Response *response, const char *name, const char *value);
typedef int (*credmgr_mhd_get_connection_values)(
    struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIterator iterator, void *context);

typedef void *(*credmgr_mhd_uri_callback)(void *context, const char *uri, struct MHD_Connection *connection);

/* Starts a daemon that accepts on `listener` and serves every connection on a thread of its own. */
static inline struct MHD_Daemon *credmgr_mhd_start(
    void *start, int listener, size_t memory, unsigned int connections, unsigned int idle_seconds,
    MHD_AccessHandlerCallback handler, credmgr_mhd_uri_callback uri, MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback notify, void *context)
{
    return ((__typeof__(&MHD_start_daemon))start)(
        MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL, handler,
        context,
        MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_URI_LOG_CALLBACK, uri, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, notify, context,
        MHD_OPTION_END);
}

/* The socket of a connection, or -1. */
static inline int credmgr_mhd_connection_socket(void *get_connection_info, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = ((__typeof__(&MHD_get_connection_info))get_connection_info)(
        connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}
