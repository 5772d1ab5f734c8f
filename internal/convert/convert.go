// Package convert reads files that other programs exported as notes. It is pure: it knows no vault, and the
// time is an argument of its callers.
package convert

import (
	"path"
	"slices"
	"strings"
	"time"

	"rookery/internal/fault"
	"rookery/internal/markdown"
)

// A Kind is a kind of export that Read reads.
type Kind string

// The kinds of exports.
const (
	Markdown Kind = "markdown"       // notes with or without frontmatter
	ChatGPT  Kind = "chatgpt-export" // conversations.json of an export of ChatGPT
	Claude   Kind = "claude-export"  // conversations.json of an export of Claude, or conversations as Markdown
	Mem0     Kind = "mem0-export"    // memories as JSON
	MIF      Kind = "mif"            // files of the Memory Interchange Format: .memory.md and .memory.json
	JSONRows Kind = "json-rows"      // a list of objects: a note for each
	CSV      Kind = "generic-csv"    // a table whose first row has the names of the columns: a note for each other row
)

// A File is a file of an export.
type File struct {
	Path string // with / between its folders
	Data []byte

	// Offset is how many elements or rows of the file came before these, where it was cut into pieces.
	Offset int
}

// A Batch is files that come in together, and the vault that they are for.
type Batch struct {
	Vault  string
	DryRun bool
	Files  []File
}

// A Note is what a part of an export becomes.
type Note struct {
	Path     string // below the folder of the import, if no other note has it
	Source   string // the program that it is from
	SourceID string // what it is called there
	Date     string // 2026-03-01; empty: the export has none

	Fields []markdown.Field // beside source, source_id and date
	Body   string           // behind the frontmatter

	// Text is a note of Markdown with its own frontmatter, which stays as it is but for fields that are added.
	// It has no Fields and no Body then. Nil: there is none.
	Text []byte

	Location fault.Location // where in the export it is from
}

// A Result is what was read.
type Result struct {
	Notes   []Note
	Refused []*fault.Fault // parts of the export that cannot be notes, one each
	Unread  []string       // files that are no part of such an export
}

// picks are the names of the files that a kind of export consists of, as path.Match has them, in lower case.
var picks = map[Kind][]string{
	Markdown: {"*.md", "*.markdown"},
	ChatGPT:  {"conversations*.json"},
	Claude:   {"conversations*.json", "*.md", "*.markdown"},
	Mem0:     {"*.json"},
	MIF:      {"*.memory.md", "*.memory.json"},
	JSONRows: {"*.json"},
	CSV:      {"*.csv", "*.tsv"},
}

// lone are the names that a file may have too if it is the only one.
var lone = map[Kind][]string{
	ChatGPT: {"*.json"}, Claude: {"*.json"}, MIF: {"*.md", "*.markdown", "*.json"}, CSV: {"*.txt"},
}

// Kinds are all kinds.
func Kinds() []Kind { return []Kind{Markdown, ChatGPT, Claude, Mem0, MIF, JSONRows, CSV} }

// Picks are the names of the files that a kind of export consists of, as path.Match has them, in lower case.
func (k Kind) Picks() []string { return picks[k] }

// matches reports whether the name of a file is one of some.
func matches(names []string, file string) bool {
	base := strings.ToLower(path.Base(file))
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(name, base)
		return ok && err == nil
	})
}

// A reader reads one file of a kind.
type reader struct {
	File
	kind Kind
	out  *Result
}

// Read reads an export. Files that are no part of one are named in the result; if there is nothing else, or a
// file is not what it must be, it is INVALID_PARAMETER, with all such files.
func Read(k Kind, files []File) (*Result, error) {
	out := &Result{}
	var problems []*fault.Fault
	read := 0
	for _, f := range files {
		if !matches(picks[k], f.Path) && (len(files) > 1 || !matches(lone[k], f.Path)) {
			out.Unread = append(out.Unread, f.Path)
			continue
		}
		read++
		if err := (reader{f, k, out}).read(); err != nil {
			problems = append(problems, fault.Of(err))
		}
	}
	if f := fault.Join(fault.InvalidParameter, problems); f != nil {
		return nil, f
	}
	if read == 0 {
		return nil, fault.New(fault.InvalidParameter, "there is no file of this export format: "+
			"%s",
			strings.Join(picks[k], ", ")).With("argument", "files")
	}
	return out, nil
}

func (r reader) read() error {
	switch r.kind {
	case Markdown:
		return r.markdown("markdown")
	case Claude:
		if !strings.EqualFold(path.Ext(r.Path), ".json") {
			return r.markdown("claude")
		}
		return r.conversations()
	case ChatGPT:
		return r.conversations()
	case Mem0:
		return r.memories()
	case MIF:
		return r.mif()
	case JSONRows:
		return r.objects()
	case CSV:
		return r.table()
	}
	return fault.New(fault.InvalidParameter, "there is no such kind of export")
}

// wrong is the fault of a file, at a line or as a whole.
func (r reader) wrong(line int, format string, args ...any) *fault.Fault {
	if r.Offset > 0 {
		line = 0 // of a piece only, and not of the file
	}
	return fault.New(fault.InvalidParameter, format, args...).At(r.Path, line)
}

// refuse leaves out a part of the export, and says why.
func (r reader) refuse(f *fault.Fault) { r.out.Refused = append(r.out.Refused, f.At(r.Path, 0)) }

// add takes a note.
func (r reader) add(n Note) {
	if n.Location.File == "" {
		n.Location.File = r.Path
	}
	r.out.Notes = append(r.out.Notes, n)
}

// text is the file as a text, without a byte order mark. It is a fault if it is none.
func (r reader) text() ([]byte, error) {
	switch data := r.Data; {
	case hasPrefix(data, "\xff\xfe"), hasPrefix(data, "\xfe\xff"):
		return nil, r.wrong(0, "the file is UTF-16: save it as UTF-8")
	case !isUTF8(data):
		return nil, r.wrong(0, "the file is not UTF-8: save it as UTF-8")
	default:
		return trimBOM(data), nil
	}
}

// day is the day of a time that an export has: a date, a time as text, or seconds or milliseconds since 1970. It is
// empty if it is none of these.
func day(v any) string {
	switch v := v.(type) {
	case float64:
		const seconds = 1e11 // larger numbers are milliseconds
		if v > seconds {
			v /= 1000
		}
		if v <= 0 || v > seconds {
			return ""
		}
		return time.Unix(int64(v), 0).UTC().Format(time.DateOnly)
	case string:
		v = strings.TrimSpace(v)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
			if t, err := time.Parse(layout, v); err == nil {
				return t.UTC().Format(time.DateOnly)
			}
		}
		if len(v) >= len(time.DateOnly) {
			if t, err := time.Parse(time.DateOnly, v[:len(time.DateOnly)]); err == nil {
				return t.Format(time.DateOnly)
			}
		}
	}
	return ""
}

// firstDay is the day of the first of some values that is a time.
func firstDay(values ...any) string {
	for _, v := range values {
		if d := day(v); d != "" {
			return d
		}
	}
	return ""
}
