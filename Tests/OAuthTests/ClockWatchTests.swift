import CredentialCore
import OAuth
import Testing

/// This machine's clock against those of the servers that answer.
@Suite struct ClockWatchTests {
    /// 2023-11-14 22:13:20.
    private let date = Timestamp(epochSeconds: 1_700_000_000)
    private let text = "Tue, 14 Nov 2023 22:13:20 GMT"

    private func response(_ headers: (name: String, value: String)...) -> HTTPResponse {
        HTTPResponse(status: 200, headers: headers)
    }

    @Test(
        arguments: [
            (300, nil), (-300, nil), (301, "5 min ahead of"), (-3_600, "60 min behind"), (10_800, "3 h ahead of"),
        ] as [(Int64, String?)])
    func `more than five minutes are told of, with their direction`(ahead: Int64, said: String?) {
        let watch = ClockWatch()
        watch.note(response(("date", text)), from: "https://op.example", now: date.adding(ahead))
        let expected = said.map {
            "this machine's clock is probably wrong: it is \($0) that of https://op.example"
        }
        #expect(watch.warning?.description == expected)
    }

    @Test func `a server that another one and this machine agree against is wrong itself`() {
        let watch = ClockWatch()
        watch.note(response(("date", text)), from: "https://op.example", now: date.adding(2))
        watch.note(response(("date", text)), from: "https://late.example", now: date.adding(7_200))
        #expect(
            watch.warning?.description
                == "the clock of https://late.example is probably wrong: it is 2 h behind this machine's")
        // The newest answer of a server counts.
        watch.note(response(("date", text)), from: "https://late.example", now: date)
        #expect(watch.warning == nil)
    }

    @Test func `an answer out of a cache is as old as it says, and one without a date says nothing`() {
        let watch = ClockWatch()
        watch.note(response(("date", text), ("age", "3600")), from: "https://a.example", now: date.adding(3_600))
        watch.note(response(), from: "https://b.example", now: date.adding(9_000))
        watch.note(response(("date", "yesterday")), from: "https://c.example", now: date.adding(9_000))
        #expect(watch.warning == nil)
    }
}
