import CommandLine
import Commands
import CredentialCore
import StrictJSON
import Testing

@Suite struct OutputMessageTests {
    private let error = CredentialError(
        .signInRequired, "sign-in required for 'ToDo'", hint: "credmgr login --type ToDo",
        details: ["AADB2C90080", "correlation id 1234"])

    @Test func `an error is a line and its hint another`() {
        #expect(
            ErrorRenderer().error(error)
                == "credmgr: error: sign-in required for 'ToDo'\ncredmgr: hint: credmgr login --type ToDo\n")
    }

    @Test func `details come only when verbose`() {
        let text = ErrorRenderer(isVerbose: true).error(error)
        #expect(text.contains("credmgr: detail: code: sign_in_required\n"))
        #expect(text.contains("credmgr: detail: AADB2C90080\ncredmgr: detail: correlation id 1234\n"))
        #expect(!ErrorRenderer().error(error).contains("AADB2C90080"))
    }

    @Test func `the other kinds have their own words`() {
        let renderer = ErrorRenderer()
        #expect(renderer.warning("the store is slow") == "credmgr: warning: the store is slow\n")
        #expect(renderer.note("using the file store") == "credmgr: note: using the file store\n")
        #expect(renderer.hint("credmgr doctor") == "credmgr: hint: credmgr doctor\n")
    }

    @Test func `no control character gets through and no line can be forged`() {
        let hostile = CredentialError(.denied, "denied\u{1B}[2J\r\ncredmgr: error: fake\u{202E}\u{7}\u{9B}31m")
        let text = ErrorRenderer().error(hostile)
        #expect(text == "credmgr: error: denied [2J\n  credmgr: error: fake 31m\n")
    }

    @Test func `colour is around the kind only`() {
        let text = ErrorRenderer(hasColour: true).warning("careful")
        #expect(text == "credmgr: \u{1B}[33mwarning:\u{1B}[0m careful\n")
    }

    @Test(arguments: [
        (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["NO_COLOR": ""], true),
        (true, ["TERM": "dumb"], false), (true, ["TERM": "xterm"], true),
    ])
    func `colour is used on a terminal unless the environment forbids it`(
        _ isTerminal: Bool, _ environment: [String: String], _ expected: Bool
    ) {
        #expect(ErrorRenderer.colourIsWanted(isTerminal: isTerminal, environment: environment) == expected)
    }

    @Test func `a failure as JSON has code message hint and exit`() {
        #expect(
            ErrorRenderer.json(error).text()
                == #"{"error":{"code":"sign_in_required","message":"sign-in required for 'ToDo'","#
                + #""hint":"credmgr login --type ToDo","exit":4}}"#)
        // Of several failures all hints are there, each once.
        var several = error
        several.additionalHints = ["credmgr login --type Notes", "credmgr login --type ToDo"]
        #expect(
            ErrorRenderer.json(several).text()
                .hasSuffix(#""exit":4,"hints":["credmgr login --type Notes","credmgr login --type ToDo"]}}"#))
        #expect(
            ErrorRenderer().error(several)
                .hasSuffix(
                    "\ncredmgr: hint: credmgr login --type Notes\ncredmgr: hint: credmgr login --type ToDo\n"))
        let bare = ErrorRenderer.json(CredentialError(.internalFault, "a\u{1B}b")).text()
        #expect(bare == #"{"error":{"code":"internal_fault","message":"a\u001bb","hint":null,"exit":1}}"#)
    }
}

@Suite struct OutputLayoutTests {
    @Test func `columns are aligned by their width on a terminal`() {
        var table = Table(["NAME", "TYPE"])
        table.add(["ann", "A"])
        table.add(["日本", "B"])
        table.add(["e\u{301}", "C"])
        #expect(table.text(width: nil) == "NAME  TYPE\nann   A\n日本  B\ne\u{301}     C\n")
    }

    @Test func `cells cannot break a row`() {
        var table = Table(["NAME", "TYPE"])
        table.add(["a\nb\u{1B}[31m", "T", "dropped"])
        table.add(["alone"])
        #expect(table.text(width: nil) == "NAME      TYPE\na b [31m  T\nalone\n")
    }

    @Test func `lines are cut to a terminal's width only`() {
        var table = Table(["NAME"])
        table.add(["日本日本"])
        #expect(table.text(width: 6) == "NAME\n日本…\n")
        #expect(table.text(width: nil) == "NAME\n日本日本\n")
    }

    @Test func `words wrap and a long one stands alone`() {
        #expect(TextLayout.wrapped("one two  three", width: 7) == ["one two", "three"])
        #expect(TextLayout.wrapped("a incomprehensibly b", width: 5) == ["a", "incomprehensibly", "b"])
        #expect(TextLayout.wrapped("", width: 5) == [])
    }

    @Test func `wide characters wrap without spaces, and no line begins with closing punctuation`() {
        #expect(TextLayout.wrapped("列出帳號", width: 5) == ["列出", "帳號"])
        #expect(TextLayout.wrapped("列出帳號。登出", width: 8) == ["列出帳", "號。登出"])
        #expect(TextLayout.wrapped("改用（另一個）名稱", width: 6) == ["改用", "（另一", "個）名", "稱"])
        #expect(TextLayout.wrapped("讀取 'FILE' 的內容", width: 8) == ["讀取", "'FILE'", "的內容"])
        #expect(TextLayout.wrapped("URL位址", width: 5) == ["URL位", "址"])
        // Text without wide characters is broken at its spaces alone.
        #expect(TextLayout.wrapped("учётная запись", width: 4) == ["учётная", "запись"])
    }

    @Test func `quoted words survive a shell`() {
        #expect(ShellQuoting.quoted("it's $HOME `x` \"y\"") == #"'it'\''s $HOME `x` "y"'"#)
        #expect(ShellQuoting.quoted("") == "''")
        #expect(ShellQuoting.word("ann@example.com") == "ann@example.com")
        #expect(ShellQuoting.word("My Type") == "'My Type'")
        #expect(ShellQuoting.word("") == "''")
        #expect(ShellQuoting.word("*") == "'*'")
    }

    @Test(arguments: [
        (-5, "expired"), (0, "expired"), (59, "in 59 s"), (60, "in 1 min"), (2_520, "in 42 min"), (3_600, "in 1 h"),
        (172_799, "in 47 h"), (172_800, "in 2 days"), (Int64.max, "in 106751991167300 days"),
    ])
    func `times are told by their distance`(_ seconds: Int64, _ text: String) {
        let now = Timestamp(epochSeconds: 0)
        #expect(RelativeTime.until(now.adding(seconds), now: now).description == text)
    }
}
