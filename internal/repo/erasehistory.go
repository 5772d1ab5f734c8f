package repo

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"rookery/internal/index"
	"rookery/internal/memory"
	"rookery/internal/vault"
)

// A history is what the log says of one note, or of a memory and of what quotes it: the parts of commits that it takes
// to erase it. Answers of calls are among them, also of those that changed nothing and only told of it.
type history struct {
	path  string              // of the note; empty: the history is that of items
	own   map[string]uint64   // the paths of the note and of its copies in the trash, with the last commit that each is its
	items map[memory.Ref]bool // the items
	parts []ownPart
	seen  uint64 // the last commit that was read
	wider bool   // a path was found of which commits that were read before may tell
}

// An ownPart is a part of a history, and the path of the note in it; empty: it has none.
type ownPart struct {
	Place
	path string
}

func (h *history) clone() history {
	now := *h
	now.own, now.items, now.parts = maps.Clone(h.own), maps.Clone(h.items), slices.Clone(h.parts)
	return now
}

// readAll takes in all commits before the one that a Tx makes.
func (h *history) readAll(ctx context.Context, tx *Tx) error {
	for {
		if err := h.read(ctx, tx.v.log, tx.at.Run-1); err != nil {
			return err
		}
		for _, earlier := range tx.earlier {
			h.take(&earlier.commit, earlier.at)
		}
		if !h.wider {
			return nil
		}
	}
}

// read takes in the commits up to one that come behind those that are known; all of them again, where it turns out that
// the note had another path before.
func (h *history) read(ctx context.Context, l *Log[*index.Index], upTo uint64) error {
	for {
		if h.wider {
			h.wider, h.seen, h.parts = false, 0, nil
		}
		if err := h.readOnce(ctx, l, upTo); err != nil || !h.wider {
			return err
		}
	}
}

func (h *history) readOnce(ctx context.Context, l *Log[*index.Index], upTo uint64) error {
	code := l.code.reusing()
	for r, err := range l.unpackedBy(ctx, code, h.seen+1) {
		if err == nil && r.First > upTo {
			return nil
		}
		if err == nil {
			err = l.loadBy(ctx, code, r)
		}
		if err != nil {
			return err
		}
		if err := h.takeRun(r, upTo); err != nil {
			return err
		}
		h.seen = max(h.seen, r.Last)
	}
	return nil
}

// takeRun takes in the commits of a run up to one that come behind those that are known. Only the parts that name the
// note are decoded: most runs have none.
func (h *history) takeRun(r *run, upTo uint64) error {
	names := h.namer()
	if !slices.ContainsFunc(r.parts, names) {
		return nil
	}
	commits, err := r.commitsOf(names)
	if err != nil {
		return damaged(r.First, err)
	}
	at := Place{Run: r.First}
	for i, c := range commits {
		if c.Seq > h.seen && c.Seq <= upTo {
			h.take(c, at)
		}
		at.Part += len(r.Commits[i].Parts)
	}
	return nil
}

// namer reports whether a part of a run may tell of the history: it has a path without its ending, or the id of an item,
// as JSON spells it. The text of a note tells nothing. A text that JSON may spell in several ways every part may have.
func (h *history) namer() func(part) bool {
	var words [][]byte
	for word := range h.words() {
		spelt, plain := spelled(word)
		if !plain {
			return func(part) bool { return true }
		}
		words = append(words, spelt)
	}
	return func(p part) bool {
		data := p.data
		if len(data) > 0 && data[0] == partNote {
			if head, _, err := splitNote(data[1:]); err == nil {
				data = head
			}
		}
		return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(data, word) })
	}
}

// words yields what a part must have of the history.
func (h *history) words() iter.Seq[string] {
	return func(yield func(string) bool) {
		for path := range h.own {
			if !yield(stemOf(path)) {
				return
			}
		}
		for ref := range h.items {
			if !yield(ref.ID) {
				return
			}
		}
	}
}

func stemOf(path string) string { return strings.TrimSuffix(path, ".md") }

// spelled is a text in JSON, without quotes. It reports false if JSON may spell it in another way.
func spelled(text string) (spelt []byte, plain bool) {
	spelt = inJSON(text)
	return spelt, string(spelt) == text
}

// take takes in one commit, whose first part is at a place.
func (h *history) take(c *Commit, at Place) {
	found := false
	for i, n := range c.Notes {
		if until := h.own[n.Path]; n.Erased || until < c.Seq {
			continue
		}
		found = true
		h.parts = append(h.parts, ownPart{Place{at.Run, at.Part + i}, n.Path})
		h.widen(c, n)
	}
	for i, it := range c.Items {
		if it.Erased || !h.owns(it) {
			continue
		}
		found = true
		h.parts = append(h.parts, ownPart{Place: Place{at.Run, at.Part + len(c.Notes) + i}})
	}
	if c.Key != nil && (found || h.quoted(c)) {
		h.parts = append(h.parts, ownPart{Place: Place{at.Run, at.Part + c.answerPart()}})
	}
	h.leave(c)
}

// widen adds the paths that a change of the note shows: that which it had before a move, up to there, and those of the
// copies in the trash.
func (h *history) widen(c *Commit, n Note) {
	if n.From != "" && h.own[n.From] < c.Seq {
		h.own[n.From], h.wider = c.Seq, true
	}
	if !n.Deleted {
		return
	}
	for i, other := range c.Notes {
		if isCopy(other.Path, n.Path, c.Seq) && h.own[other.Path] < maxSeq {
			h.own[other.Path] = maxSeq
			h.wider = h.wider || i < slices.IndexFunc(c.Notes, func(o Note) bool { return o.Path == n.Path })
		}
	}
}

// leave drops what was found at a path that the note had later: another note had it before, which the commit moves to a
// path that is not the note's.
func (h *history) leave(c *Commit) {
	for _, n := range c.Notes {
		if until := h.own[n.From]; n.From != "" && c.Seq < until && until < maxSeq && h.own[n.Path] < c.Seq {
			h.parts = slices.DeleteFunc(h.parts, func(p ownPart) bool { return p.path == n.From })
		}
	}
}

// owns reports whether an item is one of those whose history is read. What is made of these is one of them from there on.
func (h *history) owns(i Item) bool {
	ref := memory.Ref{Kind: i.Kind, ID: i.ID}
	if len(h.items) > 0 && memory.Quotes(i.Kind, i.Value, h.items) {
		h.items[ref] = true
	}
	return h.items[ref]
}

// quoted reports whether the answer of a commit may tell of what the history is of: it names it.
func (h *history) quoted(c *Commit) bool {
	for path, until := range h.own {
		spelt, plain := spelled(stemOf(path))
		if until >= c.Seq && (!plain || hasID(c.Key.Answer, spelt)) {
			return true
		}
	}
	for ref := range h.items {
		if bytes.Contains(c.Key.Answer, inJSON(ref.ID)) {
			return true
		}
	}
	return false
}

// hasID reports whether an answer has the id of a note, of something in it, or its path.
func hasID(answer, stem []byte) bool {
	for rest := answer; ; {
		i := bytes.Index(rest, stem)
		if i < 0 {
			return false
		}
		before := i == 0 || rest[i-1] == '"'
		rest = rest[i+len(stem):]
		if before && (bytes.HasPrefix(rest, []byte(`"`)) || bytes.HasPrefix(rest, []byte("#")) ||
			bytes.HasPrefix(rest, []byte(`.md"`))) {
			return true
		}
	}
}

// isCopy reports whether a path is that of the copy that the deletion of a note left in the trash
// (docs/design/0007-trash.md).
func isCopy(path, of string, seq uint64) bool {
	stem := strings.TrimSuffix(vault.Trash+of, ".md")
	return path == vault.Trash+of || path == stem+"."+Version(seq)+".md" ||
		path == stem+".v"+strconv.FormatUint(seq, 10)
}
