package tree

import (
	"context"

	"rookery/internal/auth"
	"rookery/internal/tools/state"
	"rookery/internal/tree"
)

// A session is what an agent has set for its session: what is expanded, and which properties are shown.
type session struct {
	rules  tree.Rules
	filter tree.Filter
}

// session returns that of a call.
func (f tools) session(context.Context, auth.Caller, state.View) (session, error) {
	return session{}, nil
}
