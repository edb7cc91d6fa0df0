import Foundation
import Simulation

// `credmgr-simulation SCENARIO FIRST COUNT [FAILURES]` runs so many seeds, and stops when so many have failed (20).
// It prints a line for each problem, and one of figures. `credmgr-simulation SCENARIO SEED follow` runs one, and
// prints its events.

let words = CommandLine.arguments
if words.count == 4, words[3] == "follow", let seed = UInt64(words[2]), let scenario = Scenario(rawValue: words[1])
{
    let run = Run(scenario, seed: seed)
    run.follow { print($0) }
    for problem in run.report().problems { print("problem: \(problem)") }
    exit(0)
}
guard (4...5).contains(words.count), let first = UInt64(words[2]), let count = UInt64(words[3]),
    let scenario = Scenario(rawValue: words[1])
else {
    print(
        "usage: credmgr-simulation \(Scenario.allCases.map(\.rawValue).joined(separator: "|")) FIRST COUNT [FAILURES]"
    )
    exit(2)
}
let limit = words.count == 5 ? Int(words[4]) ?? 20 : 20
var failed = 0, done = 0, refreshes = 0, again = 0, excused = 0
let began = ProcessInfo.processInfo.systemUptime
for seed in first..<first + count {
    let report = Run(scenario, seed: seed).report()
    done += 1
    refreshes += report.refreshes
    again += report.again
    excused += report.excused > 0 ? 1 : 0
    guard !report.problems.isEmpty else { continue }
    failed += 1
    for problem in report.problems { print("\(scenario.rawValue) \(seed): \(problem)") }
    if failed >= limit { break }
}
let seconds = max(ProcessInfo.processInfo.systemUptime - began, 0.001)
print(
    "\(scenario.rawValue): \(done) schedules, \(refreshes) refreshes, \(again) tokens sent again on purpose, "
        + "\(excused) with an answer lost, \(failed) failed; \(Int(Double(done) / seconds)) a second")
exit(failed == 0 ? 0 : 1)
