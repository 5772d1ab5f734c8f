package raven

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An editIn is the input of raven_edit. It has either OldStr and NewStr, or Edits.
//
// With an id of a section, the texts are searched only in its subtree, so that a text that is
// repeated elsewhere in the note is still unambiguous.
type editIn struct {
	tool.Vault
	// people/freya, or people/freya#notes: then the text must be in that section
	ID string `json:"id" complete:"id" alias:"reference,path"`
	// text that occurs exactly once
	OldStr *string `json:"old_str,omitempty" text:"true"`
	// the replacement; can be empty
	NewStr *string `json:"new_str,omitempty" text:"true"`
	// several replacements, applied in order: all of them or none
	Edits []replacement `json:"edits,omitempty"`
	tool.Brief
	tool.Mutation
}

// A replacement is one requested replacement.
//
// OldStr must occur exactly once in the scope, at the time of this replacement; an empty NewStr
// deletes it.
type replacement struct {
	OldStr string `json:"old_str" size:"text"`
	NewStr string `json:"new_str" size:"text"`
}

// An editOut is the output of raven_edit.
type editOut struct {
	objectOut
	// applied, preview or unchanged
	Status string        `json:"status,omitempty"`
	Path   string        `json:"path,omitempty"`
	Count  int           `json:"count,omitempty"`
	Edits  []appliedEdit `json:"edits,omitempty"`
}

// Shorten removes the object and, except in a dry run, the list of replacements.
func (e *editOut) Shorten() {
	e.objectOut.Shorten()
	if !e.DryRun {
		e.Edits = nil
	}
}

const (
	// maxSearched is the maximum number of bytes that one call searches, because each replacement
	// searches the note.
	maxSearched = 256 << 20

	// maxSwapShown is the maximum size in bytes of a replacement's text in the answer.
	maxSwapShown = 1 << 10
)

// toOperation converts the output to that of an operation of a batch, which does not list
// replacements.
func (e *editOut) toOperation(dry bool) {
	e.objectOut.toOperation(dry)
	e.Edits = nil
}

// An appliedEdit is one replacement that was made.
type appliedEdit struct {
	Index int `json:"index"`
	Line  int `json:"line"`
	// the first 1,024 bytes
	OldStr string `json:"old_str"`
	// the first 1,024 bytes
	NewStr string `json:"new_str"`
	// the lines with the new text, or the parts of long lines around it
	Context string `json:"context"`
}

// edit returns the tool raven_edit, which replaces text that occurs exactly once.
func (f tools) edit() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_edit", Family: Family, Title: "Edit a note",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "POST", Path: "/files/edit"},
		Commands: []tool.Command{{Words: "edit", Args: []string{"id", "old_str?", "new_str?"}}},
	}, func(ctx context.Context, c auth.Caller, in editIn) (editOut, error) {
		if err := in.validate(); err != nil {
			return editOut{}, err
		}
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, noteTarget(in.ID)}, in.run)
	})
}

// validate returns an error if the arguments are invalid. It does not read the vault.
func (in editIn) validate() error {
	_, err := in.replacements()
	return err
}

// replacements returns the replacements of the call, which has either one or a list.
//
// Problems of several replacements are joined, each with its index. A single pair has no index in
// its problem, because the caller has no list.
func (in editIn) replacements() ([]replacement, error) {
	swaps, one := in.Edits, in.OldStr != nil || in.NewStr != nil
	switch {
	case one && len(in.Edits) > 0:
		return nil, fault.New(fault.InvalidValue, "give old_str and new_str, or edits, not both").
			With("argument", "edits")
	case one && (in.OldStr == nil || in.NewStr == nil), !one && len(in.Edits) == 0:
		return nil, fault.New(fault.MissingRequired, "give old_str and new_str, or edits").
			With("argument", "old_str")
	case one:
		swaps = []replacement{{*in.OldStr, *in.NewStr}}
	}
	var problems []*fault.Fault
	for i, s := range swaps {
		if s.OldStr != "" {
			continue
		}
		f := fault.New(fault.MissingRequired, "old_str must not be empty").
			With("argument", "old_str").Fix("give the text to replace; to append text, add it")
		if !one {
			f = f.With("index", i)
		}
		problems = append(problems, f)
	}
	return swaps, fault.Join(Family.Several, problems).Err()
}

// run drafts the replacements.
//
// The note is staged once, with all replacements. If the replacements leave the text as it was, the
// status is unchanged and there is no commit.
func (in editIn) run(ctx context.Context, tx *repo.Tx, out *editOut) error {
	swaps, err := in.replacements()
	if err != nil {
		return err
	}
	p, err := locate(tx.Index(), in.ID, state.Clock(tx.Index(), tx.Now()))
	if err != nil {
		return err
	}
	was := priorOf(tx.Index(), p)
	path := vault.Path(p.Note.Path)
	text, _, err := tx.Text(ctx, path)
	if err != nil {
		return err
	}
	text, made, err := in.replace(text, swaps, p)
	if err != nil {
		return err
	}
	if err := tx.Put(ctx, path, text); err != nil {
		return err
	}
	warnRefs(tx, &out.Aside, p.Note.Path)
	out.Path, out.Count, out.Line = p.Note.Path, len(swaps), made[0].Line
	out.addEdits(made)
	if err := out.updated(tx, was); err != nil {
		return err
	}
	out.Status = map[string]string{"updated": "applied", "unchanged": "unchanged"}[out.Action]
	if tx.DryRun() {
		out.Status = "preview"
	}
	return nil
}

// replace makes the replacements one after the other, and returns the new text. If some cannot be
// made, it returns one fault with the problem of each.
//
// Each replacement is applied to the result of those before it. After a failed one the others are
// still tried, on the text without it, so that one answer names everything that does not match; the
// text is not written then. It works on a copy of text, because the draft's text must not be
// changed.
func (in editIn) replace(text []byte, swaps []replacement, p index.Object) ([]byte, []appliedEdit, error) {
	if n := searchable(swaps, len(text)); n < len(swaps) {
		return nil, nil, fault.New(fault.BatchTooLarge,
			"%d replacements in a note of %d bytes are too many for one call; make at most %d at once",
			len(swaps), len(text), n).With("argument", "edits")
	}
	inside, text := scopeOf(text, p.Section), bytes.Clone(text)
	var made []appliedEdit
	var problems []*fault.Fault
	for i, s := range swaps {
		next, one, err := inside.replace(text, s)
		if err != nil {
			problems = append(problems, fault.Of(in.editFault(err, p, i)))
			continue
		}
		one.Index, text = i, next
		made = append(made, one)
	}
	return text, made, fault.Join(Family.Several, problems).Err()
}

// searchable returns the number of replacements, from the first on, that together search at most
// maxSearched bytes. Each searches the text that the previous ones left, which may have grown by
// all their new texts. size is the size of the note in bytes.
func searchable(swaps []replacement, size int) int {
	left := maxSearched
	for i, s := range swaps {
		if left -= size; left < 0 {
			return i
		}
		size += len(s.NewStr)
	}
	return len(swaps)
}

// addEdits adds the replacements to the answer as far as they fit. Long texts are shortened.
//
// What does not fit is counted in a warning. The replacements are made whether they are shown or
// not.
func (e *editOut) addEdits(made []appliedEdit) {
	for i, c := range made {
		c.OldStr, c.NewStr = tool.Beginning(c.OldStr, maxSwapShown), tool.Beginning(c.NewStr, maxSwapShown)
		if !e.Fits(c) {
			e.WarnCut("replacements", i, len(made))
			return
		}
		e.Edits = append(e.Edits, c)
	}
}

// A scope is the part of a text in which replacements are made: the whole text, or the subtree of a
// section. It is measured from both ends, so that it stays valid when the text in it changes.
type scope struct {
	from, end int // bytes before the scope, and after it
	skipped   int // lines before the scope
}

// scopeOf returns the scope of a section, or of the whole text if s is nil.
func scopeOf(text []byte, s *index.Section) scope {
	if s == nil {
		return scope{}
	}
	h, ok := markdown.Parse(text).Section(s.Slug)
	if !ok {
		return scope{}
	}
	return scope{h.Subtree.Start, len(text) - h.Subtree.End, h.Line - 1}
}

// replace makes one replacement and returns the new text. It may overwrite text.
//
// The line in the result is counted from the beginning of the note, not of the scope.
func (s scope) replace(text []byte, w replacement) ([]byte, appliedEdit, error) {
	o, err := markdown.FindOnce(text[s.from:len(text)-s.end], w.OldStr, w.NewStr)
	if err != nil {
		return nil, appliedEdit{}, err
	}
	from := s.from + o.At.Start
	text = slices.Replace(text, from, s.from+o.At.End, []byte(o.With)...)
	return text, appliedEdit{
		Line: o.Line + s.skipped, OldStr: w.OldStr, NewStr: w.NewStr,
		Context: contextOf(text, from, from+len(o.With)),
	}, nil
}

// contextOf returns the lines that contain the bytes from one offset to another, or the part around
// those bytes if the lines are long.
func contextOf(text []byte, from, to int) string {
	first := bytes.LastIndexByte(text[:from], '\n') + 1
	last := len(text)
	if end := bytes.IndexByte(text[to:], '\n'); end >= 0 {
		last = to + end
	}
	return strings.TrimSuffix(mutation.Window(text[first:last], from-first, maxSwapShown), "\r")
}

// editFault returns the fault of replacement number i, which cannot be made. It does not repeat the
// text.
func (in editIn) editFault(err error, p index.Object, i int) error {
	var m *markdown.NotOnceError
	if !errors.As(err, &m) {
		return withFileAndLine(err, p.Note.Path)
	}
	f := fault.New(fault.InvalidValue, "old_str occurs %[2]d times in %[1]s, not once", p.ID(), m.N).
		With("argument", "old_str").With("matches", m.N).At(p.Note.Path, 0)
	if len(in.Edits) > 0 {
		f = f.With("index", i)
	}
	if m.N == 0 {
		return f.Try("raven_read", fault.Args{"path": p.ID()})
	}
	return f.Fix("include more of the text around it in old_str")
}
