package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"rookery/internal/index"
)

// Commit is one commit of the vault. One that is not there yet is NOT_FOUND.
func (v *Vault) Commit(ctx context.Context, seq uint64) (*Commit, error) {
	head, err := v.Read(ctx)
	if err != nil {
		return nil, err
	}
	if seq > head.Version() {
		return nil, notYet(seq, head.Version())
	}
	return v.log.commit(ctx, seq)
}

// commit is a commit that is there.
func (l *Log[S]) commit(ctx context.Context, seq uint64) (*Commit, error) {
	r, err := l.runWith(ctx, seq)
	if err != nil {
		return nil, err
	}
	commits, err := r.commits()
	if err != nil {
		return nil, damaged(r.First, err)
	}
	return commits[seq-r.First], nil
}

// A Revision is one change of a file: the commit, and what became of the file.
type Revision struct {
	*Commit // of one that Revisions yields, without notes, records and key
	Note    // likewise without the text and Theirs, until Fill loads the text

	Digest index.Digest // of the text; that of an empty one if Deleted
	at     Place
}

// Revisions yields the changes of a file, newest first, from a commit that changed it on. Each commit
// names the one before, so this costs one read for each of them, however long the log is. It ends
// where the file was made: one of the same name that was there before is another, unless this one is
// that one brought back. A file that a commit from outside moved goes on under its earlier path.
func (v *Vault) Revisions(ctx context.Context, path string, from uint64) iter.Seq2[Revision, error] {
	return func(yield func(Revision, error) bool) {
		for seq := from; seq > 0; {
			r, change, err := v.revision(ctx, path, seq)
			if err == nil && r.Prev >= seq {
				err = damaged(seq, fmt.Errorf("commit %d is none of the file's", seq))
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

// earlier is what a file was called before a commit that changed it, and the commit that changed it
// then; 0 if it was made by this one.
func (c *Commit) earlier(n Note) (path string, seq uint64) {
	if was, moved := c.note(n.From); moved && n.From != "" && n.Prev == 0 {
		return n.From, was.Prev
	}
	return n.Path, n.Prev
}

// note is what a commit made of a file.
func (c *Commit) note(path string) (Note, bool) {
	for _, n := range c.Notes {
		if n.Path == path {
			return n, true
		}
	}
	return Note{}, false
}

// Trace finds a file that may be no more: the path of the one that held last, and the last commit that
// changed it, of those up to a version. Each note that holds has one of some names: its path, or the id of a trait. The
// first call reads the log from the beginning, and later ones what may have the names, and what came since. What holds
// gets is valid for its call. Seq is 0 if none held.
func (v *Vault) Trace(
	ctx context.Context, upTo uint64, names []string, holds func(*Note) bool,
) (path string, seq uint64, err error) {
	words := make([][]byte, len(names), len(names)+1)
	for i, name := range names {
		words[i] = inJSON(name)
	}
	for r, err := range v.naming(ctx, upTo, func() [][]byte { return words }) {
		if err != nil {
			return "", 0, err
		}
		err = r.eachNote(&words, func(n *Note, at uint64) {
			if at <= upTo && (holds(n) || seq > 0 && n.Path == path) {
				path, seq = n.Path, at
				words = append(words[:len(names)], inJSON(path))
			}
		})
		if err != nil {
			return "", 0, damaged(r.First, err)
		}
	}
	return path, seq, nil
}

// inJSON returns a text as it is in the JSON of the log, without quotes.
func inJSON(text string) []byte {
	data, _ := json.Marshal(text) // it is a string
	return data[1 : len(data)-1]
}

// eachNote calls a function with each note of a run, and its commit, whose head has one of some words, which the
// function may change.
func (r *run) eachNote(words *[][]byte, do func(n *Note, seq uint64)) error {
	rest := r.parts
	for i, c := range r.Commits {
		if len(c.Parts) > len(rest) {
			return fmt.Errorf("run %d: its payload lacks parts", r.First)
		}
		for _, p := range rest[:len(c.Parts)] {
			if len(p.data) == 0 || p.data[0] != partNote {
				continue
			}
			head, err := noteHeadIn(p.data)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(*words, func(word []byte) bool { return bytes.Contains(head, word) }) {
				continue
			}
			n, err := readNote(p.data[1:])
			if err != nil {
				return err
			}
			do(&n, r.First+uint64(i)) //nolint:gosec // an index
		}
		rest = rest[len(c.Parts):]
	}
	return nil
}
