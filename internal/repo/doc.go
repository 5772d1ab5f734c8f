// Package repo implements a vault: a log of notes and items (package eventlog) whose state is an index.
//
// A Vault reads and writes the log of one vault. Callers change it in the function of an Update, which
// stages the changes in a Tx; a Tx checks what applies to every note: size and limits, collisions of
// names, protected paths, the version that the call is based on. The rest derives from the log: texts
// and search indexes are cached, and past states, histories, undo, the audit log and erasures are read
// from the commits. Section numbers in comments, as in log.md §2, refer to reference/log.md.
//
// Terms, in addition to those of package eventlog:
//
//   - A version is the seq of a commit as callers see it.
//   - A note is a file of the vault; an item is a memory, or another entity that is not a file.
//   - A trait is an annotation of a note. A node is a heading or list item with an id of its own.
//   - A follower keeps something in step with the log, for example the files of a checkout.
//   - An outside edit is a change of a file in the folder that is not in the log yet.
//   - A sweep compares all files of the folder with the log.
package repo
