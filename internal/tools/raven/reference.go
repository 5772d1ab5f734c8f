package raven

import (
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A reference is a reference as an answer shows it (raven.md §6.2). The target is null if there is
// none, or if there are several candidates, which Matches lists.
//
// TargetRaw is the target as written, without brackets and display text. At depth 2 Leading is set,
// also if there is no target.
type reference struct {
	TargetRaw string `json:"target_raw"`
	// link: [[target]]; embed: ![[target]]; markdown: [text](target.md); field: a value without
	// brackets; file: names a file that is not a note
	Kind        string  `json:"kind"`
	TargetID    *string `json:"target_id"`
	TargetType  *string `json:"target_type"`
	TargetName  *string `json:"target_name"`
	DisplayText *string `json:"display_text"`
	// the candidates, where it is ambiguous; at most 20
	Matches []string `json:"matches,omitempty"`
	// the target has no heading or block with the name after #
	Missing bool `json:"fragment_missing,omitempty"`
	// the line of the block with the id after #^
	TargetLine int `json:"target_line,omitempty"`
	*Leading
}

// Leading contains the fields of the target, which only depth 2 shows.
type Leading struct {
	TargetFields map[string]any `json:"target_fields"`
	// fields whose value is cut; the first 20
	TargetCut []string `json:"target_cut_fields,omitempty"`
}

// maxRefs is the maximum number of references of one object or trait in an answer.
const maxRefs = 200

// references returns references in a note as the answer shows them. The result is not nil.
//
// At most maxRefs are returned. The fields of targets share a budget of 2*maxListedAll bytes;
// targets after that have only the names of their fields.
func (d renderer) references(n *index.Note, refs []*index.Ref) []reference {
	refs = firstOf(refs, maxRefs)
	all := make([]reference, 0, len(refs))
	left := 2 * maxListedAll
	for _, r := range refs {
		shown := d.reference(r, d.refs.From(n, r.Target))
		switch {
		case shown.Leading == nil:
		case left < 0 && len(shown.TargetFields) > 0:
			shown.TargetCut = firstOf(slices.Sorted(maps.Keys(shown.TargetFields)), maxCutNames)
			shown.TargetFields = map[string]any{}
		default:
			left -= tool.SizeOf(shown.TargetFields)
		}
		all = append(all, shown)
	}
	return all
}

// reference returns a reference, whose target is `to`, as the answer shows it.
func (d renderer) reference(r *index.Ref, to index.Resolution) reference {
	shown := reference{
		TargetRaw: r.Target, Kind: kindOf(r, to), Matches: firstOf(to.Matches, maxMatches),
		Missing: to.FragmentMissing, TargetLine: to.Line,
	}
	if r.Display != "" {
		shown.DisplayText = new(tool.Beginning(r.Display, maxListed))
	}
	if d.depth == deep {
		shown.Leading = &Leading{}
	}
	if to.ID == "" {
		return shown
	}
	typ, name := d.typeAndName(to)
	shown.TargetID, shown.TargetType, shown.TargetName = &to.ID, &typ, &name
	if d.depth == deep && to.Object.Note != nil {
		fields, _ := d.fields(to.Object)
		shown.TargetFields, shown.TargetCut = listedFields(fields)
	}
	return shown
}

// kindOf returns the syntax of a reference, or "file" if it refers to a file that is not a note.
//
// A reference that resolves to a note is never a file, even if its text has an extension.
func kindOf(r *index.Ref, to index.Resolution) string {
	switch {
	case to.ID == "" && len(to.Matches) == 0 && r.IsFile():
		return "file"
	case r.Bare:
		return "field"
	case r.Form == markdown.Embed:
		return "embed"
	case r.Form == markdown.MarkdownLink:
		return "markdown"
	}
	return "link"
}

// typeAndName returns the type and the name of the target of a reference. A day has both even
// without a note.
func (d renderer) typeAndName(to index.Resolution) (typ, name string) {
	if to.Object.Note == nil {
		date, _ := d.idx.Config().IsDaily(vault.Path(to.ID + ".md"))
		return vault.Daily, string(date)
	}
	return to.Object.Type(), tool.Beginning(d.idx.NameOf(to.Object), maxListed)
}

// refsInFields returns the references in the fields of an object, in order.
func refsInFields(o index.Object) []*index.Ref {
	var refs []*index.Ref
	for _, r := range o.Refs() {
		if r.InField {
			refs = append(refs, r)
		}
	}
	return refs
}

// resolvedValue returns a value in a note as the answer shows it: a reference becomes the id of its
// target, or its own text if it has none. If isRef is true, a text without brackets is a reference
// too.
//
// A reference in a field is read in the context of its note, since a fragment without a note refers
// to the same note.
func (d renderer) resolvedValue(n *index.Note, v any, isRef bool) any {
	return mapRefs(v, isRef, func(ref string) string {
		if r, ok := vault.ParseRef(ref); ok {
			ref = string(r)
		}
		if to := d.refs.From(n, ref); to.ID != "" {
			return to.ID
		}
		return ref
	})
}

// unresolvedValue returns a value of the schema as the answer shows it: a reference becomes its own
// text.
func unresolvedValue(v any) any {
	return mapRefs(v, false, func(written string) string { return written })
}

// mapRefs returns a value in which each reference is replaced by the result of text. If isRef is
// true, a string is a reference too.
func mapRefs(v any, isRef bool, text func(written string) string) any {
	switch v := v.(type) {
	case markdown.Ref:
		return text(string(v))
	case string:
		if isRef {
			return text(v)
		}
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = mapRefs(e, isRef, text)
		}
		return list
	}
	return v
}

// warnRefs warns of the new references in these notes that do not resolve, with calls of raven_new
// that create the targets; see mutation.WarnRefs.
func warnRefs(tx *repo.Tx, a *tool.Aside, paths ...string) {
	mutation.WarnRefs(tx, a, func(
		tx *repo.Tx, m mutation.Mention, t *vault.Type,
	) (command string, call fault.Call, ok bool) {
		in, ok := createCall(tx, m, t)
		if !ok {
			return "", fault.Call{}, false
		}
		return in.command(), in.call(), true
	}, paths...)
}

// createCall returns a call that creates the target of a reference, or false if there is none. The
// call was tried: it succeeds, and then the reference resolves to the new note.
//
// The type is that which the context of the reference suggests. Required fields get an empty value,
// for the caller to fill in. If the reference names a section, the new note has a heading for it.
func createCall(tx *repo.Tx, m mutation.Mention, t *vault.Type) (in newIn, ok bool) {
	if tx.Index().SchemaErr() != nil {
		return in, false
	}
	id, fragment, inside := m.Parts()
	in = newIn{Type: t.Name, Title: id[strings.LastIndexByte(id, '/')+1:], Fields: tool.Fields{}}
	if inside {
		in.Content = "## " + fragment
	}
	given := map[string]any{t.NameField(): in.Title}
	for _, f := range t.Missing(given) {
		name, _ := f.Details["field"].(string)
		in.Fields[name] = tool.Text("")
	}
	// Try the id as it is written, then its clean form, then the default path of the type.
	paths := []string{id, vault.CleanPath(id), ""}
	if t.DefaultPath+vault.FileName(in.Title) == id {
		paths = []string{""}
	}
	for _, in.Path = range paths {
		if in.wouldResolve(tx, t, m.Target) {
			return in, true
		}
	}
	return in, false
}

// wouldResolve reports whether the call would succeed, and the reference would then resolve to the
// new note.
//
// It builds the note in a copy of the index and resolves the reference there, which costs time in
// proportion to the changed notes and nothing in the log.
func (in newIn) wouldResolve(tx *repo.Tx, t *vault.Type, ref string) bool {
	n, err := in.plan(tx, t)
	if err != nil {
		return false
	}
	idx := tx.Index()
	if _, collides := idx.Folded(string(n.path)); collides {
		return false
	}
	// The call would fail if the template does not exist.
	if in.Content == "" && (t.Template != "" || t.DefaultTemplate != "") {
		file, err := in.templateFile(tx, t)
		if _, ok := idx.File(string(file)); err != nil || !ok {
			return false
		}
	}
	text, err := markdown.Compose(n.frontmatter(t), mutation.SeparateBody(in.Content))
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
