package markdown

import (
	"bytes"
	"regexp"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"
)

// A Definition is a link reference definition, `[label]: address`, or a footnote, `[^label]: text`.
type Definition struct {
	Label string // without brackets, normalized so that equal labels have one spelling
	Text  []byte // as written, without a line break at its end
}

// footnote matches the beginning of a footnote definition.
var footnote = regexp.MustCompile(`^ {0,3}\[(\^[^\[\]\s]+)\]:`)

// labelled matches possible uses of a definition, also in code: an unused definition does no harm.
var labelled = regexp.MustCompile(`\[([^\[\]]+)\]`)

// definitionsIn returns the top-level definitions of a text after its frontmatter, except those
// that begin inside except.
//
// body is the offset of the text after the frontmatter; except may be nil. Of several definitions
// with a label, the first counts, as in CommonMark. A footnote includes the indented blocks that
// follow it.
func definitionsIn(text []byte, body int, except *Span) []Definition {
	if !bytes.Contains(text[body:], []byte("]:")) {
		return nil
	}
	defer acquire(len(text))()
	r := definitionReader{text: text, body: body, except: except}
	root, _, _ := parseBlocks(text[body:])
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.LinkReferenceDefinition:
			r.add(string(n.Label), r.lines(n))
		case *ast.Paragraph:
			r.footnotes(n)
		case *ast.CodeBlock:
			r.continueFootnote(r.lines(n))
			continue
		}
		r.open = r.open && n.Kind() != ast.KindHeading
	}
	return r.all
}

// A definitionReader collects definitions. goldmark parses link reference definitions, but
// footnotes are paragraphs for it, and their continuations are code blocks; see definitionsIn.
type definitionReader struct {
	text   []byte
	body   int
	except *Span
	all    []Definition
	at     Span // of the last definition
	open   bool // the last definition is a footnote that an indented block may continue
}

// lines returns the extent in the note of the whole lines of a block, without the last line break;
// the zero Span if it has none.
func (r *definitionReader) lines(n ast.Node) Span {
	all := n.Lines()
	if all.Len() == 0 {
		return Span{}
	}
	start := lineStart(r.text, r.body+all.At(0).Start)
	return Span{start, lineEnd(r.text, max(start, r.body+all.At(all.Len()-1).Stop-1))}
}

// add adds a definition, unless its label is defined already or it begins inside r.except.
func (r *definitionReader) add(label string, at Span) {
	label = util.ToLinkReference([]byte(label))
	r.open = false
	if at.End <= at.Start || r.except != nil && at.Start >= r.except.Start && at.Start < r.except.End {
		return
	}
	for _, d := range r.all {
		if d.Label == label {
			return
		}
	}
	r.at, r.open = at, label[0] == '^'
	r.all = append(r.all, Definition{label, bytes.Clone(r.text[at.Start:at.End])})
}

// footnotes adds the footnotes of a paragraph. Each of them begins a line and ends before the next
// one. A paragraph that does not begin with a footnote has none.
func (r *definitionReader) footnotes(p *ast.Paragraph) {
	all := r.lines(p)
	r.open = false
	if !footnote.Match(r.text[all.Start:all.End]) {
		return
	}
	for at := all.Start; at < all.End; {
		m := footnote.FindSubmatch(r.text[at:all.End])
		end := lineNext(r.text, at)
		for end < all.End && !footnote.Match(r.text[end:all.End]) {
			end = lineNext(r.text, end)
		}
		r.add(string(m[1]), Span{at, lineEnd(r.text, max(at, min(end, all.End)-1))})
		at = end
	}
}

// continueFootnote appends an indented block to the footnote before it. It does nothing if no footnote is
// directly before it.
func (r *definitionReader) continueFootnote(at Span) {
	if r.open {
		r.at.End = at.End
		r.all[len(r.all)-1].Text = bytes.Clone(r.text[r.at.Start:r.at.End])
	}
}

// usedIn returns those definitions whose labels a text uses, in the order of all. It reports too
// many rather than too few: a label in code counts as a use.
func usedIn(text []byte, all []Definition) (used []Definition) {
	if len(all) == 0 {
		return nil
	}
	labels := map[string]bool{}
	for _, m := range labelled.FindAllSubmatchIndex(text, -1) {
		if m[1] >= len(text) || text[m[1]] != '(' {
			labels[util.ToLinkReference(text[m[2]:m[3]])] = true
		}
	}
	for _, d := range all {
		if labels[d.Label] {
			used = append(used, d)
		}
	}
	return used
}

// withDefinitions returns a text followed by a blank line and definitions, with the line break eol
// and none at the end. Without definitions it returns the text unchanged.
func withDefinitions(text []byte, all []Definition, eol string) []byte {
	if len(all) == 0 {
		return text
	}
	out := append(bytes.Clone(bytes.TrimRight(text, " \t\r\n")), eol+eol...)
	for i, d := range all {
		if i > 0 {
			out = append(out, eol...)
		}
		out = append(out, withBreaks(string(d.Text), eol)...)
	}
	return out
}
