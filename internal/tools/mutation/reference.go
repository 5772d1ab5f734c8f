package mutation

import (
	"fmt"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxSuggestions is the maximum number of references for which an answer suggests a call that
// creates the target. An answer has at most that many warnings.
const maxSuggestions = 100

// maxEcho is the maximum number of characters of a reference that a warning repeats. A longer
// reference cannot be an id.
const maxEcho = 600

// WarnRefs adds a REF_NOT_FOUND warning for each reference in the notes at paths that has no
// target, or several candidates (raven.md §6.7). It considers only references that this call, or
// the current part of a batch, added: a note may already have had the same reference in another
// place. It warns once for each spelling. create may be nil.
func WarnRefs(tx *repo.Tx, a *tool.Aside, create Create, paths ...string) {
	refs := tx.Index().Resolver()
	seen := map[string]bool{}
	for _, path := range paths {
		for _, m := range addedMentions(tx, path) {
			if seen[m.Target] {
				continue
			}
			seen[m.Target] = true
			if to := refs.From(m.in, m.Target); to.ID == "" && !m.file || to.FragmentMissing {
				a.Warn("REF_NOT_FOUND", m.problem(tx.Index(), to), m.facts(tx, to, create, len(seen) <= maxSuggestions))
			}
		}
	}
}

// A Create returns the command line and the call that create an object of type t as the target of a
// mention. It returns false if no call can create it.
type Create func(tx *repo.Tx, m Mention, t *vault.Type) (command string, call fault.Call, ok bool)

// A Mention is one reference in a note.
type Mention struct {
	Target string // the text between the brackets
	wants  string // the type that its field or trait requires; empty: any
	in     *index.Note
	file   bool // it refers to a file that is not a note
}

// addedMentions returns the mentions that a draft added to a note. If the draft contains a target more
// often than the state before, the last of the mentions count as added.
func addedMentions(tx *repo.Tx, path string) []Mention {
	before := map[string]int{}
	if n, ok := tx.Start().Note(path); ok {
		for m := range mentions(tx.Start(), n) {
			before[m.Target]++
		}
	}
	n, ok := tx.Index().Note(path)
	if !ok {
		return nil
	}
	var fresh []Mention
	for m := range mentions(tx.Index(), n) {
		if before[m.Target]--; before[m.Target] < 0 {
			fresh = append(fresh, m)
		}
	}
	if len(fresh) > 0 { // the types are not computed for a change that adds no reference
		wants := requiredTypes(tx.Index(), n)
		for i, m := range fresh {
			fresh[i].wants = wants[m.Target]
		}
	}
	return fresh
}

// mentions yields the references in a note in their order, followed by those in its traits that have
// no brackets. It does not set the required types.
func mentions(idx *index.Index, n *index.Note) iter.Seq[Mention] {
	return func(yield func(Mention) bool) {
		for i := range n.Refs {
			if r := &n.Refs[i]; !yield(Mention{Target: r.Target, in: n, file: r.IsFile()}) {
				return
			}
		}
		for v := range inTraits(idx, n) {
			if !v.brackets && !yield(Mention{Target: v.target, in: n}) {
				return
			}
		}
	}
}

// requiredTypes returns the type that each target in a note must have, by the first field or trait
// that requires one.
func requiredTypes(idx *index.Index, n *index.Note) map[string]string {
	ofTraits, all := map[string]string{}, map[string]string{}
	for v := range inTraits(idx, n) {
		if v.brackets {
			ofTraits[v.target] = v.wants
		}
	}
	first := func(target, wants string) {
		if all[target] == "" {
			all[target] = wants
		}
	}
	for i := range n.Refs {
		r := &n.Refs[i]
		wants := ofTraits[r.Target]
		if t, ok := idx.Schema().Type(n.Object(r.Scope()).Type()); ok && r.InField {
			if f, ok := t.Field(r.Field()); ok {
				wants = f.Target
			}
		}
		first(r.Target, wants)
	}
	for v := range inTraits(idx, n) {
		if !v.brackets {
			first(v.target, v.wants)
		}
	}
	return all
}

// A traitRef is a reference that is the value of a trait.
type traitRef struct {
	target   string
	wants    string // the type that the trait requires; empty: any
	brackets bool   // it is a wikilink, which is also among the references of the note
}

// inTraits yields the references in the traits of a note.
func inTraits(idx *index.Index, n *index.Note) iter.Seq[traitRef] {
	return func(yield func(traitRef) bool) {
		for t := range n.Traits() {
			def, ok := idx.Schema().Trait(t.Type)
			if !ok || !def.IsRef() || t.Field {
				continue
			}
			for _, v := range AsList(t.Value()) {
				r, ok := traitRef{wants: def.Target}, false
				switch v := v.(type) {
				case markdown.Ref:
					r.target, r.brackets, ok = string(v), true, true
				case string:
					var ref markdown.Ref
					ref, ok = vault.ParseRef(v)
					r.target = string(ref)
				}
				if ok && !yield(r) {
					return
				}
			}
		}
	}
}

// AsList returns the elements of a list, or a slice with v if v is not a list.
func AsList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// Parts returns the id of the note and the fragment after the `#` in a reference, without spaces
// around them and without `.md`. inside reports whether there is a `#`.
func (m Mention) Parts() (id, fragment string, inside bool) {
	id, fragment, inside = strings.Cut(m.Target, "#")
	return strings.TrimSuffix(strings.TrimSpace(id), ".md"), strings.TrimSpace(fragment), inside
}

// problem returns the message of the warning: why the reference does not have exactly one target.
func (m Mention) problem(idx *index.Index, to index.Resolution) string {
	ref := FirstRunes(m.Target, maxEcho)
	id, fragment, inside := m.Parts()
	above := idx.From(m.in, id)
	switch {
	case len(to.Matches) > 0:
		return fmt.Sprintf("the reference %q is ambiguous; matches lists the candidates", ref)
	case inside && id == "":
		return fmt.Sprintf("%s has no section %q", m.in.ID, FirstRunes(fragment, maxEcho))
	case inside && above.ID != "":
		return fmt.Sprintf("%s has no section %q", above.ID, FirstRunes(fragment, maxEcho))
	}
	return fmt.Sprintf("nothing has the name %q yet", ref)
}

// facts returns the details of the warning. They suggest a type and, if suggest is true, a call
// that creates the target. There is no suggestion for an ambiguous reference, or for a missing
// section of an existing note, because no call creates only a section.
func (m Mention) facts(
	tx *repo.Tx, to index.Resolution, create Create, suggest bool,
) map[string]any {
	facts := map[string]any{"ref": FirstRunes(m.Target, maxEcho)}
	id, _, inside := m.Parts()
	if len(to.Matches) > 0 {
		facts["matches"] = to.Matches
		return facts
	}
	if inside && (id == "" || tx.Index().From(m.in, id).ID != "") {
		return facts
	}
	t := m.suggested(tx.Index().Schema())
	facts["suggested_type"] = t.Name
	if suggest && create != nil {
		if command, call, ok := create(tx, m, t); ok {
			facts["create_command"], facts["create_call"] = command, call.String()
		}
	}
	return facts
}

// suggested returns a type for the missing target: the type that the field or trait requires, else
// the type whose folder contains the id, else page.
func (m Mention) suggested(s *vault.Schema) *vault.Type {
	if t, ok := s.Type(m.wants); ok && t.Name != vault.Section {
		return t
	}
	id, _, _ := m.Parts()
	best, _ := s.Type(vault.Page)
	for _, t := range s.Types {
		fits := t.DefaultPath != "" && !t.Builtin && strings.HasPrefix(id, t.DefaultPath)
		if fits && len(t.DefaultPath) > len(best.DefaultPath) {
			best = t
		}
	}
	return best
}

// maxReferrers is the maximum number of references that a HAS_BACKLINKS warning lists, which is the
// size of a page of raven_backlinks.
const maxReferrers = 50

// A referrer is one reference in the list of a HAS_BACKLINKS warning.
type referrer struct {
	SourceID string `json:"source_id"`
	FilePath string `json:"file_path"`
	Line     int    `json:"line"`
}

// LinksFromOutside returns the references to an object, or to a part of it, that are not in the
// object itself, in the order of their locations.
func LinksFromOutside(idx *index.Index, o index.Object) []index.Link {
	var links []index.Link
	for l := range idx.Resolver().Backlinks(o.ID(), index.Location{}) {
		if !Inside(l.Source, o) {
			links = append(links, l)
		}
	}
	return links
}

// Inside reports whether o is the same object as whole, or a part of it.
func Inside(o, whole index.Object) bool {
	if o == whole {
		return true
	}
	for above := range o.Parents() {
		if above == whole {
			return true
		}
	}
	return false
}

// WarnLinks adds a HAS_BACKLINKS warning if there are references to the deleted object (raven.md
// §6.7).
func WarnLinks(a *tool.Aside, id string, links []index.Link) {
	if len(links) == 0 {
		return
	}
	listed := []referrer{}
	for _, l := range links[:min(len(links), maxReferrers)] {
		listed = append(listed, referrer{l.Source.ID(), l.Source.Note.Path, l.Ref.Line()})
	}
	message := fmt.Sprintf("%s %s to %s, which is deleted", Count(len(links), "reference"),
		Plural(len(links), "leads", "lead"), id)
	a.Warn("HAS_BACKLINKS", message, map[string]any{"count": len(links), "backlinks": listed})
}

// Unresolved returns sentences about the references whose target was deleted, one for each effect:
// the number of references that now have no target, that now refer to a note without the section,
// and that now refer to another object with the same name. References to a day keep their target,
// because a day has an id even without a note. after is the state after the deletion, id the id of
// the deleted object, and links the references to it before.
func Unresolved(after *index.Index, id string, links []index.Link) []string {
	lost, short, others, refs := 0, 0, 0, after.Resolver()
	note, _, _ := strings.Cut(id, "#")
	for _, l := range links {
		switch to := refs.From(l.Source.Note, l.Ref.Target); {
		case to.ID == "":
			lost++
		case to.FragmentMissing && to.ID == note:
			short++
		case to.ID != l.To.ID:
			others++
		}
	}
	var all []string
	tell := func(n int, one, many, where string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s to %s %s %s", Count(n, "reference"), id, Plural(n, one, many), where))
		}
	}
	tell(lost, "has", "have", "no target")
	tell(short, "leads", "lead", "to "+note+", which has no such section")
	tell(others, "leads", "lead", "to another object with the same name")
	return all
}

// Count returns a number and a noun in the singular or the plural, such as "2 notes".
func Count(n int, thing string) string { return fmt.Sprintf("%d %s", n, Plural(n, thing, thing+"s")) }

// Plural returns one if n is 1, and many otherwise.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Cut deletes an object from the text of its note. It returns the rest of the text, nil if the
// object is the note itself, and the text for the trash: the note as it is, or for a section the
// result of TrashText. It returns VALIDATION_FAILED if another section of the note would get another id,
// because references to that section would break.
func Cut(o index.Object, text []byte) (rest, kept []byte, err error) {
	if o.Section == nil {
		return nil, text, nil
	}
	rest, gone, err := markdown.DeleteSection(text, o.Section.Slug)
	if err != nil {
		return nil, nil, err
	}
	kept, err = TrashText(o, gone)
	return rest, kept, err
}

// TrashText returns the text of a deleted section in the form that the trash stores: a note whose
// frontmatter has the fields origin, the id of the section, and line, its line number.
// raven_restore reads both.
func TrashText(o index.Object, gone []byte) ([]byte, error) {
	return markdown.Compose([]markdown.Field{
		{Key: "origin", Value: o.ID()}, {Key: "line", Value: float64(o.Section.Line())},
	}, SeparateBody(string(gone)))
}

// TrashName returns the path of an object in the trash, without the folder of the trash. A note
// keeps its path. A section gets a note named after it, in a folder named after its note.
func TrashName(o index.Object) string {
	if o.Section == nil {
		return o.Note.Path
	}
	// The slug of a section may not be a valid file name.
	for _, name := range []string{o.Section.Slug, vault.Slug(o.Section.Slug), vault.Section} {
		if path, err := vault.NotePath(o.Note.ID + "/" + name); err == nil {
			return string(path)
		}
	}
	return o.Note.Path
}

// SeparateBody returns a body that begins with a blank line, so that it can follow frontmatter. It adds
// the line if there is none, with the line ending of the body's first line.
func SeparateBody(body string) string {
	first, _, _ := strings.Cut(body, "\n")
	switch {
	case strings.TrimSpace(first) == "":
		return body
	case strings.HasSuffix(first, "\r"):
		return "\r\n" + body
	}
	return "\n" + body
}
