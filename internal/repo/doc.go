// Package repo implements a vault: a log of notes and items (package eventlog) whose state is an
// index.
//
// A Vault reads and writes the log of one vault. Callers change it in the function of an Update,
// which stages the changes in a Tx; a Tx checks what applies to every note: size and limits,
// collisions of names, protected paths, the version that the call is based on. The rest derives
// from the log: texts and search indexes are cached, and past states, histories, undo, the audit
// log and erasures are read from the commits. Section numbers in comments, as in log.md §2, refer
// to reference/log.md.
//
// Terms, in addition to those of package eventlog:
//
//   - A version is the seq of a commit as callers see it.
//   - A note is a file of the vault; an item is a memory, or another entity that is not a file.
//   - A trait is an annotation of a note. A node is a heading or list item with an id of its own.
//   - A follower keeps something in step with the log, for example the files of a checkout.
//   - An outside edit is a change of a file in the folder that is not in the log yet.
//   - A sweep compares all files of the folder with the log.
//
// How the parts work together:
//
//   - The log: vault.go gives eventlog the functions that compute an index from commits, and gets
//     every commit back in Applied, in order, whichever process wrote it.
//   - Writing: tx.go checks and stages notes; limits.go, item.go, move.go, trash.go, try.go and
//     putback.go belong to it. Update adds the audit events and the ids before the commit is
//     written.
//   - Texts: an index contains no texts, only their positions in the log (index.Body). texts.go
//     caches them, pick.go unpacks single ones, prefetch.go reads many at once.
//   - Compaction: compactor.go makes the passes of the log in the background, yielder.go makes them
//     wait for calls.
//   - Search: search.go keeps a search index of the notes and one of the memories. Commits only
//     mark documents as changed; the next search reads them.
//   - The past: snapshot.go builds the index of an earlier version. revision.go, filehistory.go,
//     changes.go, noteplaces.go and ledger.go find the changes of one file without doing that.
//   - Undo: undo.go and restore.go reverse commits, obstacle.go reports why one cannot be undone.
//   - The audit log is computed from the commits (audit.go); comparison.go compares its files.
//   - Erasing: erasehistory.go finds all that the log contains of a note or memory, erasenote.go
//     and eraseitem.go erase it, erase.go destroys the vault.
//   - The folder: control.go and freshness.go describe the state of the files that package checkout
//     records in the control item. This package never reads the folder.
//   - Beside the log: access.go counts accesses of memories.
//   - examine.go has the checks of a vault that package doctor runs and reports.
//
// All caches are derived from the log and bounded. A commit that erases something removes it from
// those that contain texts, changes, words or states (forgetErased).
package repo
