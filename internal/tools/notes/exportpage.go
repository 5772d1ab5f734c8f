package notes

import (
	"context"
	"fmt"
	"html"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// An exporter builds one page of an export. A page ends when the answer is full, or when it has
// read mostRead bytes of notes.
//
// The page is built in the output itself: Fits and Fitting of its Aside know how much room the
// answer has.
type exporter struct {
	state.View
	out    *exportOut
	format string
	notes  []*index.Note // all notes of the export, sorted by path
	paths  []string      // of all notes of the export
	names  []string      // names of the files, in the order of notes
	read   int           // bytes of the notes on this page
}

// mostRead is the maximum number of bytes of notes from which the files of a page are made, unless
// one note is larger. To make a file takes many times the memory of its note.
const mostRead = 2 << 20

// fileNames returns the names of the exported files, in the order of notes: the names of the notes
// without their folders. If a name is taken, a number is added: same.md, same-2.md. Two names that
// a file system can treat as equal count as the same. The names depend on all notes of the export,
// so they are the same on every page.
func fileNames(notes []*index.Note, format string) []string {
	taken := map[string]bool{}
	names := make([]string, len(notes))
	for i, n := range notes {
		base := strings.TrimSuffix(path.Base(n.Path), ".md")
		name := base + "." + format
		for k := 2; taken[vault.Fold(name)]; k++ {
			name = fmt.Sprintf("%s-%d.%s", base, k, format)
		}
		names[i], taken[vault.Fold(name)] = name, true
	}
	return names
}

// page adds notes from a position, as many as fit, and the token of the next page if there is one.
// at comes from a page token; a position beyond the notes is INVALID_PARAMETER.
//
// The position moves to the next note only after a whole note was added. So the token of the next
// page names the note that is not complete yet.
func (e *exporter) page(ctx context.Context, at exportPosition) error {
	at.version = e.Index.Version()
	if at.note >= len(e.notes) {
		return state.OtherList(Family)
	}
	for ; at.note < len(e.notes); at.note, at.part, at.skip = at.note+1, 0, 0 {
		full, err := e.note(ctx, &at)
		if err != nil {
			return err
		}
		if full {
			break
		}
	}
	more := at.note < len(e.notes)
	e.out.Note("count", len(e.out.Exported))
	e.out.Note("total", len(e.notes))
	e.out.Note("has_more", more)
	if more {
		e.out.Note("next_page_token", tool.Token(at.String()))
	}
	return nil
}

// note adds the file of a note, or the rest of it that earlier pages do not contain. full reports
// that the page ended before the end of the file; at is then the position for the next page.
//
// A file that does not fit beside others begins on the next page. One that does not fit on a page
// of its own is divided: each page has one part, and a client concatenates the parts.
func (e *exporter) note(ctx context.Context, at *exportPosition) (full bool, err error) {
	n := e.notes[at.note]
	text, err := e.Vault.Text(ctx, n.Body)
	if err != nil {
		return false, err
	}
	// The first note of a page is always included, so that every page makes progress.
	if e.read += len(text); e.read > mostRead && len(e.out.Files) > 0 {
		return true, nil
	}
	content, err := e.content(n, text)
	if err != nil {
		return false, err
	}
	// The position is from the caller: it can be of another note.
	if at.skip > len(content) {
		return false, state.OtherList(Family)
	}
	rest := content[at.skip:]
	file := exportFile{Path: e.names[at.note], Content: rest, Part: at.part}
	row := exportedNote{n.Path, file.Path}
	switch fits := e.out.Fits([]any{row, file}); {
	case fits:
	case len(e.out.Files) > 0:
		return true, nil
	default:
		// A file that is not divided has no part number; the first part of a divided one has number
		// 1.
		file.Part = max(file.Part, 1)
		file.Content = rest[:e.out.Fitting(rest)]
		full = true
	}
	// The note is listed once, on the page with its first part.
	if at.skip == 0 {
		e.out.Exported = append(e.out.Exported, row)
	}
	e.out.Files = append(e.out.Files, file)
	if full {
		at.part, at.skip = file.Part+1, at.skip+len(file.Content)
	}
	return full, nil
}

// content returns the file of a note, with the paths of all exported notes as source_notes. If the
// frontmatter cannot be edited, it returns the note unchanged and adds a warning with the line of
// the problem.
//
// A note that already has the field source_notes gets the new value. The quarantined note is
// exported as well, because an export must not omit notes silently.
func (e *exporter) content(n *index.Note, text []byte) (string, error) {
	if e.format == formatHTML {
		return e.html(n, text)
	}
	sources := make([]any, len(e.paths))
	for i, path := range e.paths {
		sources[i] = path
	}
	out, err := markdown.SetFields(text, []markdown.Field{{Key: "source_notes", Value: sources}})
	if err != nil {
		line, _ := fault.Of(err).Details["line"].(int)
		e.out.Warn("NOTE_QUARANTINED", fmt.Sprintf("%s is exported without source_notes: its frontmatter "+
			"cannot be edited because of its line %d", n.Path, line), map[string]any{"path": n.Path, "line": line})
		return string(text), nil
	}
	return string(out), nil
}

// html returns a note as an HTML page: the body as markdown.HTML renders it, the field title or the
// path as the title, and the paths of all exported notes in meta elements. The title and the paths
// are escaped.
func (e *exporter) html(n *index.Note, text []byte) (string, error) {
	d := parse(n, text)
	_, body := markdown.ReadHead(text)
	shown, err := markdown.HTML(text[body:])
	if err != nil {
		return "", err
	}
	title := d.Path
	if v, _ := d.head.Get("title"); v != nil && trim(markdown.TextOf(v)) != "" {
		title = trim(markdown.TextOf(v))
	}
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<title>" +
		html.EscapeString(title) + "</title>\n")
	for _, path := range e.paths {
		b.WriteString("<meta name=\"source_notes\" content=\"" + html.EscapeString(path) + "\">\n")
	}
	b.WriteString("</head>\n<body>\n")
	b.Write(shown)
	b.WriteString("</body>\n</html>\n")
	return b.String(), nil
}
