// Package repo implements the append-only log of a vault or of a tenant, and the state that is
// derived from it.
//
// Everything is an event in a log (DESIGN §1.1). The only contended write is: append run n+1 if it
// does not exist. A Log does that and nothing else, for any type of state; a Vault is a Log whose
// state is an index of notes. Section numbers in comments, as in log.md §2, refer to
// reference/log.md.
//
// Terms:
//
//   - A commit is the effect of one call; its seq counts commits from 1.
//   - A run is one or more commits that are written as one item.
//   - The payload of a run is its content, in contrast to its header.
//   - A part is one note, one item, the records or the answer of a commit, in a payload.
//   - The head is the newest state that a process knows; the tail is the log after it.
//   - Compaction a commit applies it to a state. Compaction the log, or compaction, moves runs from the
//     table to segments and writes images.
//   - A segment is an immutable object that contains consecutive runs.
//   - An image is a snapshot of the state, from which a process starts.
package repo
