package repo

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A history contains the parts of the log that must be emptied to erase a note, or to erase a
// memory and the items that quote it. They include the answers of calls that changed nothing but
// returned the note or the memory.
//
// The search begins with one path. Commits reveal others: a move to a known path reveals the path
// before, which counts as the note's up to that commit, and a deletion reveals the copy in the
// trash. Parts at such a path may be in commits that were read already, so the log is read again
// from its first commit, until no such path is found. Most of it is read before the Update; the
// function of the Update reads only the commits since.
type history struct {
	path string // of the note; empty: it is the history of items
	// own contains the paths of the note and of its copies in the trash, each with the last commit
	// for which the path is that of the note; eventlog.MaxSeq: no end.
	own   map[string]uint64
	items map[memory.Ref]bool // the items that are erased
	parts []ownPart
	seen  uint64 // the last commit that was read
	wider bool   // a new path was found, so commits read before must be read again
}

// An ownPart is a part of a history. path is that of the note in it; empty: it is no note.
type ownPart struct {
	eventlog.PartRef
	path string
}

// clone returns an independent copy. The function of an Update may run several times, and must
// begin with the same history each time.
func (h *history) clone() history {
	now := *h
	now.own, now.items, now.parts = maps.Clone(h.own), maps.Clone(h.items), slices.Clone(h.parts)
	return now
}

// readAll reads all commits before the one of tx, including earlier drafts of the same run.
func (h *history) readAll(ctx context.Context, tx *Tx) error {
	for {
		if err := h.read(ctx, tx.v, tx.draft.At().Run-1); err != nil {
			return err
		}
		for c, at := range tx.draft.Earlier() {
			h.take(c, at)
		}
		if !h.wider {
			return nil
		}
	}
}

// read reads the commits after the last one read, up to and including upTo. If it finds that the
// note had another path, it reads all commits again.
func (h *history) read(ctx context.Context, v *Vault, upTo uint64) error {
	for {
		if h.wider {
			h.wider, h.seen, h.parts = false, 0, nil
		}
		if err := h.readOnce(ctx, v, upTo); err != nil || !h.wider {
			return err
		}
	}
}

// readOnce reads the commits after h.seen up to upTo. It may set h.wider. Runs that do not name the
// note are not read if the ledger of the vault has them.
func (h *history) readOnce(ctx context.Context, v *Vault, upTo uint64) error {
	for r, err := range v.runsWhere(ctx, h.seen+1, upTo, h.mayName(v.ledger)) {
		if err != nil {
			return err
		}
		if err := h.takeRun(r, upTo); err != nil {
			return err
		}
		h.seen = max(h.seen, r.Last)
	}
	h.seen = max(h.seen, upTo)
	return nil
}

// mayName returns a function that reports whether a run may contain a part of the history, according
// to the ledger. It returns true for every run if it is the history of items, because the ledger
// does not have the ids in the values of items, and if a name has several JSON encodings.
func (h *history) mayName(l *ledger) func(runNames) bool {
	var paths, ids [][]byte
	known, exact := -1, len(h.items) == 0
	return func(n runNames) bool {
		if known != len(h.own) { // a run has revealed another path
			known, paths, ids = len(h.own), nil, nil
			for path := range h.own {
				spelt, plain := spelled(path)
				exact = exact && plain && !strings.Contains(path, "#") // an id ends at #
				paths, ids = append(paths, spelt), append(ids, []byte(stemOf(path)))
			}
		}
		return !exact || l.mayHave(n, paths) || l.mayAnswer(n, ids)
	}
}

// takeRun adds the parts of the commits of a run that are after the last one read, up to upTo. Only
// the parts that name the note or an item are decoded: most runs have none.
func (h *history) takeRun(r *eventlog.Run, upTo uint64) error {
	names := h.namer()
	if !slices.ContainsFunc(r.Parts, names) {
		return nil
	}
	commits, err := r.DecodeOnly(names)
	if err != nil {
		return eventlog.Damaged(r.First, err)
	}
	at := eventlog.PartRef{Run: r.First}
	for i, c := range commits {
		if c.Seq > h.seen && c.Seq <= upTo {
			h.take(c, at)
		}
		at.Part += len(r.Commits[i].Parts)
	}
	return nil
}

// namer returns a function that reports whether a part may belong to the history: whether it
// contains one of the names of words, as encoded in JSON. The text of a note is not searched. If a
// name has several JSON encodings, the function returns true for every part.
func (h *history) namer() func(eventlog.Part) bool {
	var words [][]byte
	for word := range h.words() {
		spelt, plain := spelled(word)
		if !plain {
			return func(eventlog.Part) bool { return true }
		}
		words = append(words, spelt)
	}
	return func(p eventlog.Part) bool {
		data := p.Data
		if head, err := p.NoteHead(); err == nil {
			data = head
		}
		return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(data, word) })
	}
}

// words yields the names of which a part of the history must contain one: the paths without their
// extension, and the ids of the items.
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

// stemOf returns a path without its extension, which is the id of a note.
func stemOf(path string) string { return strings.TrimSuffix(path, ".md") }

// spelled returns a text as encoded in JSON, without quotes. plain is false if JSON has other
// encodings of it.
func spelled(text string) (spelt []byte, plain bool) {
	spelt = inJSON(text)
	return spelt, string(spelt) == text
}

// take adds the parts of one commit. at is the place of its first part. These are the notes at the
// paths of the history, its items, and the answer of the call if the commit has one of them or
// the answer names one. Parts that are erased already are omitted.
func (h *history) take(c *eventlog.Commit, at eventlog.PartRef) {
	found := false
	for i, n := range c.Notes {
		if until := h.own[n.Path]; n.Erased || until < c.Seq {
			continue
		}
		found = true
		h.parts = append(h.parts, ownPart{eventlog.PartRef{Run: at.Run, Part: at.Part + i}, n.Path})
		h.widen(c, n)
	}
	for i, it := range c.Items {
		if it.Erased || !h.owns(it) {
			continue
		}
		found = true
		h.parts = append(h.parts, ownPart{PartRef: eventlog.PartRef{Run: at.Run, Part: at.Part + len(c.Notes) + i}})
	}
	if c.Key != nil && (found || h.quoted(c)) {
		h.parts = append(h.parts, ownPart{PartRef: eventlog.PartRef{Run: at.Run, Part: at.Part + c.AnswerPart()}})
	}
	h.leave(c)
}

// widen adds the paths that a change of the note reveals: the path before a move, valid up to this
// commit, and the copies in the trash that a deletion makes.
func (h *history) widen(c *eventlog.Commit, n eventlog.Note) {
	if n.From != "" && h.own[n.From] < c.Seq {
		h.own[n.From], h.wider = c.Seq, true
	}
	if !n.Deleted {
		return
	}
	for i, other := range c.Notes {
		if isCopy(other.Path, n.Path, c.Seq) && h.own[other.Path] < eventlog.MaxSeq {
			h.own[other.Path] = eventlog.MaxSeq
			// The copy is found while the commit is processed. If its note comes earlier in the
			// commit, it has been passed already, so the commit must be read again.
			h.wider = h.wider || i < slices.IndexFunc(c.Notes, func(o eventlog.Note) bool { return o.Path == n.Path })
		}
	}
}

// leave drops the parts found at a path that the note had later: before commit c that path belonged
// to another note, which c moves to a path that is not the note's.
func (h *history) leave(c *eventlog.Commit) {
	for _, n := range c.Notes {
		if until := h.own[n.From]; n.From != "" && c.Seq < until && until < eventlog.MaxSeq && h.own[n.Path] < c.Seq {
			h.parts = slices.DeleteFunc(h.parts, func(p ownPart) bool { return p.path == n.From })
		}
	}
}

// owns reports whether an item belongs to the history. An item that quotes one of them is added to
// them.
func (h *history) owns(i eventlog.Item) bool {
	ref := memory.Ref{Kind: i.Kind, ID: i.ID}
	if len(h.items) > 0 && memory.Quotes(i.Kind, i.Value, h.items) {
		h.items[ref] = true
	}
	return h.items[ref]
}

// quoted reports whether the answer of a commit may contain the note or an item: whether it names
// one.
func (h *history) quoted(c *eventlog.Commit) bool {
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

// hasID reports whether an answer contains the path of a note, its id, or the id of something in
// it.
func hasID(answer, stem []byte) bool {
	for rest := answer; ; {
		i := bytes.Index(rest, stem)
		if i < 0 {
			return false
		}
		at := len(answer) - len(rest) + i
		before := at == 0 || answer[at-1] == '"'
		rest = rest[i+len(stem):]
		if before && (bytes.HasPrefix(rest, []byte(`"`)) || bytes.HasPrefix(rest, []byte("#")) ||
			bytes.HasPrefix(rest, []byte(`.md"`))) {
			return true
		}
	}
}

// isCopy reports whether path is that of the copy in the trash which the deletion of the note at
// `of` in commit seq made (docs/design/0007-trash.md).
func isCopy(path, of string, seq uint64) bool {
	stem := strings.TrimSuffix(vault.Trash+of, ".md")
	return path == vault.Trash+of || path == stem+"."+eventlog.Version(seq)+".md" ||
		path == stem+".v"+strconv.FormatUint(seq, 10)
}
