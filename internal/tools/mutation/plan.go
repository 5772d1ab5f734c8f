package mutation

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A FileChange is one file that a dry run would change: the beginning of the text of a new file, or
// the lines of an existing file that differ.
//
// Line is the number, in both texts, of the first line that differs; 0 for a new or deleted file.
// OldContent and NewContent are the differing lines, without the last line break. Nil: there are
// none.
type FileChange struct {
	Path string `json:"path"`
	// create, modify or delete
	Action  string `json:"action"`
	Preview string `json:"content_preview,omitempty"`
	Line    int    `json:"line,omitempty"`
	// absent if lines are only added
	OldContent *string `json:"old_content,omitempty"`
	// absent if lines are only removed
	NewContent *string `json:"new_content,omitempty"`
	// only the parts of the lines around the change are shown
	Cut bool `json:"content_cut,omitempty"`
}

// maxPreview is the maximum number of characters of a new file in a plan.
const maxPreview = 2000

// maxDiffering is the maximum number of bytes of differing lines in a plan, for each of the two
// texts.
const maxDiffering = 16 << 10

// FileChanges returns the files that a draft changes, in the order in which they were staged,
// without the files of the trash. It returns nil if there are none.
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

// ChangeOf returns the FileChange of one staged file.
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

// FirstRunes returns the first n characters of a text, or the whole text if it has fewer.
func FirstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// differing sets the fields for the lines from the first to the last that differ. A text that has
// no such lines, because lines were only added or only removed, stays nil.
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

// commonPrefix returns the length in bytes of the common prefix of two texts.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// commonLines returns the length in bytes of the whole lines that both texts end with.
func commonLines(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for n < most && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	begins := func(text []byte) bool { return n == len(text) || text[len(text)-n-1] == '\n' }
	if begins(a) && begins(b) {
		return n
	}
	// The common suffix begins within a line, which does not count.
	line := bytes.IndexByte(a[len(a)-n:], '\n')
	if line < 0 {
		return 0
	}
	return n - line - 1
}

// NoteFiles records the paths of the files that a draft changes in the meta of an answer:
// files_modified, and file_modified for the first of them. reindex_required is always false,
// because the index follows each commit.
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

// windowHead is the number of bytes of a window before its offset.
const windowHead = 150

// Window returns a text, or a part of at most `most` bytes of it if it is longer. The part begins
// windowHead bytes before the offset at, if the text after that is long enough, and has a mark on
// each side where text is omitted.
func Window(text []byte, at, most int) string {
	first, last := WindowAt(text, at, most)
	return Ellipsis(string(text[first:last]), first > 0, last < len(text))
}

// WindowAt returns the offsets of the first byte of a window and of the byte after it. It does not
// cut characters, so that a window can be up to six bytes shorter than most.
func WindowAt(text []byte, at, most int) (first, last int) {
	last = len(text)
	if len(text) > most {
		first = max(0, min(at-windowHead, len(text)-most))
		last = first + most
	}
	for first > 0 && !utf8.RuneStart(text[first]) {
		first++
	}
	for last < len(text) && !utf8.RuneStart(text[last]) {
		last--
	}
	return first, last
}

// Ellipsis returns a text with a mark on each side where text is omitted.
func Ellipsis(text string, before, behind bool) string {
	if before {
		text = tool.CutMark + text
	}
	if behind {
		text += tool.CutMark
	}
	return text
}
