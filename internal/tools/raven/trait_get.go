package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A traitGetIn is the input of raven_trait_get.
type traitGetIn struct {
	tool.Vault
	// due-e2bae6c0; or its current position: daily/2026-03-02.md:11
	ID string `json:"id" size:"id" alias:"trait_id"`
	detail
	tool.AsOf
}

// A traitGetOut is the output of raven_trait_get.
type traitGetOut struct {
	tool.Aside `json:"-"`
	Trait      trait `json:"trait"`
}

// traitGet returns the tool raven_trait_get, which shows one trait.
func (f tools) traitGet() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_trait_get", Family: Family, Title: "Get a trait",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/traits/{id}"},
		Commands: []tool.Command{{Words: "trait get", Args: []string{"id"}}},
	}, showTrait)
}

// showTrait runs raven_trait_get. It needs a valid schema, because the schema determines the type of
// the value.
func showTrait(_ context.Context, v view, in traitGetIn) (traitGetOut, error) {
	var out traitGetOut
	if _, err := state.Schema(v.Index); err != nil {
		return out, err
	}
	t, _, err := findTrait(v.Index, in.ID)
	if err != nil {
		return out, err
	}
	out.Trait = v.renderer().trait(t)
	return out, nil
}
