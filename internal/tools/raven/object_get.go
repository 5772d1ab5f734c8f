package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An objectGetIn is the input of raven_object_get.
type objectGetIn struct {
	tool.Vault
	// people/freya, or daily/2026-03-02#standup for a section
	ID string `json:"id" complete:"id" alias:"object_id,reference"`
	detail
	tool.AsOf
}

// An objectGetOut is the output of raven_object_get. At the default depth the object has its fields
// in full, up to maxWhole bytes.
type objectGetOut struct {
	tool.Aside `json:"-"`
	Object     object `json:"object"`
}

// objectGet returns the tool raven_object_get, which shows one object.
func (f tools) objectGet() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_object_get", Family: Family, Title: "Get an object",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/objects/{id}"},
		Commands: []tool.Command{{Words: "object get", Args: []string{"id"}}},
	}, func(_ context.Context, v view, in objectGetIn) (objectGetOut, error) {
		p, err := locate(v.Index, in.ID, v.Clock)
		if err != nil {
			return objectGetOut{}, err
		}
		return objectGetOut{Object: v.renderer().forSingle().object(p)}, nil
	})
}
