package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A completeIn is the input of team_complete. Vaults are the only kind.
type completeIn struct {
	// the kind of suggestions
	Kind string `json:"kind,omitempty" enum:"vault" default:"vault"`
	tool.CompletionIn
}

// complete returns the tool that completes the names of vaults.
func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_complete", Family: Family, Title: "Complete a vault's name",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/complete"},
		Commands:  []tool.Command{{Words: "complete vault", Args: []string{"prefix?"}}},
		Completes: []string{"vault"},
	}, f.completeName)
}

// completeName completes the names of the active vaults that the caller can see. It opens no vault,
// because a shell calls it at each press of the tab key.
func (f tools) completeName(
	ctx context.Context, c auth.Caller, in completeIn,
) (tool.Values, error) {
	return f.completed(ctx, c, in.CompletionIn, func(t *tenant.Tenant, s *tenant.State) ([]string, error) {
		var names []string
		for _, e := range visible(c, s.Vaults(), t.Now()) {
			if e.Status == eventlog.Active {
				names = append(names, e.Name)
			}
		}
		return names, nil
	})
}

// completed returns one page of the values that begin with the typed prefix; see state.Suggestions.
// The function values returns all values, sorted.
func (f tools) completed(
	ctx context.Context, c auth.Caller, in tool.CompletionIn,
	values func(*tenant.Tenant, *tenant.State) ([]string, error),
) (tool.Values, error) {
	t, s, _, err := f.state(ctx, c)
	if err != nil {
		return tool.Values{}, err
	}
	// An invalid page token is refused before the values are read, which can fail too.
	if _, err := in.After(Family); err != nil {
		return tool.Values{}, err
	}
	all, err := values(t, s)
	if err != nil {
		return tool.Values{}, err
	}
	return state.Suggestions(ctx, Family, in, func(yield func(string, string) bool) {
		for _, value := range all {
			if !yield(value, "") {
				return
			}
		}
	})
}
