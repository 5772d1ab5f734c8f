package tool

import (
	"cmp"
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Files maps files on the caller's side to a list of entries in a call, for example {path, text}.
// The command line reads a folder or an archive, splits large files and makes several calls; the
// tool receives calls of bounded size.
//
// If a file is sent as several entries, each has its number in `part`, from 1. If the command line
// split the file, `offset` is the number of elements or rows in the entries before.
type Files struct {
	Arg      string // the list: an argument for Input, a key of the answer's data for Output
	MaxFiles int    // in one call
	MaxBytes int    // of all entries in one call, as JSON

	// Body is the key of a file's text in its entry; empty: `text`. Binary is the key of the base64
	// bytes of a file that is not UTF-8; empty: such a file is refused.
	Body, Binary string

	// Any says that files of every type are read, not only those that a vault can contain.
	Any bool

	// Single says that the path may also name a single file, for reading and for writing.
	Single bool

	// Split maps a file name extension in lower case (`.json`) to the way to split a file that is
	// too large for one call. For Input only.
	Split map[string]Split

	// Pick selects the files to read by the value of another argument; nil: all files. A single
	// file that the user names is read whatever its name is.
	Pick *Pick

	// Fill, for Output, is the LIST.KEY in the data that contains the path of each file. The
	// command line writes each file under the next free name (a.md, a-2.md), never over an existing
	// file, and replaces the path by the name it used. Empty: the data counts the files, and each
	// file replaces an existing one of the same name.
	Fill string

	// Before, for Input, is a flag that calls another tool first. A DUPLICATE_ID from that tool is
	// ignored.
	Before *Before
}

// A Before is a flag of a command, together with the tool that it calls first.
type Before struct {
	Flag, Doc string
	Tool      string
	Args      map[string]string // argument of that tool → argument of this one
}

// A Pick selects files by name. Names maps each value of the argument Arg to patterns of
// path.Match, which are compared with the file's name in lower case. A pattern with a slash is
// compared with the whole path, and also matches hidden files.
type Pick struct {
	Arg   string
	Names map[string][]string
}

// A Split is a way to split a file into parts that are files of the same type.
type Split int

// The ways to split a file.
const (
	// Elements splits JSON: a list, or an object with exactly one non-empty list. Each part repeats
	// the JSON around the list.
	Elements Split = iota + 1
	Rows           // splits CSV; each part repeats the first row
	Lines          // splits a text between lines
)

// BodyKey returns the key of the text in an entry.
func (f *Files) BodyKey() string { return cmp.Or(f.Body, "text") }

// Filled returns the two parts of Fill; both are "" if Fill is empty.
func (f *Files) Filled() (list, key string) {
	list, key, _ = strings.Cut(f.Fill, ".")
	return list, key
}

// checkFiles returns an error if the tool's Input or Output is inconsistent with its arguments or
// with its output type.
func (t *Tool) checkFiles(out reflect.Type) error {
	if in := t.Input; in != nil {
		if _, ok := t.Arg(in.Arg); !ok || in.Fill != "" {
			return fmt.Errorf("the input files are not an argument")
		}
	}
	o := t.Output
	if o == nil {
		return nil
	}
	list, key := o.Filled()
	switch {
	case !hasMember(out, o.Arg), list != "" && !hasMember(out, list):
		return fmt.Errorf("the answer has no list of files %q, or nothing to fill", o.Arg)
	case o.Fill != "" && (list == "" || key == ""):
		return fmt.Errorf("%q is not of the form LIST.KEY", o.Fill)
	case o.Before != nil, o.Split != nil:
		return fmt.Errorf("only files that come in are split, or wait for another call")
	}
	return nil
}

// fieldDocText contains the comments of the fields of the tools' inputs and outputs. A line has the
// name of a field and its comment, separated by a tab. make docs writes it.
//
//go:embed fielddocs.txt
var fieldDocText string

// fieldDocs returns the comments by the names of the fields: the package below internal, the type,
// and the field, such as tools/raven.addIn.Text. It parses them once.
var fieldDocs = sync.OnceValue(func() map[string]string {
	docs := make(map[string]string, strings.Count(fieldDocText, "\n"))
	for line := range strings.Lines(fieldDocText) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		docs[name] = text
	}
	return docs
})

// ownPackages is the beginning of the paths of the packages in fieldDocs.
const ownPackages = "github.com/rookeryhq/rookery/internal/"

// docOf returns the description of a field of t: its comment, as fieldDocs contains it, or its tag
// `jsonschema`, which the tools of tests use. It is empty for a field without either.
func docOf(t reflect.Type, field reflect.StructField) string {
	if text := field.Tag.Get("jsonschema"); text != "" {
		return text
	}
	typeName, _, _ := strings.Cut(t.Name(), "[") // without type arguments
	return fieldDocs()[strings.TrimPrefix(t.PkgPath(), ownPackages)+"."+typeName+"."+field.Name]
}
