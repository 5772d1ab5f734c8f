// Package eventlog implements an append-only log of commits, and the state that is derived from it:
// of a vault (package repo), of a tenant (package tenant), or of anything else.
//
// The only contended write is: append run n+1 if it does not exist. It makes a commit durable, and
// decides which of several processes writes it. Everything else about a log can be computed again
// or is a conditional write of the control item (DESIGN §1.1). The type parameter S of a Log is the
// type of the state; functions in Options compute it from commits, and write it into images. The
// log does not interpret notes, items and records beyond their form. Section numbers in comments,
// as in log.md §2, refer to reference/log.md.
//
// Terms:
//
//   - A commit is the effect of one call; its seq counts commits from 1.
//   - A run is one or more commits that are written as one item of the table: a header, whose hash
//     the next header contains, and a payload.
//   - The payload of a run is its content. A part of it is one note, one item, the records or the
//     answer of a commit. A part can be erased alone, and the chain of headers still verifies.
//   - The head is the newest state that a process knows; the tail is the log after it.
//   - To apply a commit is to compute the state after it.
//   - Compaction moves runs from the table to segments, writes images, and removes from the table
//     what every consumer has passed.
//   - A segment is an object that contains consecutive runs. It only changes when parts are erased.
//   - An image is a snapshot of the state, from which a process starts.
//   - The control item contains the cursors of the consumers and the images. Its last revision is
//     the last item of the log.
//   - Orphans (leftovers) are stored objects and items that nothing refers to.
//
// How the parts work together:
//
//   - Writing (queue.go, batch.go, draft.go, append.go): Update puts a call into the queue of the
//     log. One worker takes up to 64 calls, runs their functions one after the other, each on the
//     state that the drafts before leave, and appends all drafts as one run. If another process has
//     written a run with that number, the worker reads it and drafts everything again.
//   - Reading (log.go, tail.go, skipahead.go): Read makes one Query for the items after the head,
//     and applies their commits. A head that is far behind moves to an image, or through segments.
//   - Starting (replay.go, image.go, keyring.go): the state is read from the image in use, and the
//     commits after it are applied in bulk. The idempotency keys are read when the first call needs
//     them.
//   - Compaction (pass.go, fold.go, publish.go, trim.go, leftover.go): any process may run a pass.
//     Every step is idempotent and makes its result visible with one conditional write.
//   - The past (stored.go, back.go, moment.go, stretch.go, histories.go, packedrun.go): these read
//     commits from the table and from segments, most of them without building a state.
//   - Erasing: redact.go empties single parts of the log, erase.go destroys a log.
//   - Damage and disasters: verify.go checks a log, recover.go makes a log from its segments,
//     rollback.go adapts the bucket to a table that was restored.
//
// A log has one partition of the table and one bucket. N is the first commit of a run or segment,
// or the commit of an image, in 12 digits:
//
//	log/N                  item: a run, or the tombstone of one
//	log/~                  item: the control item
//	image/FORMAT/N/PIECE   item: a piece of a small image
//	payload/N-CALL.zst     object: the payload of a run, if it has more than 16 KB
//	segment/N              object: a segment
//	image/FORMAT/N         object: an image
//
// Users of a log may have items of their own under other keys of its partition. Erase deletes them
// too.
//
// Errors are faults: UNAVAILABLE if a store does not answer, INDEX_ERROR if stored data is missing
// or damaged, INDEX_INCOMPATIBLE if a later release wrote it, STORAGE_ERROR if a store accepts no
// writes. A log that does not exist or was erased is ErrNoLog.
package eventlog
