package raven

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

// mutated is the answer of the tools that change one object: what they did, or, of a dry run, what
// they would do (CONTRACT §1 and §3, raven.md §6.7 and §6.11).
type mutated struct {
	tool.Aside    `json:"-"`
	Action        string         `json:"action,omitempty" jsonschema:"created, updated, deleted or unchanged"`
	ID            string         `json:"id,omitempty"`
	Type          string         `json:"type,omitempty"`
	File          string         `json:"file,omitempty"`
	UpdatedFields []string       `json:"updated_fields,omitzero"`
	NewValues     map[string]any `json:"new_values,omitzero"`
	MissingFields []string       `json:"missing_fields,omitempty" jsonschema:"fields to unset that were not there"`
	TrashPath     string         `json:"trash_path,omitempty"`
	Line          int            `json:"line,omitempty"`
	Content       string         `json:"content,omitempty"`
	Object        *object        `json:"object,omitempty"`

	DryRun      bool         `json:"dry_run,omitempty"`
	WouldCreate *wouldCreate `json:"would_create,omitempty"`
	WouldUpdate *wouldUpdate `json:"would_update,omitempty"`
	WouldDelete *wouldDelete `json:"would_delete,omitempty"`
	WouldModify []fileChange `json:"would_modify_files,omitempty"`
	SideEffects []string     `json:"side_effects,omitzero"`
}

// shorten leaves the flat keys.
func (m *mutated) shorten() { m.Object = nil }

type wouldCreate struct {
	ID     string         `json:"id"`
	Type   string         `json:"type"`
	File   string         `json:"file"`
	Fields map[string]any `json:"fields"`
}

type wouldUpdate struct {
	ID      string            `json:"id"`
	Changes map[string]oldNew `json:"changes"`
}

type oldNew struct {
	Old any `json:"old"`
	New any `json:"new"`
}

type wouldDelete struct {
	ID string `json:"id"`
}

// A fileChange is one file that a dry run would change: its beginning if it is new, else the lines
// that differ.
type fileChange struct {
	Path       string  `json:"path"`
	Action     string  `json:"action" jsonschema:"create, modify or delete"`
	Preview    string  `json:"content_preview,omitempty"`
	Line       int     `json:"line,omitempty"`
	OldContent *string `json:"old_content,omitempty" jsonschema:"left out where lines only come"`
	NewContent *string `json:"new_content,omitempty" jsonschema:"left out where lines only go"`
}

// maxPreview is how many characters of a new file a plan shows.
const maxPreview = 2000

// fileChanges are the files that a draft changes.
func fileChanges(ctx context.Context, tx *repo.Tx) ([]fileChange, error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	var all []fileChange
	for _, s := range staged {
		if !strings.HasPrefix(string(s.Path), vault.Trash) {
			all = append(all, changeOf(s))
		}
	}
	return all, nil
}

func changeOf(s repo.Staged) fileChange {
	c := fileChange{Path: string(s.Path)}
	switch {
	case s.New == nil:
		c.Action = "delete"
	case s.Old == nil:
		c.Action, c.Preview = "create", firstRunes(string(s.New), maxPreview)
	default:
		c.Action = "modify"
		c.OldContent, c.NewContent, c.Line = differing(s.Old, s.New)
	}
	return c
}

// size is how many bytes of texts a change shows.
func (c fileChange) size() int {
	n := len(c.Preview)
	for _, text := range []*string{c.OldContent, c.NewContent} {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}

func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// differing are the lines from the first to the last that differ, in both texts, and the number of
// the first. Where lines only come or only go, the other text has none of them, which is nil.
func differing(old, now []byte) (*string, *string, int) {
	a, b := bytes.SplitAfter(old, []byte("\n")), bytes.SplitAfter(now, []byte("\n"))
	first := 0
	for first < min(len(a), len(b)) && bytes.Equal(a[first], b[first]) {
		first++
	}
	last := 0
	for last < min(len(a), len(b))-first && bytes.Equal(a[len(a)-1-last], b[len(b)-1-last]) {
		last++
	}
	block := func(lines [][]byte) *string {
		lines = lines[first : len(lines)-last]
		if len(lines) == 0 {
			return nil
		}
		text := strings.TrimSuffix(string(bytes.Join(lines, nil)), "\n")
		text = strings.TrimSuffix(text, "\r")
		return &text
	}
	return block(a), block(b), first + 1
}

// modified notes in the meta which files a mutation changed.
func (m *mutated) modified(ctx context.Context, tx *repo.Tx) error {
	return noteFiles(ctx, tx, &m.Aside)
}

// noteFiles notes in the meta which files a draft changes.
func noteFiles(ctx context.Context, tx *repo.Tx, a *tool.Aside) error {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return err
	}
	files := []string{}
	for _, s := range staged {
		files = append(files, string(s.Path))
	}
	if len(files) > 0 {
		a.Note("file_modified", files[0])
	}
	a.Note("files_modified", files)
	a.Note("reindex_required", false)
	return nil
}

// planned turns the answer of a call into its plan, if the call is a dry run.
func (m *mutated) planned(ctx context.Context, tx *repo.Tx, before *object) error {
	if !tx.DryRun() {
		return m.modified(ctx, tx)
	}
	files, err := fileChanges(ctx, tx)
	if err != nil {
		return err
	}
	plan := mutated{Aside: m.Aside, DryRun: true, WouldModify: files, SideEffects: m.effects()}
	switch m.Action {
	case "created":
		plan.WouldCreate = &wouldCreate{m.ID, m.Type, m.File, m.Object.Fields}
	case "deleted":
		plan.WouldDelete = &wouldDelete{m.ID}
	default:
		plan.WouldUpdate = &wouldUpdate{m.ID, m.changes(before)}
	}
	*m = plan
	return nil
}

// effects are what a call does beside what it was asked for.
func (m *mutated) effects() []string {
	effects := append([]string{}, m.SideEffects...)
	if m.TrashPath != "" {
		effects = append(effects, m.ID+" goes to "+m.TrashPath)
	}
	return effects
}

// changes are the old and new values of the fields that a call names. The old value of one that only
// a default filled is null.
func (m *mutated) changes(before *object) map[string]oldNew {
	all := map[string]oldNew{}
	for name, now := range m.NewValues {
		var old any
		if before != nil && !slices.Contains(before.FromDefault, name) {
			old = before.Fields[name]
		}
		all[name] = oldNew{old, now}
	}
	return all
}
