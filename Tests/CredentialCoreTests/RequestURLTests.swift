import CredentialCore
import Testing

/// The meaning of an address for `request`, and for a program.
@Suite struct RequestURLTests {
    private func joined(_ path: String, base: String) throws -> String {
        var type = AccountType(name: "Tasks", adapter: "oauth2", clientID: "c")
        type.apiBase = base
        return try RequestURL.joined(path, to: type).description
    }

    @Test(arguments: [
        ("https://api.example.com/tasks", "", "https://api.example.com/tasks"),
        ("https://api.example.com/tasks/", "", "https://api.example.com/tasks/"),
        ("https://api.example.com", "", "https://api.example.com"),
        ("https://api.example.com/tasks", "/", "https://api.example.com/tasks/"),
        ("https://api.example.com/tasks", "?page=1", "https://api.example.com/tasks?page=1"),
        ("https://api.example.com/tasks/", "?page=1", "https://api.example.com/tasks/?page=1"),
        ("https://api.example.com/tasks", "5", "https://api.example.com/tasks/5"),
        ("https://api.example.com/tasks", "/5", "https://api.example.com/tasks/5"),
        ("https://api.example.com/tasks/", "/5", "https://api.example.com/tasks/5"),
        ("https://api.example.com/tasks", "../users/./5", "https://api.example.com/users/5"),
        ("https://api.example.com/tasks", "a/b/../c", "https://api.example.com/tasks/a/c"),
        ("https://api.example.com/tasks", "../../../x", "https://api.example.com/x"),
    ])
    func `a path is joined to the api_base, which an empty one is`(base: String, path: String, whole: String) throws
    {
        #expect(try joined(path, base: base) == whole)
    }

    @Test func `an absolute URL is accepted, and a similar text is refused`() throws {
        let address = try RequestURL.absolute("https://api.example.com/a/../b")
        #expect(address?.description == "https://api.example.com/b")
        #expect(try RequestURL.absolute("tasks/5") == nil)
        for text in ["//api.example.com/x", "ftp://api.example.com/", "https:tasks", "\\\\host\\x"] {
            #expect(throws: CredentialError.self) { try RequestURL.absolute(text) }
        }
    }

    @Test func `without an api_base a path is nothing`() throws {
        let type = AccountType(name: "Tasks", adapter: "oauth2", clientID: "c")
        #expect(throws: CredentialError.self) { try RequestURL.joined("", to: type) }
    }
}
