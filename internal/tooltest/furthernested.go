package tooltest

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

var (
	nodeWho = tool.Spec{
		Name: "stack_who", Family: stackFamily, Title: "Say who acts",
		Doc:      "Answers who acts, and which agent is meant.\n\n## Example\n```sh\nrookery node who\n```",
		Route:    tool.Route{Method: "GET", Path: "/nodes/who"},
		Commands: []tool.Command{{Words: "node who"}}, Unversioned: true,
	}
	nodePlan = tool.Spec{
		Name: "stack_plan", Family: stackFamily, Title: "Plan",
		Doc:      "Answers a plan as it was understood.\n\n## Example\n```sh\nrookery node plan --plan '{}'\n```",
		Route:    tool.Route{Method: "POST", Path: "/nodes/plan"},
		Commands: []tool.Command{{Words: "node plan"}},
	}
)

// whoIn has an argument in the place of the one that says for every tool who acts.
type whoIn struct {
	tool.Vault
	AgentID string `json:"agent_id,omitempty" jsonschema:"the agent that is meant"`
}

type whoOut struct {
	tool.Aside `json:"-"`
	Meant      string `json:"meant" jsonschema:"the agent that is meant"`
	Acts       string `json:"acts" jsonschema:"the agent that acts"`
	Session    string `json:"session" jsonschema:"the session whose view is used"`
}

func (s *stack) who(_ context.Context, c auth.Caller, in whoIn) (whoOut, error) {
	return whoOut{Meant: in.AgentID, Acts: c.Agent, Session: c.Session}, nil
}

// planIn has objects in objects, with bounds and defaults at every level.
type planIn struct {
	tool.Vault
	Plan  NodePlan   `json:"plan" jsonschema:"the plan"`
	Steps []NodeStep `json:"steps,omitempty" jsonschema:"its steps"`
}

// A NodePlan is an object with a default inside.
type NodePlan struct {
	Goal string              `json:"goal" jsonschema:"the aim"`
	Kind string              `json:"kind,omitempty" enum:"feature,fix" default:"fix" jsonschema:"what it is"`
	Tags []string            `json:"tags,omitempty" jsonschema:"words"`
	Rate *float64            `json:"rate,omitempty" min:"0" max:"1" null:"kept" jsonschema:"null clears it"`
	By   map[string]NodeStep `json:"by,omitempty" jsonschema:"steps by name"`
}

// A NodeStep is an object in a list.
type NodeStep struct {
	Where string `json:"where" jsonschema:"a place"`
	Hours int    `json:"hours,omitempty" min:"1" max:"8" default:"1" jsonschema:"how long"`
}

type planOut struct {
	tool.Aside `json:"-"`
	Plan       NodePlan   `json:"plan"`
	Steps      []NodeStep `json:"steps"`
}

func (s *stack) plan(_ context.Context, _ auth.Caller, in planIn) (planOut, error) {
	return planOut{Plan: in.Plan, Steps: append([]NodeStep{}, in.Steps...)}, nil
}
