package raven

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A readIn is the input of raven_read.
//
// Lines selects lines of the whole file, also if Path names a section.
type readIn struct {
	tool.Vault
	// people/freya.md, with or without .md, or people/freya#tasks
	Path string `json:"path" complete:"path" alias:"reference,id"`
	// only these lines: 10-25, 7, 10-
	Lines string `json:"lines,omitempty"`

	// include the references in it
	References bool `json:"references,omitempty" rare:"true"`
	// include the references to it
	Backlinks bool `json:"backlinks,omitempty" rare:"true"`
	tool.AsOf
}

// A readOut is the output of raven_read. LineStart and LineEnd are 0 if Content is the whole file.
// Lines are counted from 1, and LineEnd is included.
type readOut struct {
	tool.Aside `json:"-"`
	Path       string `json:"path"`
	Content    string `json:"content"`
	// of the whole file
	LineCount int `json:"line_count"`
	LineStart int `json:"line_start,omitempty"`
	LineEnd   int `json:"line_end,omitempty"`
	*LineReferences
	*LineBacklinks
}

// LineReferences is the part of the answer with the references in the note or section.
type LineReferences struct {
	// the first 200
	References      []lineReference `json:"references"`
	ReferencesTotal int             `json:"references_total"`
}

// A lineReference is a reference with its line.
type lineReference struct {
	reference
	Line int `json:"line"`
}

// LineBacklinks is the part of the answer with the references to the note or section.
type LineBacklinks struct {
	// the first 200
	Backlinks      []backlink `json:"backlinks"`
	BacklinksTotal int        `json:"backlinks_total"`
}

// read returns the tool raven_read, which returns the text of a note, section or configuration
// file.
func (f tools) read() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_read", Family: Family, Title: "Read a note",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/files/{path}"},
		Commands:  []tool.Command{{Words: "read", Args: []string{"path"}}},
		Resources: []tool.Resource{noteResource},
	}, readNote)
}

// readNote runs raven_read on one state of the vault.
//
// A section without Lines is the lines of its subtree. Line breaks are kept as the file has them,
// so a client can write the content back. A last line without a line break counts as a line.
func readNote(ctx context.Context, v view, in readIn) (readOut, error) {
	file, o, err := readable(v, in.Path)
	if err != nil {
		return readOut{}, err
	}
	text, err := v.Vault.Text(ctx, file.Body)
	if err != nil {
		return readOut{}, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	out := readOut{Path: file.Path, LineCount: len(lines)}
	out.addReferences(ctx, v.renderer(), o, in)
	span, err := spanOf(in.Lines, o.Section, len(lines))
	if err != nil {
		return out, err
	}
	if span == nil {
		out.show(string(text))
		return out, nil
	}
	out.LineStart, out.LineEnd = span[0], span[1]
	out.show(strings.Join(lines[span[0]-1:span[1]], ""))
	return out, nil
}

// show sets the content to a text, or to its beginning with a mark and a warning if the text does
// not fit into an answer. Encoded text can be much longer: a control character takes seven bytes.
func (r *readOut) show(text string) {
	n := r.Fitting(text)
	r.Content = text[:n]
	if n < len(text) {
		r.Content += tool.CutMark
		r.WarnCut("bytes of the text", n, len(text))
	}
	r.Fits(r.Content)
}

// readable returns the file that a path names, and the object in it. The object is zero for a
// configuration file.
func readable(v view, path string) (*index.File, index.Object, error) {
	switch path {
	case vault.SchemaFile, vault.ConfigRaven, vault.ConfigRookery:
		if f, ok := v.Index.File(path); ok {
			return f, index.Object{}, nil
		}
		return nil, index.Object{}, fault.New(fault.NotFound, "the vault has no %s", path).At(path, 0)
	}
	o, err := locate(v.Index, path, v.Clock)
	if err != nil {
		return nil, index.Object{}, noPath(err, path, "path")
	}
	return o.Note.File, o, nil
}

// addReferences adds the requested references from and to an object. There are none for a file
// without an object.
func (r *readOut) addReferences(ctx context.Context, d renderer, o index.Object, in readIn) {
	links, total := []index.Link{}, 0
	if in.References {
		if o.Note != nil {
			links, total = firstLinks(ctx, d.outlinks(o))
		}
		r.LineReferences = &LineReferences{[]lineReference{}, total}
		for _, l := range links {
			shown := lineReference{d.reference(l.Ref, l.To), l.Ref.Line()}
			r.References = append(r.References, shown)
		}
	}
	if in.Backlinks {
		links, total = nil, 0
		if o.Note != nil {
			links, total = firstLinks(ctx, d.backlinks(o.ID()))
		}
		r.LineBacklinks = &LineBacklinks{[]backlink{}, total}
		for _, l := range links {
			r.Backlinks = append(r.Backlinks, backlinkOf(l))
		}
	}
}

// lineRange matches the argument `lines`, such as 10-25, 7 or 10-.
var lineRange = regexp.MustCompile(`^\s*(\d{1,9})\s*(-\s*(\d{1,9})?)?\s*$`)

// spanOf returns the first and the last requested line of a text with n lines: those of the
// argument or, without one, those of the section. It returns nil for the whole text.
//
// An end beyond the text is the last line; a beginning beyond it is INVALID_VALUE.
func spanOf(lines string, s *index.Section, n int) ([]int, error) {
	if lines == "" && s == nil {
		return nil, nil
	}
	if lines == "" {
		end := cmp.Or(s.SubtreeEnd(), n)
		return []int{s.Line(), max(end, s.Line())}, nil
	}
	m := lineRange.FindStringSubmatch(lines)
	if m == nil {
		return nil, badLines("lines must be such as 10-25, 7 or 10-")
	}
	first, _ := strconv.Atoi(m[1])
	last := first
	switch {
	case m[3] != "":
		last, _ = strconv.Atoi(m[3])
	case m[2] != "":
		last = n
	}
	if first < 1 || first > n || last < first {
		return nil, badLines("the file has lines 1 to " + strconv.Itoa(n))
	}
	return []int{first, min(last, n)}, nil
}

// badLines returns the fault of an invalid argument `lines`.
func badLines(message string) error {
	return fault.New(fault.InvalidValue, "%s", message).With("argument", "lines")
}
