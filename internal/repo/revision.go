package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// Commit returns one commit of the vault. It returns NOT_FOUND if there is no such commit yet. It
// returns INDEX_ERROR if the run is damaged.
func (v *Vault) Commit(ctx context.Context, seq uint64) (*eventlog.Commit, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return nil, err
	}
	if seq > head.Version() {
		return nil, notYet(seq, head.Version())
	}
	return v.log.Commit(ctx, seq)
}

// A Revision is one change of a file: the commit, and the file after it.
type Revision struct {
	*eventlog.Commit // if yielded by Revisions: without notes, items, records and key
	eventlog.Note    // likewise: without Theirs, and in large runs without the text until Fill loads it

	Digest index.Digest     // of the text; that of an empty text if Deleted
	at     eventlog.PartRef // of the note's part
}

// Revisions yields the changes of a file, newest first, beginning with commit from, which must have
// changed it. Each change names the one before, so it costs one read for each change, however long
// the log is. It ends with the change that created the file; an earlier file at the same path is
// another one, unless this file is that one restored. A file that was moved is followed to its
// earlier path. It ends with the first error, which is INDEX_ERROR if the history is damaged.
func (v *Vault) Revisions(ctx context.Context, path string, from uint64) iter.Seq2[Revision, error] {
	return func(yield func(Revision, error) bool) {
		for seq := from; seq > 0; {
			r, change, err := v.revision(ctx, path, seq)
			if err == nil && r.Prev >= seq {
				err = eventlog.Damaged(seq, fmt.Errorf("commit %d does not concern the file", seq))
			}
			if err != nil {
				yield(Revision{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
			path, seq = change.path, change.seq
		}
	}
}

// Trace finds a file that may no longer exist. holds reports whether a note matches; each matching
// note must have one of names as its path or as the id of a trait. Trace returns the path of the
// last match, and the last commit up to upTo that changed the file at that path. seq is 0 if there
// is no match. The first call reads the whole log; later calls read only the runs that may contain
// the names, and the new ones. The Note passed to holds is valid only during that call.
func (v *Vault) Trace(
	ctx context.Context, upTo uint64, names []string, holds func(*eventlog.Note) bool,
) (path string, seq uint64, err error) {
	words := make([][]byte, len(names), len(names)+1)
	for i, name := range names {
		words[i] = inJSON(name)
	}
	for r, err := range v.naming(ctx, upTo, func() [][]byte { return words }) {
		if err != nil {
			return "", 0, err
		}
		err = eachNote(r, &words, func(n *eventlog.Note, at uint64) {
			if at <= upTo && (holds(n) || seq > 0 && n.Path == path) {
				path, seq = n.Path, at
				words = append(words[:len(names)], inJSON(path))
			}
		})
		if err != nil {
			return "", 0, eventlog.Damaged(r.First, err)
		}
	}
	return path, seq, nil
}

// inJSON returns a text as encoded in the JSON of the log, without quotes. A search for these bytes
// in an encoded head finds the text without decoding the head. It may also find it inside a longer
// string, so the caller must compare the decoded values.
func inJSON(text string) []byte {
	data, _ := json.Marshal(text) // a string is always valid
	return data[1 : len(data)-1]
}

// eachNote calls do with each note of a run whose head contains one of some words, and with its
// commit. do may change words. The words are encoded as in JSON. Heads without any of them are not
// decoded, which saves most of the work. The payload of the run must be loaded.
func eachNote(r *eventlog.Run, words *[][]byte, do func(n *eventlog.Note, seq uint64)) error {
	rest := r.Parts
	for i, c := range r.Commits {
		if len(c.Parts) > len(rest) {
			return fmt.Errorf("run %d: its payload lacks parts", r.First)
		}
		for _, p := range rest[:len(c.Parts)] {
			if !p.IsNote() {
				continue
			}
			head, err := p.NoteHead()
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(*words, func(word []byte) bool { return bytes.Contains(head, word) }) {
				continue
			}
			n, err := p.Note()
			if err != nil {
				return err
			}
			do(&n, r.First+uint64(i)) //nolint:gosec // an index
		}
		rest = rest[len(c.Parts):]
	}
	return nil
}
