import CredentialCore

/// Takes an XML document apart into tags and text: the part of XML 1.0 that property lists use.
///
/// Comments, processing instructions and a DOCTYPE without an internal subset are skipped at all places at which
/// XML allows them.
struct XMLScanner {
    private let text: [UInt8]
    private(set) var position = 0
    private var counted = (position: 0, line: 1)

    /// Takes a document, checked by ``XMLText/utf8(_:)``.
    init(_ text: [UInt8]) { self.text = text }

    /// A start, end or empty tag.
    struct Tag {
        enum Kind { case start, end, empty }
        let name: String
        let kind: Kind
        let hasAttributes: Bool
    }

    /// Whether everything has been read.
    var isAtEnd: Bool { position >= text.count }

    /// The byte at the position.
    var peek: UInt8? { position < text.count ? text[position] : nil }

    /// Goes over one byte.
    mutating func advance() { position += 1 }

    /// The line of the position, counted from 1.
    mutating func line() -> Int { line(at: position) }

    /// The line of `place`; cheap when asked for in the order of the text.
    mutating func line(at place: Int) -> Int {
        let place = min(place, text.count)
        if place < counted.position { counted = (0, 1) }
        for byte in text[counted.position..<place] where byte == 0x0A { counted.line += 1 }
        counted.position = place
        return counted.line
    }

    /// Whether `word` is at the position.
    func isNext(_ word: String) -> Bool { text[position...].starts(with: word.utf8) }

    /// Goes over `word` if it is next.
    mutating func take(_ word: String) -> Bool {
        guard isNext(word) else { return false }
        position += word.utf8.count
        return true
    }

    /// The error for the text at the position.
    mutating func fault(_ reason: LocalizedMessage) -> PropertyListFault { PropertyListFault(reason, line: line()) }

    // MARK: Between elements

    /// Goes over the XML declaration, if there is one.
    mutating func skipDeclaration() throws(PropertyListFault) {
        guard isNext("<?xml ") || isNext("<?xml\t") || isNext("<?xml\n") || isNext("<?xml\r") else { return }
        let start = position
        try skip(past: "?>", else: "XML declaration without an end")
        let declaration = String(decoding: text[start..<position], as: UTF8.self)
        guard let range = declaration.firstRange(of: "encoding") else { return }
        let encoding = declaration[range.upperBound...].split { "\"'= \t\r\n".contains($0) }.first ?? ""
        guard ["utf-8", "utf8", "us-ascii", "utf-16"].contains(encoding.lowercased()) else {
            throw fault("its encoding is not UTF-8")
        }
    }

    /// Goes over white space, comments and processing instructions; over a DOCTYPE too if one is allowed.
    mutating func skipMisc(allowingDoctype: Bool = false) throws(PropertyListFault) {
        while let byte = peek {
            if XMLText.isSpace(byte) {
                position += 1
            } else if isNext("<!--") {
                try skipComment()
            } else if isNext("<?") {
                try skip(past: "?>", else: "processing instruction without an end")
            } else if allowingDoctype, isNext("<!DOCTYPE") {
                try skipDoctype()
            } else {
                return
            }
        }
    }

    /// Goes over a comment.
    mutating func skipComment() throws(PropertyListFault) {
        // Past the opening, so that `<!-->` is not taken for a whole comment.
        try skip(past: "-->", opening: "<!--", else: "comment without an end")
    }

    /// The text of a CDATA section at the position.
    mutating func characterData() throws(PropertyListFault) -> ArraySlice<UInt8> {
        let start = position + "<![CDATA[".utf8.count
        try skip(past: "]]>", else: "CDATA section without an end")
        return text[start..<position - 3]
    }

    private mutating func skip(
        past end: String, opening: String = "<!", else reason: LocalizedMessage
    ) throws(PropertyListFault) {
        let start = position
        let end = Array(end.utf8)
        position = min(position + opening.utf8.count, text.count)
        while position < text.count {
            if text[position] == end[0], text[position...].starts(with: end) {
                position += end.count
                return
            }
            position += 1
        }
        position = start
        throw fault(reason)
    }

    private mutating func skipDoctype() throws(PropertyListFault) {
        let start = position
        var quote: UInt8?
        while let byte = peek {
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: "[") {
                throw fault("a DOCTYPE with declarations of its own is not accepted")
            } else if byte == UInt8(ascii: ">") {
                return
            }
        }
        position = start
        throw fault("DOCTYPE without an end")
    }

    // MARK: Tags and references

    /// The tag at the position.
    mutating func tag() throws(PropertyListFault) -> Tag {
        guard take("<") else { throw fault("expected an element") }
        let isEnd = take("/")
        let start = position
        while let byte = peek, isNameByte(byte) { position += 1 }
        let name = String(decoding: text[start..<position], as: UTF8.self)
        if name.isEmpty { throw fault("expected an element") }
        var hasAttributes = false
        while true {
            let spaceStart = position
            while let byte = peek, XMLText.isSpace(byte) { position += 1 }
            if take(">") { return Tag(name: name, kind: isEnd ? .end : .start, hasAttributes: hasAttributes) }
            if !isEnd, take("/>") { return Tag(name: name, kind: .empty, hasAttributes: hasAttributes) }
            if isEnd || position == spaceStart { throw fault("tag without an end") }
            try skipAttribute()
            hasAttributes = true
        }
    }

    private mutating func skipAttribute() throws(PropertyListFault) {
        let start = position
        while let byte = peek, isNameByte(byte) || byte == UInt8(ascii: ":") { position += 1 }
        guard position > start, take("="), let quote = peek, quote == 0x22 || quote == 0x27 else {
            throw fault("tag without an end")
        }
        position += 1
        while let byte = peek {
            position += 1
            if byte == quote { return }
            if byte == UInt8(ascii: "<") { break }
        }
        throw fault("attribute without an end")
    }

    private func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// The character of the reference at the position (`&amp;`, `&#233;`).
    mutating func reference() throws(PropertyListFault) -> Unicode.Scalar {
        let window = text[(position + 1)...].prefix(12)
        guard let end = window.firstIndex(of: UInt8(ascii: ";")) else {
            throw fault("an unescaped '&' (write '&amp;')")
        }
        let name = String(decoding: text[position + 1..<end], as: UTF8.self)
        guard let character = XMLText.character(of: name) else {
            throw fault("a reference that is not predefined (a '&' by itself is written '&amp;')")
        }
        position = end + 1
        return character
    }

    /// The words of a `<placeholder>` at the position, brackets included; `nil` when it is something else.
    mutating func placeholder(notAmong elements: Set<String>) -> ArraySlice<UInt8>? {
        let window = text[(position + 1)...].prefix(400)
        guard let end = window.firstIndex(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") }),
            text[end] == UInt8(ascii: ">")
        else { return nil }
        var words = text[position + 1..<end]
        guard let first = words.first, first != UInt8(ascii: "/"), first != UInt8(ascii: "!"),
            first != UInt8(ascii: "?")
        else { return nil }
        if words.last == UInt8(ascii: "/") { words.removeLast() }
        if elements.contains(String(decoding: words, as: UTF8.self)) { return nil }
        defer { position = end + 1 }
        return text[position...end]
    }
}
