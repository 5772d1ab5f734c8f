package mutation

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxSuggestions is for how many references an answer says how to make what they lead to: as many as
// it has warnings.
const maxSuggestions = 100

// maxEcho is how many characters of a reference a warning repeats. What is longer is no id.
const maxEcho = 600

// WarnRefs warns of each reference that the call, or its part, itself wrote into these notes and that leads to
// nothing, or to several things (raven.md §6.7): once for each way in which it is written. A
// reference that was in the note before, elsewhere perhaps, is not the draft's.
func WarnRefs(tx *repo.Tx, a *tool.Aside, create Create, paths ...string) {
	refs := tx.Index().Resolver()
	seen := map[string]bool{}
	for _, path := range paths {
		for _, m := range written(tx, path) {
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

// A Create returns the command and the call that create an object of a type to which a mention then
// leads. It returns false if there is no such call.
type Create func(tx *repo.Tx, m Mention, t *vault.Type) (command string, call fault.Call, ok bool)

// A Mention is a reference in a note.
type Mention struct {
	Target string // as it is written
	wants  string // the type that its field or trait leads to; empty: any
	in     *index.Note
	file   bool // it names a file that is no note
}

// written are the mentions in a note that were not in it before.
func written(tx *repo.Tx, path string) []Mention {
	before, wants := map[string]int{}, map[string]string{}
	for _, m := range mentions(tx.Start(), path) {
		before[m.Target]++
	}
	all := mentions(tx.Index(), path)
	for _, m := range all {
		if wants[m.Target] == "" {
			wants[m.Target] = m.wants
		}
	}
	var fresh []Mention
	for _, m := range all {
		if before[m.Target]--; before[m.Target] < 0 {
			m.wants = wants[m.Target]
			fresh = append(fresh, m)
		}
	}
	return fresh
}

// mentions are the references in a note, in order, then those in its traits that stand there without
// brackets. There are none in a note that does not exist.
func mentions(idx *index.Index, path string) []Mention {
	n, ok := idx.Note(path)
	if !ok {
		return nil
	}
	bare, wants := inTraits(idx, n)
	var all []Mention
	for i := range n.Refs {
		r := &n.Refs[i]
		m := Mention{Target: r.Target, wants: wants[r.Target], in: n, file: r.IsFile()}
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
func inTraits(idx *index.Index, n *index.Note) (bare []Mention, wants map[string]string) {
	wants = map[string]string{}
	for t := range n.Traits() {
		def, ok := idx.Schema().Trait(t.Type)
		if !ok || !def.IsRef() || t.Field {
			continue
		}
		for _, v := range Listed(t.Value()) {
			switch v := v.(type) {
			case markdown.Ref:
				wants[string(v)] = def.Target
			case string:
				if ref, ok := vault.ParseRef(v); ok {
					bare = append(bare, Mention{Target: string(ref), wants: def.Target, in: n})
				}
			}
		}
	}
	return bare, wants
}

// Listed are the elements of a list, or a single value as one.
func Listed(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// Parts are the id of a note that a reference names and, behind the `#`, what it names in the note.
func (m Mention) Parts() (id, fragment string, inside bool) {
	id, fragment, inside = strings.Cut(m.Target, "#")
	return strings.TrimSuffix(strings.TrimSpace(id), ".md"), strings.TrimSpace(fragment), inside
}

// problem says why a reference leads to nothing.
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

// facts are what a warning says beside its message. What is missing is suggested where a command can
// make it: a section of a note that is there can only be written.
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

// suggested is the type that what is missing may have: the one that its field or trait leads to, else
// the one whose folder it stands in, else page.
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
