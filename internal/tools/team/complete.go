package team

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/job"
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

// A completeAccessIn is the input of team_complete_access.
type completeAccessIn struct {
	// the kind of suggestions
	Kind string `json:"kind" enum:"token,member,issuer,tool,job"`
	tool.CompletionIn
}

// completeAccess completes names that only admins can see. It is a separate tool so that its Spec
// can require that role. The role is that of an admin of all vaults.
func (f tools) completeAccess() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_complete_access", Family: Family, Title: "Complete access entries",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:     tool.Route{Method: "GET", Path: "/complete/access"},
		Commands:  []tool.Command{{Words: "complete access", Args: []string{"kind", "prefix?"}}},
		Completes: []string{"token", "member", "issuer", "tool", "job"},
	}, f.completeEntry)
}

// completeEntry returns the values of the kind that begin with the typed prefix, sorted and without
// duplicates.
func (f tools) completeEntry(
	ctx context.Context, c auth.Caller, in completeAccessIn,
) (tool.Values, error) {
	return f.completed(ctx, c, in.CompletionIn, func(t *tenant.Tenant, s *tenant.State) ([]string, error) {
		all, err := f.entries(ctx, t, s, in.Kind)
		slices.Sort(all)
		return slices.Compact(all), err
	})
}

// mostJobs is the maximum number of jobs that are completed: the newest ones. There can be many
// jobs, and only recent ones are of interest.
const mostJobs = 200

// entries returns the values of a kind, unsorted: ids of tokens and jobs, subjects of members,
// names of issuers and tools. It omits tokens that are revoked or expired. An unknown kind has no
// values. A subject that members of several issuers have occurs several times.
func (f tools) entries(
	ctx context.Context, t *tenant.Tenant, s *tenant.State, kind string,
) (all []string, err error) {
	switch kind {
	case "job":
		items, _, err := t.Jobs().List(ctx, job.Filter{}, "", mostJobs)
		for _, it := range items {
			all = append(all, it.ID)
		}
		return all, err
	case "token":
		for _, entry := range s.Tokens() {
			if entry.Valid(t.Now()) {
				all = append(all, entry.ID)
			}
		}
	case "member":
		for _, m := range s.Members() {
			all = append(all, m.Subject)
		}
	case "issuer":
		for _, i := range s.Issuers() {
			all = append(all, i.Name)
		}
	case "tool":
		for _, made := range f.all() {
			all = append(all, made.Name)
		}
	}
	return all, nil
}
