package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/yamltext"
)

// A queryRemoveIn is the input of raven_query_remove.
type queryRemoveIn struct {
	tool.Vault
	// a saved query
	Name string `json:"name" complete:"query"`
	tool.Mutation
}

// queryRemove returns the tool raven_query_remove, which removes a saved query from raven.yaml.
func (f tools) queryRemove() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_query_remove", Family: Family, Title: "Remove a saved query",
		Role: auth.Editor, Kind: tool.Destroy,
		Route:    tool.Route{Method: "POST", Path: "/queries/remove"},
		Commands: []tool.Command{{Words: "query remove", Args: []string{"name"}}},
	}, func(ctx context.Context, c auth.Caller, in queryRemoveIn) (querySaveOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, false, configTarget}, in.run)
	})
}

// run drafts the change of raven.yaml.
//
// It edits the text of raven.yaml in place, so that comments and the order of other keys stay as
// they are; see internal/yamltext. A file that cannot be edited that way is left alone, and the
// fault asks for an edit by hand.
func (in queryRemoveIn) run(ctx context.Context, tx *repo.Tx, out *querySaveOut) error {
	v := view{View: state.View{Index: tx.Index()}}
	if err := v.Index.ConfigErr(); err != nil {
		return err
	}
	if _, ok := savedQuery(v, in.Name); !ok {
		return noQuery(v, in.Name)
	}
	text, _, err := tx.Text(ctx, vault.ConfigRaven)
	if err != nil {
		return err
	}
	now, err := yamltext.Remove(text, []string{"queries", in.Name})
	if err != nil {
		return manualEditFault(err, vault.ConfigRaven)
	}
	out.Action, out.Name = "deleted", in.Name
	return out.put(ctx, tx, text, now)
}
