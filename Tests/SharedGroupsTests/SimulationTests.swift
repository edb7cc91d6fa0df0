import Foundation
import Simulation
import Testing

/// The real code of tokens, sign-ins, sign-outs and shared groups on simulated ports, a thousand schedules of it,
/// and an end at each call. The script `scripts/simulate` runs a million, and repeats a seed that fails here as
/// often as you like.
struct SimulationTests {
    @Test(arguments: [
        (Scenario.shared, 350), (.takeOver, 200), (.cloned, 100), (.restored, 100), (.meddled, 100),
        (.unanswered, 100), (.alone, 250), (.keys, 300), (.eachCall, 960),
    ])
    func `no schedule sends a refresh token twice or loses a sign-in`(_ scenario: Scenario, _ count: Int) {
        var refreshes = 0, excused = 0
        for seed in 0..<UInt64(count) {
            let report = Run(scenario, seed: seed).report()
            #expect(report.problems.isEmpty, "scripts/simulate 1 \(seed) \(scenario.rawValue)")
            refreshes += report.refreshes
            excused += report.excused > 0 ? 1 : 0
        }
        // The faults are neither so rare that runs have no fault, nor so many that no rule has to hold. When keys
        // are replaced, a refresh is one eighth of the operations.
        #expect(refreshes > (scenario == .keys ? count / 2 : count))
        #expect(excused > 0 && excused < count / 2)
    }

    @Test func `without faults every process gets its requested result`() {
        for scenario in [Scenario.shared, .alone, .keys] {
            for seed in 0..<UInt64(100) {
                let report = Run(scenario, seed: seed, faults: Faults.none).report()
                #expect(report.problems.isEmpty, "\(scenario.rawValue) \(seed)")
            }
        }
    }

    @Test func `a seed gives the same run again`() {
        for seed in 0..<UInt64(20) {
            let once = Run(.shared, seed: seed).report(), again = Run(.shared, seed: seed).report()
            #expect(once.calls == again.calls && once.refreshes == again.refreshes && once.drawn == again.drawn)
        }
    }
}
