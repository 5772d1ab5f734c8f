package notes

import (
	"context"
	"fmt"
	"html"
	"path"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The formats of an export.
const (
	formatMarkdown = "md"
	formatHTML     = "html"
)

// maxExported is the maximum number of notes that an export by query includes.
const maxExported = 50

// An exportIn is the input of notes_export. Target selects one note by its path, or several by a
// query; isPath decides which.
//
// Project restricts the notes of a query; it has no meaning for a path, and is refused there.
// Format md keeps the text of a note and adds one field to its frontmatter; html renders the body.
type exportIn struct {
	tool.Vault
	// path of a note; or a query: the notes that match best
	Target string `json:"target" size:"query" alias:"path,query" complete:"path"`
	// Markdown, or a page of HTML for each note
	Format string `json:"format,omitempty" enum:"md,html" default:"md"`
	// with a query: only notes of this project
	Project string `json:"project,omitempty"`
	// meta.next_page_token of the page before
	PageToken string `json:"page_token,omitempty" means:"token" size:"token"`
	tool.AsOf
}

// An exportOut is one page of an export. The command line writes the files, and shows the written
// paths in place of Files.
//
// Provenance is a sentence with the paths of all exported notes, also of those on other pages. With
// the field source_notes in each file, it allows a reader to find the sources of a text that was
// written from the export.
type exportOut struct {
	tool.Aside `json:"-"`
	// the notes of this page
	Exported []exportedNote `json:"exported"`
	// lists all notes of the export
	Provenance string `json:"provenance"`
	// the command line writes them instead
	Files []exportFile `json:"files"`
}

// An exportedNote is one note of an export, with the name of its file. A note that is divided over
// several pages is in the list of the page on which it begins.
type exportedNote struct {
	Path string `json:"path"`
	// path of a file of this export; on the command line, the written file
	Output string `json:"output"`
}

// An exportFile is one file of an export, or one part of a file.
type exportFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// for a file in several pieces: the number of this piece, from 1; concatenate them
	Part int `json:"part,omitempty"`
}

// export returns the tool that exports one note, or the best matches of a query, as Markdown or
// HTML.
func (f tools) export() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_export", Short: "export", Family: Family, Title: "Export notes",
		Role: auth.Reader, Kind: tool.Read, List: "exported",
		Route:    tool.Route{Method: "GET", Path: "/export"},
		Commands: []tool.Command{{Words: "export", Args: []string{"target"}}},
		Output: &tool.Files{
			Arg: "files", Body: "content", Any: true, Single: true, Fill: "exported.output",
		},
	}, f.exportNotes)
}

// exportNotes returns one page of an export. All pages are of the version of the first page, which
// the page token contains, so the notes of an export belong together even if the vault changes
// meanwhile. The selection is computed again for each page, from the same version.
//
// An export by query reads the index only to select; the texts are read note by note, as far as the
// page has room.
func (f tools) exportNotes(ctx context.Context, c auth.Caller, in exportIn) (exportOut, error) {
	out := exportOut{Exported: []exportedNote{}, Files: []exportFile{}}
	from, err := readExportPosition(in.PageToken)
	if err != nil {
		return out, err
	}
	if from.version > 0 { // all pages are of one version
		in.AsOf = tool.AsOf{AsOf: eventlog.Version(from.version)}
	}
	v, found, err := f.selectNotes(ctx, c, in)
	if err != nil {
		return out, err
	}
	out.Note("version", v.Version())
	e := exporter{View: v, out: &out, format: in.Format, notes: found, names: fileNames(found, in.Format)}
	for _, n := range found {
		e.paths = append(e.paths, n.Path)
	}
	out.Provenance = "Exported from vault paths: " + strings.Join(e.paths, ", ")
	return out, e.page(ctx, from)
}

// selectNotes returns the notes that the target selects, sorted by path: the note at a path, or the
// best matches of a query. The error is NOT_FOUND if there is none, and INVALID_PARAMETER if
// project is given with a path.
func (f tools) selectNotes(
	ctx context.Context, c auth.Caller, in exportIn,
) (state.View, []*index.Note, error) {
	if !isPath(in.Target) {
		return f.matching(ctx, c, in)
	}
	if in.Project != "" {
		return state.View{}, nil,
			fault.New(fault.InvalidParameter, "project can only be used with a query, and target is a path").
				With("argument", "project").Fix("omit project, or give search words as target")
	}
	path, err := notePath("target", in.Target)
	if err != nil {
		return state.View{}, nil, err
	}
	v, err := f.ViewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return v, nil, err
	}
	n, err := noteAt(v.Index, path)
	if err != nil {
		return v, nil, fault.Of(err).With("argument", "target")
	}
	return v, []*index.Note{n}, nil
}

// isPath reports whether a target is the path of a note and not a query: it contains no space and
// has the suffix .md or a slash.
//
// So `projects/mill` is a path, although it may be meant as a query, and `mill.md` is one; `mill`
// is a query. A query that looks like a path needs a space.
func isPath(target string) bool {
	target = trim(target)
	return !strings.ContainsAny(target, " \t\n") &&
		(strings.HasSuffix(target, ".md") || strings.ContainsAny(target, `/\`))
}

// matching returns the notes that match the query best, at most maxExported, sorted by path. It
// returns NOT_FOUND if there are none. The ranking decides only which notes are exported, not their
// order.
//
// A query can match a thousand notes. The search returns the best maxExported of them; the others
// are neither exported nor reported.
func (f tools) matching(
	ctx context.Context, c auth.Caller, in exportIn,
) (state.View, []*index.Note, error) {
	narrow := filterArgs{Project: in.Project}
	holds, err := narrow.filter()
	if err != nil {
		return state.View{}, nil, err
	}
	v, s, err := f.Searchable(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return state.View{}, nil, err
	}
	view := viewOf(v, s)
	r, err := s.Search.Search(search.ParseQuery(in.Target), search.Options{
		Limit: maxExported, Canceled: ctx.Err,
		Filter: func(path string) bool { n, ok := s.Index.Note(path); return ok && holds.has(n) },
	})
	if err != nil {
		return view, nil, err
	}
	var found []*index.Note
	for _, h := range r.Items {
		if n, ok := s.Index.Note(h.Doc); ok {
			found = append(found, n)
		}
	}
	if len(found) == 0 {
		return view, nil, fault.New(fault.NotFound, "no note matches").With("argument", "target").
			Fix("use other words, or give the path of a note")
	}
	slices.SortFunc(found, comparePaths)
	return view, found, nil
}

// An exportPosition is the position at which a page begins: after some notes and, if a note is
// larger than a page, inside the next one.
//
// Part and skip are 0 unless the page begins inside a note. The token contains no selection: a
// token that is used with another target gives a page of that target, or the fault of page if its
// numbers do not fit.
type exportPosition struct {
	version uint64 // the exported version; 0: not chosen yet
	note    int    // number of notes in the earlier pages
	part    int    // number of the part; 0: the note begins here
	skip    int    // bytes of the file in the earlier pages
}

// String returns the position as the key of a page token: four numbers, separated by spaces.
func (p exportPosition) String() string {
	return fmt.Sprintf("%d %d %d %d", p.version, p.note, p.part, p.skip)
}

// readExportPosition parses a page token. An empty token is the zero exportPosition, the start. A
// token of another list is INVALID_PARAMETER. The numbers are not trusted: page and note check them
// against the notes.
func readExportPosition(token string) (exportPosition, error) {
	var p exportPosition
	key, err := tool.ReadToken("page_token", token, Family)
	if err != nil || key == "" {
		return p, err
	}
	_, err = fmt.Sscanf(key, "%d %d %d %d", &p.version, &p.note, &p.part, &p.skip)
	if err != nil || p.version == 0 || p.note < 0 || p.part < 0 || p.skip < 0 {
		return p, state.OtherList(Family)
	}
	return p, nil
}

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
	shown, err := markdown.HTML(text[markdown.BodyStart(text):])
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
