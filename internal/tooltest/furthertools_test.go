package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// FurtherTools are the tools of a family that differs from the others in each way in which a family may:
// bare failures of its own, exit codes, one line of JSON for a failure, its own names for the arguments that
// change how a call is made, recursive answers, arguments in camel case, an argument in the place of one that
// every tool has, objects in objects, and files of every kind.
func FurtherTools() []*tool.Tool {
	s := &stack{version: 1, nodes: map[string]string{"root": "Root", "root/a": "A", "root/a/b": "B"}}
	return []*tool.Tool{
		tool.New(specOf(nodeGet), s.get), tool.New(specOf(nodeList), s.list),
		tool.New(specOf(nodeSet), s.set), tool.New(specOf(nodeToggle), s.toggle),
		tool.New(specOf(nodeWho), s.who), tool.New(specOf(nodePlan), s.plan),
		tool.New(specOf(nodeImport), s.importNodes), tool.New(specOf(nodeExport), s.exportNodes),
	}
}

// stack is a family with every feature of a Family.
var stackFamily = &tool.Family{
	Name: "stack", Base: "/v1/vaults/{vault}",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Terse: true,
	Bare: func(f *fault.Fault) any {
		return struct {
			Error string     `json:"error"`
			Code  fault.Code `json:"code"`
		}{f.Message, f.Code}
	},
	Also: func(f *fault.Fault) map[string]any {
		if f.RetryAfter == 0 {
			return nil
		}
		return map[string]any{"retryAfter": int(f.RetryAfter.Seconds())}
	},
	Exit: func(c fault.Code) int {
		if c.Status() == fault.StatusInvalidArgument {
			return 1
		}
		return 2
	},
}

var (
	nodeGet = tool.Spec{
		Name: "stack_get", Short: "get_node", Family: stackFamily, Title: "Get a node",
		Doc:   "Answers a node with all below it.\n\n## Example\n```sh\nrookery node get root\n```",
		Route: tool.Route{Method: "GET", Path: "/nodes/{nodeId}"},
		Commands: []tool.Command{
			{Words: "node get", Args: []string{"nodeId"}},
		},
	}
	nodeList = tool.Spec{
		Name: "stack_list", Family: stackFamily, Title: "List nodes",
		Doc:      "Lists nodes.\n\n## Example\n```sh\nrookery node list\n```",
		Route:    tool.Route{Method: "GET", Path: "/nodes"},
		Commands: []tool.Command{{Words: "node list"}},
		List:     "nodes", Columns: []string{"nodeId"},
	}
	nodeSet = tool.Spec{
		Name: "stack_set", Family: stackFamily, Title: "Set a node",
		Doc:  "Sets a node.\n\n## Example\n```sh\nrookery node set root --title R\n```",
		Kind: tool.Write, Stdin: "content",
		Route:    tool.Route{Method: "POST", Path: "/nodes"},
		Commands: []tool.Command{{Words: "node set", Args: []string{"nodeId", "content?"}}},
	}
	nodeToggle = tool.Spec{
		Name: "stack_toggle", Family: stackFamily, Title: "Toggle a node",
		Doc:      "Expands or collapses a node.\n\n## Example\n```sh\nrookery node toggle root\n```",
		Kind:     tool.View,
		Route:    tool.Route{Method: "POST", Path: "/nodes/toggle"},
		Commands: []tool.Command{{Words: "node toggle", Args: []string{"nodeId"}}},
	}
)

// stack is the state behind the tools.
type stack struct {
	version int
	nodes   map[string]string // titles by id
}

// A Node is a node with those below it.
type Node struct {
	NodeID   string  `json:"nodeId" jsonschema:"its id"`
	Title    string  `json:"title" title:"name" jsonschema:"what it is called"`
	Above    *Node   `json:"above" jsonschema:"null in every answer"`
	Children []*Node `json:"children" jsonschema:"the nodes below it"`
}

type nodeOut struct {
	tool.Aside `json:"-"`
	Node       *Node  `json:"node"`
	Version    string `json:"versionToken,omitempty"`
}

type nodeIn struct {
	tool.Vault
	NodeID string `json:"nodeId" names:"target" jsonschema:"the node's id"`
}

func (s *stack) get(_ context.Context, _ auth.Caller, in nodeIn) (nodeOut, error) {
	n, err := s.node(in.NodeID)
	return nodeOut{Node: n, Version: s.label()}, err
}

func (s *stack) label() string { return fmt.Sprintf("v%d", s.version) }

func (s *stack) node(id string) (*Node, error) {
	if id == "busy" {
		return nil, fault.New(fault.Unavailable, "try again").After(1500000000)
	}
	title, ok := s.nodes[id]
	if !ok {
		return nil, fault.New(fault.NotFound, "there is no such node")
	}
	n := &Node{NodeID: id, Title: title, Children: []*Node{}}
	for child := range s.nodes {
		rest, below := strings.CutPrefix(child, id+"/")
		if !below || strings.Contains(rest, "/") {
			continue
		}
		c, err := s.node(child)
		if err != nil {
			return nil, err
		}
		n.Children = append(n.Children, c)
	}
	return n, nil
}

// A paging is a page in the words of the family.
type paging struct {
	PageSize  int    `json:"pageSize,omitempty" default:"2" min:"1" max:"9" means:"limit" refused:"INVALID_LIMIT" jsonschema:"nodes of a page"`
	PageToken string `json:"pageToken,omitempty" size:"token" means:"token" jsonschema:"data.nextPageToken"`
}

type nodesIn struct {
	tool.Vault
	paging
	DirectOnly bool `json:"directOnly,omitempty" alias:"direct_only" jsonschema:"only nodes without a slash"`
}

type nodesOut struct {
	tool.Aside `json:"-"`
	Nodes      []*Node `json:"nodes"`
	Next       string  `json:"nextPageToken,omitempty"`
}

// SetNextToken implements tool.TokenSetter.
func (o *nodesOut) SetNextToken(token string) { o.Next = token }

func (s *stack) list(_ context.Context, _ auth.Caller, in nodesIn) (nodesOut, error) {
	out := nodesOut{Nodes: []*Node{}}
	after, err := tool.ReadToken("pageToken", in.PageToken, stackFamily)
	if err != nil {
		return out, err
	}
	all := []string{"root", "root/a", "root/a/b"}
	for _, id := range all {
		switch {
		case id <= after, in.DirectOnly && strings.Contains(id, "/"):
		case len(out.Nodes) == in.PageSize:
			last := out.Nodes[len(out.Nodes)-1].NodeID
			out.Paged(len(out.Nodes), len(all), true, last)
			return out, nil
		default:
			out.Nodes = append(out.Nodes, &Node{NodeID: id, Title: s.nodes[id], Children: []*Node{}})
		}
	}
	out.Paged(len(out.Nodes), len(all), false, "")
	return out, nil
}

// A change is what Mutation is, in the words of the family.
type change struct {
	VersionToken   string `json:"versionToken,omitempty" means:"version" digest:"-" jsonschema:"the version"`
	IdempotencyKey string `json:"idempotencyKey,omitempty" means:"key" max:"255" jsonschema:"any text"`
	DryRun         bool   `json:"dryRun,omitempty" means:"dry" jsonschema:"change nothing"`
	tool.Marked
}

type nodeSetIn struct {
	tool.Vault
	NodeID   string          `json:"nodeId" names:"target" jsonschema:"the node's id"`
	Content  string          `json:"content,omitempty" text:"true" jsonschema:"its text"`
	NewValue json.RawMessage `json:"newValue,omitempty" null:"kept" jsonschema:"any value; null removes"`
	Fields   tool.Fields     `json:"frontmatter,omitempty" jsonschema:"fields"`
	change
}

type nodeSetOut struct {
	tool.Aside `json:"-"`
	Given      map[string]any `json:"given" jsonschema:"what the call said"`
	DryRun     bool           `json:"dryRun,omitempty"`
	Request    string         `json:"request" jsonschema:"the digest of the call"`
	Version    string         `json:"versionToken"`
}

func (s *stack) set(_ context.Context, _ auth.Caller, in nodeSetIn) (nodeSetOut, error) {
	if in.VersionToken != "" && in.VersionToken != s.label() {
		return nodeSetOut{}, fault.New(fault.Conflict, "the stack has changed").
			With("latest_version", s.label()).With("latestVersion", s.label())
	}
	given := map[string]any{"nodeId": in.NodeID, "content": in.Content, "key": in.IdempotencyKey}
	if in.NewValue != nil {
		given["newValue"] = in.NewValue
	}
	if in.Fields != nil {
		given["frontmatter"] = plain(in.Fields)
	}
	request := in.Request()
	return nodeSetOut{
		Given: given, DryRun: in.DryRun, Request: fmt.Sprintf("%x", request[:4]), Version: s.label(),
	}, nil
}

func (s *stack) toggle(_ context.Context, _ auth.Caller, in nodeIn) (nodeOut, error) {
	n, err := s.node(in.NodeID)
	return nodeOut{Node: n}, err
}

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
