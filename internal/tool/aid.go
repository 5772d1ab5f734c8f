package tool

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Resource is a document with a URI that a client can read. A tool returns its content; the
// Resource is part of that tool's Spec.
type Resource struct {
	// URI is a template (RFC 6570, levels 1 and 2). Its variables are text arguments of the tool:
	// {name} matches one segment, {+name} matches the rest of the URI, slashes included.
	URI string

	Name, Title, Doc string
	MIME             string

	// Key is the key of the document's text in the answer's data; empty: the document is the data
	// as JSON.
	Key string

	// Each says that there is one resource for each value of the template's only variable and that
	// they are listed. If it is false, the template itself is listed.
	Each bool
}

// A piece is a part of a template: a literal text or a variable.
type piece struct {
	text, variable string
	rest           bool // the variable matches slashes too
}

// pieces splits the template into its pieces.
func (r Resource) pieces() []piece {
	var all []piece
	for left := r.URI; left != ""; {
		text, from, found := strings.Cut(left, "{")
		all = append(all, piece{text: text})
		if !found {
			break
		}
		name, behind, _ := strings.Cut(from, "}")
		name, rest := strings.CutPrefix(name, "+")
		all = append(all, piece{variable: name, rest: rest})
		left = behind
	}
	return all
}

// Vars returns the names of the template's variables, in order.
func (r Resource) Vars() []string {
	var names []string
	for _, p := range r.pieces() {
		if p.variable != "" {
			names = append(names, p.variable)
		}
	}
	return names
}

// Match returns the values of the variables if the URI matches the template, or false. The values
// are unescaped, non-empty and valid UTF-8.
func (r Resource) Match(uri string) (map[string]string, bool) {
	values := map[string]string{}
	for _, p := range r.pieces() {
		if p.variable == "" {
			var ok bool
			if uri, ok = strings.CutPrefix(uri, p.text); !ok {
				return nil, false
			}
			continue
		}
		raw := uri
		if !p.rest {
			raw, _, _ = strings.Cut(uri, "/")
		}
		uri = uri[len(raw):]
		value, err := url.PathUnescape(raw)
		slash := !p.rest && strings.Contains(value, "/")
		if err != nil || value == "" || slash || !utf8.ValidString(value) {
			return nil, false
		}
		values[p.variable] = value
	}
	return values, uri == ""
}

// Expand returns the URI for these values, escaped. It is the inverse of Match.
func (r Resource) Expand(values map[string]string) string {
	var b strings.Builder
	for _, p := range r.pieces() {
		value := url.PathEscape(values[p.variable])
		if p.rest {
			value = strings.ReplaceAll(value, "%2F", "/")
		}
		b.WriteString(p.text + value)
	}
	return b.String()
}

// MaxValues is the maximum number of completion suggestions in one answer.
const MaxValues = 100

// CompletionIn is embedded in the input of every tool that returns completion suggestions. Such a
// tool also takes `kind`, one of its Spec's Completes; `vault`, if the suggestions come from a
// vault; and `of`, if they depend on another argument's value.
type CompletionIn struct {
	// the text typed so far
	Prefix string `json:"prefix,omitempty" max:"1024"`
	Page
}

// Values is the output of every tool that returns completion suggestions: the distinct values that
// begin with the prefix, in order. A value that ends in a slash or an equals sign is itself a
// prefix of other values. The meta reports whether there are more, but not how many, because
// counting costs as much as listing.
type Values struct {
	Aside `json:"-"`
	Items []string `json:"items"`
	// labels of some of the items
	About map[string]string `json:"about,omitempty"`
}

// More records in the meta that more values follow this page. last is the key of the last value.
func (v *Values) More(last string) {
	v.Note("has_more", true)
	v.Note("next_page_token", Token(last))
}

// A CompletionRequest is an argument that a user is typing.
type CompletionRequest struct {
	Kind      string // of the argument's Complete
	Of        string // value of the argument named by Arg.Of; empty: unknown
	Prefix    string
	Vault     string // empty: the implied vault
	Limit     int    // 0: MaxValues
	PageToken string
}

// A CompletionPage is one page of suggestions for a CompletionRequest.
type CompletionPage struct {
	Items []string
	About map[string]string // short descriptions of some items
	Next  string            // token of the next page; empty: this is the last
}

// Complete calls the tool that completes values of the kind u.Kind and returns its suggestions. It
// returns the zero CompletionPage if no tool does. The call goes through authorization and rate
// limits like any other, and the result contains only values that the caller may see.
func Complete(
	ctx context.Context, inv Invoker, tools []*Tool, u CompletionRequest,
) (CompletionPage, error) {
	i := slices.IndexFunc(tools, func(t *Tool) bool { return slices.Contains(t.Completes, u.Kind) })
	if i < 0 {
		return CompletionPage{}, nil
	}
	answer, err := inv.Invoke(ctx, tools[i].Name, u.args(tools[i]))
	if err != nil {
		return CompletionPage{}, err
	}
	var e struct {
		Data CompletionPage
		Meta struct {
			Next string `json:"next_page_token"`
		}
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		return CompletionPage{}, fault.New(fault.Internal, "the completions are unreadable").Because(err)
	}
	return CompletionPage{e.Data.Items, e.Data.About, e.Meta.Next}, nil
}

// args returns the arguments of the call of the completing tool t.
func (u CompletionRequest) args(t *Tool) json.RawMessage {
	limit := cmp.Or(u.Limit, MaxValues)
	args := map[string]any{"kind": u.Kind, "prefix": u.Prefix}
	if a, ok := t.ArgFor(MeansLimit); ok {
		args[a.Name] = limit
	}
	if a, ok := t.ArgFor(MeansToken); ok && u.PageToken != "" {
		args[a.Name] = u.PageToken
	}
	if _, ok := t.Arg("of"); ok && u.Of != "" {
		args["of"] = u.Of
	}
	if _, ok := t.Arg("vault"); ok && u.Vault != "" {
		args["vault"] = u.Vault
	}
	return mustMarshal(args)
}

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
