import Foundation
import TestSupport
import Testing

/// The tools that the check needs.
enum RealHeaders {
    static var areInstalled: Bool {
        ["/usr/bin/pkg-config", "/usr/bin/cc"].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
            && (try? ChildProcess("pkg-config", ["--exists", "libsecret-1"]).run())?.exitStatus == 0
    }
}

/// Our declarations of libsecret's functions against the real ones.
@Suite(.needs(Need("libsecret-1-dev, pkg-config and a C compiler", isThere: RealHeaders.areInstalled)))
struct SecretServiceHeaderTests {
    @Test func `each declared function has the real one's type`() throws {
        let outcome = try compile(realTypes: "#define CREDMGR_ERROR GError")
        #expect(outcome.standardError == "")
        #expect(outcome.exitStatus == 0)
    }

    @Test func `a wrong declaration is found`() throws {
        let outcome = try compile(realTypes: "#define CREDMGR_ERROR GList")
        #expect(outcome.standardError.contains("incompatible"))
        #expect(outcome.exitStatus != 0)
    }

    private func compile(realTypes: String) throws -> ChildProcess.Outcome {
        let folder = try TemporaryFolder()
        let source = """
            #define SECRET_API_SUBJECT_TO_CHANGE
            #include <stddef.h>
            #include <libsecret/secret.h>
            #undef g_object_unref
            \(realTypes)
            #define CREDMGR_TYPE_STRING GVariantType
            #define CREDMGR_LOG_LEVEL GLogLevelFlags
            #define CREDMGR_BUS_TYPE GBusType
            #define CREDMGR_TYPE_FLAGS GTypeFlags
            #define CREDMGR_TYPE_QUERY GTypeQuery
            #include "shim.h"
            #define F(result, name, parameters) result (*real_##name) parameters = name;
            CREDMGR_LIBSECRET_FUNCTIONS(F)
            _Static_assert(sizeof(struct credmgr_error) == sizeof(GError), "size of GError");
            _Static_assert(offsetof(struct credmgr_error, domain) == offsetof(GError, domain), "domain");
            _Static_assert(offsetof(struct credmgr_error, code) == offsetof(GError, code), "code");
            _Static_assert(offsetof(struct credmgr_error, message) == offsetof(GError, message), "message");
            _Static_assert(sizeof(struct credmgr_type_query) == sizeof(GTypeQuery), "size of GTypeQuery");
            _Static_assert(
                offsetof(struct credmgr_type_query, class_size) == offsetof(GTypeQuery, class_size), "class size");
            _Static_assert(
                offsetof(struct credmgr_type_query, instance_size) == offsetof(GTypeQuery, instance_size), "instance size");
            _Static_assert(
                offsetof(struct credmgr_object_class, constructor) == offsetof(GObjectClass, constructor), "constructor");
            _Static_assert(
                (int) CREDMGR_PROXY_ALONE == (int) (G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES
                    | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS | G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START_AT_CONSTRUCTION),
                "flags of a proxy");
            _Static_assert((int) CREDMGR_IO_ERROR_CLOSED == (int) G_IO_ERROR_CLOSED, "closed");
            _Static_assert((int) CREDMGR_IO_ERROR_TIMED_OUT == (int) G_IO_ERROR_TIMED_OUT, "timed out");
            _Static_assert((int) CREDMGR_BUS_SESSION == (int) G_BUS_TYPE_SESSION, "session bus");

            """
        let path = folder.path + "/check.c"
        try source.write(toFile: path, atomically: true, encoding: .utf8)
        let flags = try ChildProcess("pkg-config", ["--cflags", "libsecret-1"]).run().standardOutput
            .split(whereSeparator: \.isWhitespace).map(String.init)
        let shim = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/Stores/SecretServiceStore/CLibSecret").path
        return try ChildProcess(
            "cc", ["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-I" + shim] + flags + [path],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C"]
        ).run()
    }
}
