package tree

import (
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A nodeMutation is the part of an input that says how to carry out a change.
type nodeMutation struct {
	VersionToken   string `json:"versionToken,omitempty" means:"version" digest:"-" size:"token" alias:"version_token,if_version" jsonschema:"versionToken of an answer (v42); required: CONFLICT if an affected node changed since"`
	IdempotencyKey string `json:"idempotencyKey,omitempty" means:"key" rare:"true" max:"255" alias:"idempotency_key" jsonschema:"any text; a repeated call has one effect"`
	DryRun         bool   `json:"dryRun,omitempty" means:"dry" rare:"true" alias:"dry_run" jsonschema:"show the plan, change nothing"`

	tool.Marked
}

// A logged is a mutation as the log takes it: its key is one of the agent, and the version that it builds on is
// compared where the nodes are known that it touches.
type logged struct {
	*nodeMutation
	agent string
}

func (m *nodeMutation) logged(c auth.Caller) logged { return logged{m, c.Agent} }

// Version is none.
func (l logged) Version() string { return "" }

// Key is the idempotency key of the agent; empty: none.
func (l logged) Key() string {
	if l.IdempotencyKey == "" {
		return ""
	}
	return l.agent + "\x00" + l.IdempotencyKey
}

// Dry reports whether the call only shows its plan.
func (l logged) Dry() bool { return l.DryRun }

// A page is the part of an input that asks for a page of a list.
type page struct {
	Limit     int    `json:"limit,omitempty" default:"50" min:"1" max:"200" means:"limit" alias:"pageSize,page_size" jsonschema:"items of a page"`
	PageToken string `json:"pageToken,omitempty" size:"token" means:"token" alias:"page_token" jsonschema:"nextPageToken of the page before"`
}

// lists are the properties that a call wants to see, and does not want to see.
type lists struct {
	Included []string `json:"includedProperties,omitempty" alias:"included,included_properties" max:"512" jsonschema:"show only these properties and their subproperties: status, payload.address.city, body"`
	Excluded []string `json:"excludedProperties,omitempty" alias:"excluded,excluded_properties" max:"512" jsonschema:"exclude these properties and their subproperties"`
}

// filter is what the call shows: its own lists, else those of the session.
func (l lists) filter(s session) tree.Filter {
	if own := (tree.Filter{Included: l.Included, Excluded: l.Excluded}); !own.IsEmpty() {
		return own
	}
	return s.filter
}

// A versioned is the part of an output that all have.
type versioned struct {
	tool.Aside   `json:"-"`
	VersionToken string `json:"versionToken" jsonschema:"for the versionToken of a mutation"`
}

// at notes the version that the answer is true of.
func (v *versioned) at(version string) {
	v.VersionToken = version
	v.Note("version", version)
}

// settle takes the version from the meta, where a mutation notes it.
func (v *versioned) settle() { v.VersionToken, _ = v.Meta["version"].(string) }

// A paged is the part of an output that lists in pages have.
type paged struct {
	NextPageToken string `json:"nextPageToken,omitempty" jsonschema:"for the pageToken of the next page; absent on the last"`
	versioned
}

// TurnTo takes the token of the next page.
func (p *paged) TurnTo(token string) { p.NextPageToken = token }
