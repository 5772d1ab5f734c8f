package team

import (
	"context"
	_ "embed"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
)

//go:embed complete_access.md
var completeAccessDoc string

type completeAccessIn struct {
	Kind string `json:"kind" enum:"token,member,issuer,tool,job" jsonschema:"the text typed so far"`
	tool.Completing
}

// completeAccess completes what only admins know. It is a tool of its own, so that its Spec says so.
func (f tools) completeAccess() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_complete_access", Family: Family, Title: "Complete access entries",
		Doc: completeAccessDoc, Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:     tool.Route{Method: "GET", Path: "/complete/access"},
		Commands:  []tool.Command{{Words: "complete access", Args: []string{"kind", "prefix?"}}},
		Completes: []string{"token", "member", "issuer", "tool", "job"},
	}, f.completeEntry)
}

func (f tools) completeEntry(
	ctx context.Context, c auth.Caller, in completeAccessIn,
) (tool.Values, error) {
	out := tool.Values{Items: []string{}}
	after, err := in.After(Family)
	if err != nil {
		return out, err
	}
	t, s, _, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	all := f.entries(t, s, in.Kind)
	if in.Kind == "job" {
		if all, err = jobIDs(ctx, t); err != nil {
			return out, err
		}
	}
	for _, value := range slices.Compact(slices.Sorted(all)) {
		if value <= after || !strings.HasPrefix(value, in.Prefix) {
			continue
		}
		if len(out.Items) == in.Limit {
			out.More(out.Items[in.Limit-1])
			break
		}
		out.Items = append(out.Items, value)
	}
	return out, nil
}

// jobIDs are the ids of the newest jobs.
func jobIDs(ctx context.Context, t *team.Team) (iter.Seq[string], error) {
	items, _, err := t.Jobs().List(ctx, job.Filter{}, "", mostJobs)
	return func(yield func(string) bool) {
		for _, it := range items {
			if !yield(it.ID) {
				return
			}
		}
	}, err
}

// mostJobs is how many jobs are completed.
const mostJobs = 200

// entries are the values of a kind, in no order. A token that cannot be used any more is none.
func (f tools) entries(t *team.Team, s *team.State, kind string) iter.Seq[string] {
	var all []string
	switch kind {
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
	return slices.Values(all)
}
