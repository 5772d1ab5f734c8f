package raven

import (
	"fmt"
	"strings"

	"rookery/internal/index"
	"rookery/internal/markdown"
	"rookery/internal/repo"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

// maxSuggestions is for how many references an answer says how to make what they lead to: as many as
// it has warnings.
const maxSuggestions = 100

// maxEcho is how many characters of a reference a warning repeats. What is longer is no id.
const maxEcho = 600

// warnRefs warns of each reference that the draft itself wrote into these notes and that leads to
// nothing, or to several things (raven.md §6.7): once for each way in which it is written. A
// reference that was in the note before, elsewhere perhaps, is not the draft's.
func warnRefs(tx *repo.Tx, a *tool.Aside, paths ...string) {
	refs := tx.Index().Resolver()
	seen := map[string]bool{}
	for _, path := range paths {
		for _, m := range written(tx, path) {
			if seen[m.target] {
				continue
			}
			seen[m.target] = true
			if to := refs.Resolve(m.target); to.ID == "" {
				a.Warn("REF_NOT_FOUND", m.problem(tx.Index(), to), m.facts(tx, to, len(seen)))
			}
		}
	}
}

// A mention is a reference in a note.
type mention struct {
	target string // as it is written
	wants  string // the type that its field or trait leads to; empty: any
}

// written are the mentions in a note that were not in it before.
func written(tx *repo.Tx, path string) []mention {
	before, wants := map[string]int{}, map[string]string{}
	for _, m := range mentions(tx.Before(), path) {
		before[m.target]++
	}
	all := mentions(tx.Index(), path)
	for _, m := range all {
		if wants[m.target] == "" {
			wants[m.target] = m.wants
		}
	}
	var fresh []mention
	for _, m := range all {
		if before[m.target]--; before[m.target] < 0 {
			fresh = append(fresh, mention{m.target, wants[m.target]})
		}
	}
	return fresh
}

// mentions are the references in a note, in order, then those in its traits that stand there without
// brackets. There are none in a note that does not exist.
func mentions(idx *index.Index, path string) []mention {
	n, ok := idx.Note(path)
	if !ok {
		return nil
	}
	bare, wants := inTraits(idx, n)
	var all []mention
	for i := range n.Refs {
		r := &n.Refs[i]
		m := mention{target: r.Target, wants: wants[r.Target]}
		if t, ok := idx.Schema().Type(n.Object(r.Scope).Type()); ok && r.InField {
			if f, ok := t.Field(r.Field); ok {
				m.wants = f.Target
			}
		}
		all = append(all, m)
	}
	return append(all, bare...)
}

// inTraits are the references without brackets in the traits of a note whose values are references,
// and the types that those with brackets are to lead to.
func inTraits(idx *index.Index, n *index.Note) (bare []mention, wants map[string]string) {
	wants = map[string]string{}
	for t := range n.Traits() {
		def, ok := idx.Schema().Trait(t.Type)
		if !ok || !def.IsRef() || t.Field {
			continue
		}
		for _, v := range listed(t.Value()) {
			switch v := v.(type) {
			case markdown.Ref:
				wants[string(v)] = def.Target
			case string:
				if ref, ok := vault.ParseRef(v); ok {
					bare = append(bare, mention{string(ref), def.Target})
				}
			}
		}
	}
	return bare, wants
}

// listed are the elements of a list, or a single value as one.
func listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// parts are the id of a note that a reference names and, behind the `#`, what it names in the note.
func (m mention) parts() (id, fragment string, inside bool) {
	id, fragment, inside = strings.Cut(m.target, "#")
	return strings.TrimSuffix(strings.TrimSpace(id), ".md"), strings.TrimSpace(fragment), inside
}

// problem says why a reference leads to nothing.
func (m mention) problem(idx *index.Index, to index.Resolution) string {
	ref := firstRunes(m.target, maxEcho)
	id, fragment, inside := m.parts()
	above := idx.Resolve(id)
	switch {
	case len(to.Matches) > 0:
		return fmt.Sprintf("the reference %q is ambiguous; matches has what it may mean", ref)
	case inside && id == "":
		return fmt.Sprintf("the reference %q does not say in which note; write NOTE%s", ref, ref)
	case inside && above.ID != "":
		return fmt.Sprintf("%s has no section %q", above.ID, firstRunes(fragment, maxEcho))
	}
	return fmt.Sprintf("nothing is called %q yet", ref)
}

// facts are what a warning says beside its message. What is missing is suggested where a command can
// make it: a section of a note that is there can only be written.
func (m mention) facts(tx *repo.Tx, to index.Resolution, nth int) map[string]any {
	facts := map[string]any{"ref": firstRunes(m.target, maxEcho)}
	id, _, inside := m.parts()
	if len(to.Matches) > 0 {
		facts["matches"] = to.Matches
		return facts
	}
	if inside && (id == "" || tx.Index().Resolve(id).ID != "") {
		return facts
	}
	t := m.suggested(tx.Index().Schema())
	facts["suggested_type"] = t.Name
	if nth <= maxSuggestions {
		if in, ok := m.create(tx, t); ok {
			facts["create_command"], facts["create_call"] = in.command(), in.call().String()
		}
	}
	return facts
}

// suggested is the type that what is missing may have: the one that its field or trait leads to, else
// the one whose folder it stands in, else page.
func (m mention) suggested(s *vault.Schema) *vault.Type {
	if t, ok := s.Type(m.wants); ok && t.Name != vault.Section {
		return t
	}
	id, _, _ := m.parts()
	best, _ := s.Type(vault.Page)
	for _, t := range s.Types {
		fits := t.DefaultPath != "" && !t.Builtin && strings.HasPrefix(id, t.DefaultPath)
		if fits && len(t.DefaultPath) > len(best.DefaultPath) {
			best = t
		}
	}
	return best
}

// create returns a call that makes what a reference leads to; false if there is none. It has been
// tried out: it succeeds, and the reference then leads to what it made.
func (m mention) create(tx *repo.Tx, t *vault.Type) (in newIn, ok bool) {
	if tx.Index().SchemaErr() != nil {
		return in, false
	}
	id, fragment, inside := m.parts()
	in = newIn{Type: t.Name, Title: id[strings.LastIndexByte(id, '/')+1:], Fields: tool.Fields{}}
	if inside {
		in.Content = "## " + fragment
	}
	given := map[string]any{t.NameField(): in.Title}
	for _, f := range t.Missing(given) {
		name, _ := f.Details["field"].(string)
		in.Fields[name] = tool.Text("")
	}
	paths := []string{id, vault.CleanPath(id), ""}
	if t.DefaultPath+vault.Slug(in.Title) == id {
		paths = []string{""}
	}
	for _, in.Path = range paths {
		if in.makes(tx, t, m.target) {
			return in, true
		}
	}
	return in, false
}

// makes reports whether the call would succeed, and a reference then lead to what it made.
func (in newIn) makes(tx *repo.Tx, t *vault.Type, ref string) bool {
	n, err := in.plan(tx, t)
	if err != nil {
		return false
	}
	idx := tx.Index()
	if _, collides := idx.Folded(string(n.path)); collides {
		return false
	}
	if in.Content == "" && (t.Template != "" || t.DefaultTemplate != "") {
		file, err := in.templateFile(tx, t)
		if _, ok := idx.File(string(file)); err != nil || !ok {
			return false
		}
	}
	text, err := markdown.Compose(n.frontmatter(t), apart(in.Content))
	if err != nil {
		return false
	}
	after := idx.With(index.Commit{
		Seq: idx.Version() + 1, Time: tx.Now(),
		Changes: []index.Change{{Path: string(n.path), Text: text}},
	})
	to := after.Resolve(ref)
	return to.Object.Note != nil && to.Object.Note.Path == string(n.path)
}
