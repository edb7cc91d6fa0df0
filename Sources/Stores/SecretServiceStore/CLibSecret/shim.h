// The part of libsecret, GIO and GLib that SecretServiceStore calls, declared here so that building needs no
// pkg-config flags and running links nothing: the library is opened at first use.
//
// A test compiles this file together with the real headers and assigns each real function to the type declared
// here. It defines the four macros below to the real types first; where they are not defined, each stands for a
// type of the same layout that Swift reads more easily.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// GLib's error, as every version of GLib 2 lays it out.
struct credmgr_error {
    uint32_t domain;
    int code;
    char *message;
};

/// What GLib says of a type.
struct credmgr_type_query {
    unsigned long type;
    const char *name;
    unsigned class_size, instance_size;
};

/// The head of GLib's class of all objects, up to what makes one.
struct credmgr_object_class {
    void *type, *properties;
    void *(*constructor)(unsigned long type, unsigned count, void *properties);
};

#ifndef CREDMGR_ERROR
#define CREDMGR_ERROR struct credmgr_error
#define CREDMGR_TYPE_STRING char    /* GVariantType: a type string, like "(o)" */
#define CREDMGR_LOG_LEVEL unsigned  /* GLogLevelFlags */
#define CREDMGR_BUS_TYPE int        /* GBusType, which has a negative member */
#define CREDMGR_TYPE_FLAGS unsigned /* GTypeFlags */
#define CREDMGR_TYPE_QUERY struct credmgr_type_query
#endif

typedef struct _GVariant GVariant;
typedef struct _GCancellable GCancellable;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GMainContext GMainContext;
typedef struct _GSource GSource;
typedef struct _GTypeInstance GTypeInstance;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

typedef void (*credmgr_log_function)(const char *, CREDMGR_LOG_LEVEL, const char *, void *);
typedef void (*credmgr_destroy_function)(void *);
typedef int (*credmgr_source_function)(void *);
typedef void (*credmgr_class_function)(void *class, void *data);
typedef void (*credmgr_instance_function)(GTypeInstance *, void *class);
typedef void (*credmgr_signal_function)(
    GDBusConnection *, const char *sender, const char *path, const char *interface, const char *signal,
    GVariant *parameters, void *data);

/// `G_IO_ERROR_TIMED_OUT` and `G_IO_ERROR_CLOSED`.
enum { CREDMGR_IO_ERROR_CLOSED = 18, CREDMGR_IO_ERROR_TIMED_OUT = 24 };
/// `G_BUS_TYPE_SESSION`.
enum { CREDMGR_BUS_SESSION = 2 };
/// `G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES`, `…_DO_NOT_CONNECT_SIGNALS` and `…_DO_NOT_AUTO_START_AT_CONSTRUCTION`.
enum { CREDMGR_PROXY_ALONE = 1 | 2 | 16 };

/// The functions: result, name, parameters.
#define CREDMGR_LIBSECRET_FUNCTIONS(F) \
    F(void, g_error_free, (CREDMGR_ERROR *)) \
    F(void, g_free, (void *)) \
    F(credmgr_log_function, g_log_set_default_handler, (credmgr_log_function, void *)) \
    F(void, g_object_set, (void *, const char *property, ...)) \
    F(void, g_object_unref, (void *)) \
    F(void, g_type_query, (unsigned long, CREDMGR_TYPE_QUERY *)) \
    F(unsigned long, g_type_register_static_simple, \
      (unsigned long parent, const char *name, unsigned class_size, credmgr_class_function, \
       unsigned instance_size, credmgr_instance_function, CREDMGR_TYPE_FLAGS)) \
    F(GVariant *, g_variant_new_string, (const char *)) \
    F(GVariant *, g_variant_new_object_path, (const char *)) \
    F(GVariant *, g_variant_new_boolean, (int)) \
    F(GVariant *, g_variant_new_variant, (GVariant *)) \
    F(GVariant *, g_variant_new_dict_entry, (GVariant *, GVariant *)) \
    F(GVariant *, g_variant_new_array, (const CREDMGR_TYPE_STRING *, GVariant *const *, unsigned long)) \
    F(GVariant *, g_variant_new_tuple, (GVariant *const *, unsigned long)) \
    F(GVariant *, g_variant_ref_sink, (GVariant *)) \
    F(void, g_variant_unref, (GVariant *)) \
    F(int, g_variant_is_of_type, (GVariant *, const CREDMGR_TYPE_STRING *)) \
    F(unsigned long, g_variant_n_children, (GVariant *)) \
    F(GVariant *, g_variant_get_child_value, (GVariant *, unsigned long)) \
    F(GVariant *, g_variant_get_variant, (GVariant *)) \
    F(const char *, g_variant_get_string, (GVariant *, unsigned long *)) \
    F(int, g_variant_get_boolean, (GVariant *)) \
    F(uint32_t, g_variant_get_uint32, (GVariant *)) \
    F(uint64_t, g_variant_get_uint64, (GVariant *)) \
    F(GMainContext *, g_main_context_new, (void)) \
    F(void, g_main_context_unref, (GMainContext *)) \
    F(void, g_main_context_push_thread_default, (GMainContext *)) \
    F(void, g_main_context_pop_thread_default, (GMainContext *)) \
    F(int, g_main_context_iteration, (GMainContext *, int)) \
    F(GSource *, g_timeout_source_new, (unsigned)) \
    F(void, g_source_set_callback, (GSource *, credmgr_source_function, void *, credmgr_destroy_function)) \
    F(unsigned, g_source_attach, (GSource *, GMainContext *)) \
    F(void, g_source_destroy, (GSource *)) \
    F(void, g_source_unref, (GSource *)) \
    F(GDBusConnection *, g_bus_get_sync, (CREDMGR_BUS_TYPE, GCancellable *, CREDMGR_ERROR **)) \
    F(void, g_dbus_connection_set_exit_on_close, (GDBusConnection *, int)) \
    F(int, g_dbus_connection_is_closed, (GDBusConnection *)) \
    F(uint32_t, g_dbus_connection_get_last_serial, (GDBusConnection *)) \
    F(GVariant *, g_dbus_connection_call_sync, \
      (GDBusConnection *, const char *name, const char *path, const char *interface, const char *method, \
       GVariant *parameters, const CREDMGR_TYPE_STRING *reply, unsigned flags, int milliseconds, \
       GCancellable *, CREDMGR_ERROR **)) \
    F(unsigned, g_dbus_connection_signal_subscribe, \
      (GDBusConnection *, const char *sender, const char *interface, const char *member, const char *path, \
       const char *argument, unsigned flags, credmgr_signal_function, void *, credmgr_destroy_function)) \
    F(void, g_dbus_connection_signal_unsubscribe, (GDBusConnection *, unsigned)) \
    F(char *, g_dbus_error_get_remote_error, (const CREDMGR_ERROR *)) \
    F(int, g_dbus_error_strip_remote_error, (CREDMGR_ERROR *)) \
    F(uint32_t, g_io_error_quark, (void)) \
    F(unsigned long, secret_service_get_type, (void)) \
    F(SecretService *, secret_service_open_sync, \
      (unsigned long, const char *name, unsigned flags, GCancellable *, CREDMGR_ERROR **)) \
    F(int, secret_service_ensure_session_sync, (SecretService *, GCancellable *, CREDMGR_ERROR **)) \
    F(const char *, secret_service_get_session_algorithms, (SecretService *)) \
    F(const char *, secret_service_get_session_dbus_path, (SecretService *)) \
    F(GVariant *, secret_service_encode_dbus_secret, (SecretService *, SecretValue *)) \
    F(SecretValue *, secret_service_decode_dbus_secret, (SecretService *, GVariant *)) \
    F(SecretValue *, secret_value_new, (const char *, long, const char *type)) \
    F(const char *, secret_value_get, (SecretValue *, unsigned long *)) \
    F(void, secret_value_unref, (void *))

/// The address of each function.
struct credmgr_libsecret {
#define F(result, name, parameters) result (*name) parameters;
    CREDMGR_LIBSECRET_FUNCTIONS(F)
#undef F
};

enum { CREDMGR_LIBSECRET_COUNT = sizeof(struct credmgr_libsecret) / sizeof(void *) };

/// The name of function `index`, below `CREDMGR_LIBSECRET_COUNT`.
static inline const char *credmgr_libsecret_name(long index) {
    static const char *const names[] = {
#define F(result, name, parameters) #name,
        CREDMGR_LIBSECRET_FUNCTIONS(F)
#undef F
    };
    return names[index];
}

/// Sets the address of function `index`, below `CREDMGR_LIBSECRET_COUNT`.
static inline void credmgr_libsecret_set(struct credmgr_libsecret *functions, long index, void *address) {
    ((void **)functions)[index] = address;
}

// A kind of libsecret's proxy of the service that begins without what nobody looks at here: the service's properties and signals,
// and a call of its own that starts it, as the first call of a method does. libsecret has no other way to say so: it sets the
// flags of each proxy itself, while that is made, and what was made cannot be changed any more.

/// What makes proxies of that kind.
struct credmgr_lone_service {
    void (*set)(void *, const char *property, ...);
    void *(*inherited)(unsigned long type, unsigned count, void *properties);
};

static inline struct credmgr_lone_service *credmgr_lone_service(void) {
    static struct credmgr_lone_service one;
    return &one;
}

static inline void *credmgr_make_lone_service(unsigned long type, unsigned count, void *properties) {
    void *service = credmgr_lone_service()->inherited(type, count, properties);
    credmgr_lone_service()->set(service, "g-flags", CREDMGR_PROXY_ALONE, (char *)NULL);
    return service;
}

static inline void credmgr_begin_class(void *class, void *data) {
    struct credmgr_object_class *own = (struct credmgr_object_class *)class;
    credmgr_lone_service()->inherited = own->constructor;
    own->constructor = credmgr_make_lone_service;
}

/// Registers that kind of proxy, once in a process; gives its type.
static inline unsigned long credmgr_libsecret_lone_service(const struct credmgr_libsecret *functions) {
    CREDMGR_TYPE_QUERY parent;
    functions->g_type_query(functions->secret_service_get_type(), &parent);
    credmgr_lone_service()->set = functions->g_object_set;
    return functions->g_type_register_static_simple(
        parent.type, "CredmgrService", parent.class_size, credmgr_begin_class, parent.instance_size, NULL,
        (CREDMGR_TYPE_FLAGS)0);
}
