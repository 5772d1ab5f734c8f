package raven

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"rookery/internal/job"
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
	Erased        *erasedParts   `json:"erased,omitempty"`
	Job           *job.Brief     `json:"job,omitempty" jsonschema:"that erases; alone, as long as nothing is erased yet"`

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
	Cut        bool    `json:"content_cut,omitempty" jsonschema:"of the lines, only a part around the change is shown"`
}

// maxPreview is how many characters of a new file a plan shows.
const maxPreview = 2000

// maxDiffering is how many bytes of lines that differ it shows.
const maxDiffering = 16 << 10

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
		c.differing(s.Old, s.New)
	}
	return c
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

// differing shows in a change the lines from the first to the last that differ, in both texts, and the
// number of the first. Where lines only come or only go, the other text has none of them, which is nil.
func (c *fileChange) differing(old, now []byte) {
	same := commonPrefix(old, now)
	first := bytes.LastIndexByte(old[:same], '\n') + 1
	last := commonLines(old[first:], now[first:])
	block := func(text []byte) *string {
		text = text[first : len(text)-last]
		if len(text) == 0 {
			return nil
		}
		text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
		c.Cut = c.Cut || len(text) > maxDiffering
		shown := part(text, min(same-first, len(text)), maxDiffering)
		return &shown
	}
	c.OldContent, c.NewContent = block(old), block(now)
	c.Line = bytes.Count(old[:first], []byte("\n")) + 1
}

// commonPrefix is how many bytes two texts begin with alike.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// commonLines is how many bytes the whole lines have that two texts end with alike.
func commonLines(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	begins := func(text []byte) bool { return n == len(text) || text[len(text)-n-1] == '\n' }
	if begins(a) && begins(b) {
		return n
	}
	line := bytes.IndexByte(a[len(a)-n:], '\n')
	if line < 0 {
		return 0
	}
	return n - line - 1
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
