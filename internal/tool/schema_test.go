package tool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

type shelfIn struct {
	tool.Vault
	tool.Page
	ID  string      `json:"id" alias:"reference" jsonschema:"which one"`
	Set tool.Fields `json:"set,omitempty" jsonschema:"new values"`
	Old tool.Fields `json:"old,omitempty" jsonschema:"old values"`
}

// TestArgs covers that an argument is found also where the type that it comes from has its name, and
// that each has a schema of its own.
func TestArgs(t *testing.T) {
	made := tool.New(tool.Spec{
		Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Malformed: fault.InvalidValue},
	}, func(context.Context, auth.Caller, shelfIn) (struct{}, error) { return struct{}{}, nil })

	var names []string
	for _, a := range made.Args {
		names = append(names, a.Name)
		require.Equal(t, a.Doc, a.Schema.Description, a.Name)
		require.Equal(t, a.Name == "id", a.Required, a.Name)
	}
	require.Equal(t, []string{
		"vault", "limit", "page_token", "id", "set", "old", "agent_id", "session", "only", "envelope",
	}, names)
}
