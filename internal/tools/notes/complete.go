package notes

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/tool"
	"rookery/internal/tools/state"
)

//go:embed complete.md
var completeDoc string

// The kinds of values that are completed, as the tag `complete` of an argument names them.
const (
	kindProject = "project"
	kindTag     = "note_tag"
)

type completeIn struct {
	tool.Vault
	Kind string `json:"kind" enum:"project,note_tag" jsonschema:"what is being typed"`
	tool.Completing
}

func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_complete", Short: "complete", Family: Family, Title: "Complete a project or tag",
		Doc: completeDoc, Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/note-complete"},
		Commands:  []tool.Command{{Words: "complete notes", Args: []string{"kind", "prefix?"}}},
		Completes: []string{kindProject, kindTag},
	}, f.completeValue)
}

// completeValue lists the slugs of the notes that are in lists.
func (f tools) completeValue(ctx context.Context, c auth.Caller, in completeIn) (tool.Values, error) {
	out := tool.Values{Items: []string{}}
	after, err := in.After(Family)
	if err != nil {
		return out, err
	}
	v, err := f.View(ctx, c, in.Vault.Vault)
	if err != nil {
		return out, err
	}
	out.Note("version", v.Version())
	values, err := in.values(ctx, v)
	for _, value := range slices.Sorted(maps.Keys(values)) {
		if value <= after {
			continue
		}
		if len(out.Items) == in.Limit {
			out.More(out.Items[in.Limit-1])
			break
		}
		out.Items = append(out.Items, value)
	}
	return out, err
}

// values are the slugs that begin as typed.
func (in *completeIn) values(ctx context.Context, v state.View) (map[string]bool, error) {
	values := map[string]bool{}
	add := func(slug string) {
		if slug != "" && strings.HasPrefix(slug, in.Prefix) && len(slug) <= tool.MaxID {
			values[slug] = true
		}
	}
	going := state.Going(ctx)
	for n := range v.Index.Notes("") {
		switch {
		case !going():
			return nil, ctx.Err()
		case !isListed(n):
		case in.Kind == kindProject:
			add(n.Project())
		default:
			for _, tag := range n.Card().Tags {
				add(tag)
			}
		}
	}
	return values, nil
}
