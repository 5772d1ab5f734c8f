package raven

import (
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A reference is one reference as callers see it (raven.md §6.2). What it leads to is null where it
// leads to nothing, or to several things, which Matches are.
type reference struct {
	TargetRaw   string   `json:"target_raw"`
	Kind        string   `json:"kind" jsonschema:"link: [[target]]; embed: ![[target]]; markdown: [text](target.md); field: a value without brackets; file: names a file that is not a note"`
	TargetID    *string  `json:"target_id"`
	TargetType  *string  `json:"target_type"`
	TargetName  *string  `json:"target_name"`
	DisplayText *string  `json:"display_text"`
	Matches     []string `json:"matches,omitempty" jsonschema:"the candidates, where it is ambiguous; at most 20"`
	Missing     bool     `json:"fragment_missing,omitempty" jsonschema:"the target has no heading or block with the name after #"`
	TargetLine  int      `json:"target_line,omitempty" jsonschema:"the line of the block with the id after #^"`
	*Leading
}

// Leading are the fields of what a reference leads to, at depth 2.
type Leading struct {
	TargetFields map[string]any `json:"target_fields"`
	TargetCut    []string       `json:"target_cut_fields,omitempty" jsonschema:"fields whose value is cut; the first 20"`
}

// maxRefs is how many references of one thing an answer shows.
const maxRefs = 200

// references are references in a note as callers see them, never null.
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

// reference is one reference, which leads to the given thing.
func (d renderer) reference(r *index.Ref, to index.Resolution) reference {
	shown := reference{
		TargetRaw: r.Target, Kind: kindOf(r, to), Matches: firstOf(to.Matches, maxMatches),
		Missing: to.FragmentMissing, TargetLine: to.Line,
	}
	if r.Display != "" {
		display := tool.Beginning(r.Display, maxListed)
		shown.DisplayText = &display
	}
	if d.depth == deep {
		shown.Leading = &Leading{}
	}
	if to.ID == "" {
		return shown
	}
	typ, name := d.called(to)
	shown.TargetID, shown.TargetType, shown.TargetName = &to.ID, &typ, &name
	if d.depth == deep && to.Object.Note != nil {
		fields, _ := d.fields(to.Object)
		shown.TargetFields, shown.TargetCut = listedFields(fields)
	}
	return shown
}

// kindOf is how a reference is written, and whether it leads to a file that is no note.
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

// called are the type and the name of what a reference leads to. A day has both before it has a note.
func (d renderer) called(to index.Resolution) (typ, name string) {
	if to.Object.Note == nil {
		date, _ := d.idx.Config().IsDaily(vault.Path(to.ID + ".md"))
		return vault.Daily, string(date)
	}
	return to.Object.Type(), tool.Beginning(d.idx.NameOf(to.Object), maxListed)
}

// refsInFields are the references in the fields of an object, in order.
func refsInFields(o index.Object) []*index.Ref {
	var refs []*index.Ref
	for _, r := range o.RefsOf() {
		if r.InField {
			refs = append(refs, r)
		}
	}
	return refs
}

// shown is a value in a note as callers see it: a reference is the id of what it leads to or, where it leads
// nowhere, what is written. isRef says that a text without brackets is one too.
func (d renderer) shown(n *index.Note, v any, isRef bool) any {
	return withRefs(v, isRef, func(ref string) string {
		if r, ok := vault.ParseRef(ref); ok {
			ref = string(r)
		}
		if to := d.refs.From(n, ref); to.ID != "" {
			return to.ID
		}
		return ref
	})
}

// shown is a value as the schema's own answers show it: a reference is what is written.
func shown(v any) any {
	return withRefs(v, false, func(written string) string { return written })
}

// withRefs is a value with a text in place of each reference. isRef says that a text is one too.
func withRefs(v any, isRef bool, text func(written string) string) any {
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
			list[i] = withRefs(e, isRef, text)
		}
		return list
	}
	return v
}
