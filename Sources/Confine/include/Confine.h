#pragma once

// `credmgr __confine`: runs a plugin behind walls, and ends it with all that it started. It is C, and it is entered
// before the Swift runtime does anything, because it forks: a process that forks must have one thread.
//
// Nothing calls it: a constructor sees the word and never returns (entry.c).
