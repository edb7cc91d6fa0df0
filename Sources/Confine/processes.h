#pragma once

/// Kills every descendant until none is left. Those of a killed child come to this process, which is their subreaper; one
/// that is traced, and new, is killed before it runs.
void processes_end(void);
