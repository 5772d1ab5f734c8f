// Package convert converts files that other programs exported to notes. It is pure: it accesses no
// vault and reads no clock.
//
// Read parses the files of one export by its Kind: Markdown files (markdown.go), conversations of
// chat programs (chat.go), memories (memory.go), and rows of JSON or CSV (rows.go). json.go reads
// JSON objects with their members in text order, so that a note lists them as the export does.
// archive.go unpacks a ZIP archive of an export. A part that cannot be a note is refused with a
// reason, and does not stop the others; a file that cannot be parsed is an error of the whole
// export.
//
// Every note has a source and an id in that source, by which the importer recognizes a note that it
// has imported before. An export that has no id for a part gets one here: from the part's position
// or from a digest of its content. The same file therefore always has the same ids, also if it is
// divided into several calls; see File.Offset.
//
// The formats of exports are not specified by their programs, and change. The readers accept each
// name under which a value was seen, in the order in which they are listed, and ignore the rest.
package convert

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Kind is a kind of export. Its value is an argument of the tool that imports, so it must not
// change.
type Kind string

// The kinds of exports.
const (
	Markdown Kind = "markdown"       // notes with or without frontmatter
	ChatGPT  Kind = "chatgpt-export" // conversations.json of an export of ChatGPT
	Claude   Kind = "claude-export"  // conversations.json of an export of Claude, or conversations as Markdown
	Mem0     Kind = "mem0-export"    // memories as JSON
	MIF      Kind = "mif"            // files of the Memory Interchange Format: .memory.md and .memory.json
	JSONRows Kind = "json-rows"      // a list of objects, each of which becomes a note
	CSV      Kind = "generic-csv"    // a table with column names in its first row; each other row becomes a note
)

// A File is a file of an export, or a piece of one: a caller may divide a file that is too large
// for one call. Path is the name in the export, not a path in the vault; readers use it to choose a
// format and as an id of last resort.
type File struct {
	Path string // with / between folders
	Data []byte

	// Offset is the number of elements or rows of the file before these, if the file was divided.
	Offset int
}

// A Batch is a set of files that are imported together, and their vault. DryRun means that nothing
// is stored.
type Batch struct {
	Vault  string
	DryRun bool
	Files  []File
}

// A Stored is what an import of memories stored in a draft: the ids of the created memories, the
// number of those that already existed, and what was left out. MoreLeft is the number of left out
// lines and links that Left does not list.
type Stored struct {
	IDs      []string
	Skipped  int
	Left     []Left
	MoreLeft int
}

// A Left is a line of which something was not stored, with the reason. Lines are counted from 1.
type Left struct {
	File   string
	Line   int
	Reason string
}

// A Note is a part of an export as a note. Either Text is set, or Fields and Body. The importer
// adds source, source_id, date and its own fields, and decides about the path.
type Note struct {
	Path     string // in the folder of the import, unless another note has it
	Source   string // the program of the export
	SourceID string // the id in that program
	Date     string // such as 2026-03-01; empty if the export has none

	Fields []markdown.Field // in addition to source, source_id and date
	Body   string           // the text after the frontmatter

	// Text is a Markdown note with its own frontmatter, which stays the same except for added
	// fields. Fields and Body are empty then. Otherwise Text is nil.
	Text []byte

	Location fault.Location // its place in the export
}

// A Result is the result of Read. A part of the export is in exactly one of Notes and Refused,
// unless it is empty, such as a conversation without messages.
type Result struct {
	Notes   []Note
	Refused []*fault.Fault // parts of the export that cannot be notes, one fault each
	Skipped []string       // files that are not part of such an export
}

// filePatterns contains the patterns of file names of each kind, in the syntax of path.Match and in lower
// case. Projections use them too, to choose the files of a folder.
var filePatterns = map[Kind][]string{
	Markdown: {"*.md", "*.markdown"},
	ChatGPT:  {"conversations*.json"},
	Claude:   {"conversations*.json", "*.md", "*.markdown"},
	Mem0:     {"*.json"},
	MIF:      {"*.memory.md", "*.memory.json"},
	JSONRows: {"*.json"},
	CSV:      {"*.csv", "*.tsv"},
}

// singleFilePatterns contains additional patterns for an export that is a single file. A person who names one
// file means that file, whatever its name is.
var singleFilePatterns = map[Kind][]string{
	ChatGPT: {"*.json"}, Claude: {"*.json"}, MIF: {"*.md", "*.markdown", "*.json"}, CSV: {"*.txt"},
}

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Markdown, ChatGPT, Claude, Mem0, MIF, JSONRows, CSV} }

// FilePatterns returns the patterns of the file names of a kind, in the syntax of path.Match and in lower
// case.
func (k Kind) FilePatterns() []string { return filePatterns[k] }

// matches reports whether the name of a file, without its folders and ignoring case, matches one of
// the patterns.
func matches(names []string, file string) bool {
	base := strings.ToLower(path.Base(file))
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(name, base)
		return ok && err == nil
	})
}

// A reader reads one file of a kind, and adds notes and refused parts to out.
type reader struct {
	File
	kind Kind
	out  *Result
}

// Read reads an export. Files that are not part of it, by their names, are listed in the result.
// Notes are in the order of the files and of the parts in each. It returns INVALID_PARAMETER if no
// file is left, or if files are invalid, with all of them.
func Read(k Kind, files []File) (*Result, error) {
	out := &Result{}
	var problems []*fault.Fault
	read := 0
	for _, f := range files {
		// The content of a file is not used to find out its kind.
		if !matches(filePatterns[k], f.Path) && (len(files) > 1 || !matches(singleFilePatterns[k], f.Path)) {
			out.Skipped = append(out.Skipped, f.Path)
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
			strings.Join(filePatterns[k], ", ")).With("argument", "files")
	}
	return out, nil
}

// read reads one file of an export, by the kind of the export. The error is that of the whole file;
// refused parts of it are none.
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

// fault returns the fault of a file, at a line or as a whole if line is 0. It never quotes the
// file.
func (r reader) fault(line int, format string, args ...any) *fault.Fault {
	if r.Offset > 0 {
		line = 0 // the line is one of a piece, not of the file
	}
	return fault.New(fault.InvalidParameter, format, args...).At(r.Path, line)
}

// refuse drops a part of the export, and records the reason. Reading continues with the next part.
func (r reader) refuse(f *fault.Fault) { r.out.Refused = append(r.out.Refused, f.At(r.Path, 0)) }

// add adds a note. A note without a location gets the file as its location.
func (r reader) add(n Note) {
	n.Location.File = cmp.Or(n.Location.File, r.Path)
	r.out.Notes = append(r.out.Notes, n)
}

// text returns the text of the file, without a byte order mark. It returns a fault if the file is
// not UTF-8, with the advice to save it as such: programs on Windows often write UTF-16.
func (r reader) text() ([]byte, error) {
	switch data := r.Data; {
	case hasPrefix(data, "\xff\xfe"), hasPrefix(data, "\xfe\xff"):
		return nil, r.fault(0, "the file is UTF-16: save it as UTF-8")
	case !isUTF8(data):
		return nil, r.fault(0, "the file is not UTF-8: save it as UTF-8")
	default:
		return trimBOM(data), nil
	}
}

// day returns the UTC day of a time in an export: a date, a time as text, or seconds or
// milliseconds since 1970. It returns "" for other values, for 0 and for times before 1970. A text
// that only begins with a date has that date, without regard to a time zone after it.
func day(v any) string {
	switch v := v.(type) {
	case float64:
		// The limit is the year 5138 in seconds, and 1973 in milliseconds.
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
		for _, layout := range []string{
			time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		} {
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

// firstDay returns the day of the first value that is a time, or "". The values are in the order of
// preference.
func firstDay(values ...any) string {
	for _, v := range values {
		if d := day(v); d != "" {
			return d
		}
	}
	return ""
}
