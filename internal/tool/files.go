package tool

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
)

// Files ties files on the caller's side to a list of entries in a call: {path, text}, for example. The command
// line walks a folder or an archive, splits and pages; the tool sees calls of a bounded size.
//
// An entry of a file that comes in several entries has its number in `part`, from 1. One that the command line
// cut has in `offset` how many elements or rows the entries before it have.
type Files struct {
	Arg      string // the list: an argument for Input, a key of the answer's data for Output
	MaxFiles int    // in one call
	MaxBytes int    // of entries in one call, as JSON

	// Body is the key of the text of a file in its entry; empty: `text`. Binary is the key of the bytes in base64
	// of a file that is not UTF-8; empty: such a file is refused.
	Body, Binary string

	// Any says that all files come in, and not only those that a vault has.
	Any bool

	// Single says that the path may be that of a lone file too, also of one to write.
	Single bool

	// Split says, by the ending of the name in lower case (`.json`), how a file that is too large for a call
	// becomes several of the same kind, for Input.
	Split map[string]Split

	// Pick says which files come in, by the value of another argument; nil: all. A lone file that is named comes in
	// whatever it is called.
	Pick *Pick

	// Fill, for Output, is where the data has the path of each file as the answer has it, as LIST.KEY: the
	// command line puts the name there under which it wrote the file. It never writes over a file then, but
	// takes the next free name: a.md, a-2.md. Empty: the data counts the files, and each takes the place of one
	// that is there.
	Fill string

	// Before, for Input: a flag that calls another tool first, whose DUPLICATE_ID is no error.
	Before *Before
}

// Before is a flag of a command, and the tool that it calls beforehand.
type Before struct {
	Flag, Doc string
	Tool      string
	Args      map[string]string // argument of that tool → argument of this one
}

// A Pick is the names of the files that come in: by the value of an argument, patterns of path.Match for a name in
// lower case. One with a slash is for a whole path, and takes hidden files too.
type Pick struct {
	Arg   string
	Names map[string][]string
}

// A Split is a way to cut a file into pieces, each of which is a file of the same kind.
type Split int

// The ways to cut a file.
const (
	// Elements cuts JSON: a list, or an object with one list that is not empty. Each piece has what is around it.
	Elements Split = iota + 1
	Rows           // cuts CSV: each piece has the first row
	Lines          // cuts a text between its lines
)

// BodyKey is the key of the text in an entry.
func (f *Files) BodyKey() string { return cmp.Or(f.Body, "text") }

// Filled takes Fill apart; both are empty without one.
func (f *Files) Filled() (list, key string) {
	list, key, _ = strings.Cut(f.Fill, ".")
	return list, key
}

// checkFiles finds what is wrong with the files of a tool whose output has this type.
func (t *Tool) checkFiles(out reflect.Type) error {
	if in := t.Input; in != nil {
		if _, ok := t.Arg(in.Arg); !ok || in.Fill != "" {
			return fmt.Errorf("the files that come in are no argument")
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
