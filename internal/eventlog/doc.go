// Package eventlog implements an append-only log of commits, and the state that is derived from it:
// of a vault (package repo), of a tenant (package team), or of anything else.
//
// The only contended write is: append run n+1 if it does not exist. It makes a commit durable, and
// decides which of several processes writes it. Everything else about a log can be computed again or
// is a conditional write of the control item (DESIGN §1.1). The type parameter S of a Log is the type
// of the state; functions in Options compute it from commits, and write it into images. The log does
// not interpret notes, items and records beyond their form. Section numbers in comments, as in
// log.md §2, refer to reference/log.md.
//
// Terms:
//
//   - A commit is the effect of one call; its seq counts commits from 1.
//   - A run is one or more commits that are written as one item of the table: a header, whose hash the
//     next header contains, and a payload.
//   - The payload of a run is its content. A part of it is one note, one item, the records or the
//     answer of a commit. A part can be erased alone, and the chain of headers still verifies.
//   - The head is the newest state that a process knows; the tail is the log after it.
//   - To apply a commit is to compute the state after it.
//   - Compaction moves runs from the table to segments, writes images, and removes from the table what
//     every consumer has passed.
//   - A segment is an object that contains consecutive runs. It only changes when parts are erased.
//   - An image is a snapshot of the state, from which a process starts.
//   - The control item contains the cursors of the consumers and the images. Its last revision is the
//     last item of the log.
//   - Orphans (leftovers) are stored objects and items that nothing refers to.
//
// Errors are faults: UNAVAILABLE if a store does not answer, INDEX_ERROR if stored data is missing or
// damaged, INDEX_INCOMPATIBLE if a later release wrote it, STORAGE_ERROR if a store accepts no writes.
// A log that does not exist or was erased is ErrNoLog.
package eventlog
