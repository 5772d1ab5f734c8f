package notes

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// The kinds of values that can be completed. The tag `complete` of an argument names one.
const (
	kindProject = "project"
	kindTag     = "note_tag"
)

// A completeIn is the input of notes_complete: the kind, and the typed prefix with the limit of a
// page.
type completeIn struct {
	tool.Vault
	// the kind of suggestions
	Kind string `json:"kind" enum:"project,note_tag"`
	tool.CompletionIn
}

// complete returns the tool that completes names of projects and tags.
func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_complete", Short: "complete", Family: Family, Title: "Complete a project or tag",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/note-complete"},
		Commands:  []tool.Command{{Words: "complete notes", Args: []string{"kind", "prefix?"}}},
		Completes: []string{kindProject, kindTag},
	}, f.completeValue)
}

// completeValue lists the slugs of projects or tags that begin with the typed prefix, sorted. Only
// notes that lists include are considered.
func (f tools) completeValue(ctx context.Context, c auth.Caller, in completeIn) (tool.Values, error) {
	return f.Complete(ctx, c, in.Vault.Vault, in.CompletionIn, func(v state.View) iter.Seq2[string, string] {
		return func(yield func(string, string) bool) {
			for _, slug := range slices.Sorted(maps.Keys(in.slugs(ctx, v))) {
				if !yield(slug, "") {
					return
				}
			}
		}
	})
}

// slugs returns the set of slugs of the requested kind. It is incomplete if the call ends early. A
// slug that is longer than an argument may be is left out, because it could not be used. It goes
// through the rows of all notes.
//
// A shell needs the values of the prefix only, but the index has no list of slugs in order, so all
// are collected for each call.
func (in *completeIn) slugs(ctx context.Context, v state.View) map[string]bool {
	slugs := map[string]bool{}
	add := func(slug string) {
		if slug != "" && len(slug) <= tool.MaxID {
			slugs[slug] = true
		}
	}
	for r := range rowsWith(ctx, v.Index, &filter{}) {
		if in.Kind == kindProject {
			add(r.Project())
			continue
		}
		for _, tag := range r.Card().Tags {
			add(tag)
		}
	}
	return slugs
}
