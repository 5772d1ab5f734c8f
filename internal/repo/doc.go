// Package repo keeps what is remembered: it is the log of a vault or of a tenant, and the state that
// follows from it.
//
// Everything is an event in a log (DESIGN §1.1). The only contended write is: append run n+1 if it
// does not exist. A Log does that and nothing else, for any state; a Vault is a Log whose state is an
// index of notes. The rules of the corners are those of reference/log.md, which the comments here
// name by section.
//
// Words: a commit is the effect of one call; a run is one or more commits written as one item; seq
// counts commits from 1; a payload is what a run carries beside its header.
package repo
