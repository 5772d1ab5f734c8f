package mutation

import (
	"bytes"
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A FileChange is one file that a dry run would change: its beginning if it is new, else the lines
// that differ.
type FileChange struct {
	Path       string  `json:"path"`
	Action     string  `json:"action" jsonschema:"create, modify or delete"`
	Preview    string  `json:"content_preview,omitempty"`
	Line       int     `json:"line,omitempty"`
	OldContent *string `json:"old_content,omitempty" jsonschema:"absent if lines are only added"`
	NewContent *string `json:"new_content,omitempty" jsonschema:"absent if lines are only removed"`
	Cut        bool    `json:"content_cut,omitempty" jsonschema:"only the parts of the lines around the change are shown"`
}

// maxPreview is how many characters of a new file a plan shows.
const maxPreview = 2000

// maxDiffering is how many bytes of lines that differ it shows.
const maxDiffering = 16 << 10

// FileChanges are the files that a draft changes.
func FileChanges(ctx context.Context, tx *repo.Tx) ([]FileChange, error) {
	staged, err := tx.Staged(ctx)
	if err != nil {
		return nil, err
	}
	var all []FileChange
	for _, s := range staged {
		if !strings.HasPrefix(string(s.Path), vault.Trash) {
			all = append(all, ChangeOf(s))
		}
	}
	return all, nil
}

// ChangeOf returns one file of a draft as a dry run shows it.
func ChangeOf(s repo.Staged) FileChange {
	c := FileChange{Path: string(s.Path)}
	switch {
	case s.New == nil:
		c.Action = "delete"
	case s.Old == nil:
		c.Action, c.Preview = "create", FirstRunes(string(s.New), maxPreview)
	default:
		c.Action = "modify"
		c.differing(s.Old, s.New)
	}
	return c
}

// FirstRunes returns the first n characters of a text.
func FirstRunes(s string, n int) string {
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
func (c *FileChange) differing(old, now []byte) {
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
		shown := Window(text, min(same-first, len(text)), maxDiffering)
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

// NoteFiles notes in the meta which files a draft changes.
func NoteFiles(ctx context.Context, tx *repo.Tx, a *tool.Aside) error {
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
