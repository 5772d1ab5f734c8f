package tree

import (
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A nodeMutation is the part of an input that controls how a change is carried out.
//
// Every change needs a version token, so that an agent never overwrites what it has not read. The
// token is that of any answer; the change is refused if one of the nodes that it affects changed
// after it. Changes of other nodes do not matter, so several agents can work in one vault with
// tokens of different ages, unless the vault is configured to be strict.
type nodeMutation struct {
	// versionToken of an answer (v42); required: CONFLICT if an affected node changed since
	VersionToken string `json:"versionToken,omitempty" means:"version" digest:"-" size:"token" alias:"version_token,if_version"`
	// any text; a repeated call has one effect
	IdempotencyKey string `json:"idempotencyKey,omitempty" means:"key" rare:"true" max:"255" alias:"idempotency_key"`
	// show the plan, change nothing
	DryRun bool `json:"dryRun,omitempty" means:"dry" rare:"true" alias:"dry_run"`

	tool.Marked
}

// A loggedMutation is a nodeMutation in the form in which it is logged. The idempotency key is
// specific to the agent. The version is empty: the version token is compared later, when the
// changed nodes are known.
//
// It implements mutation.Mutation. The agent and the key are separated by a NUL byte.
type loggedMutation struct {
	*nodeMutation
	agent string // the agent to which the idempotency key belongs
}

// logged returns the mutation in its logged form.
func (m *nodeMutation) logged(c auth.Caller) loggedMutation { return loggedMutation{m, c.Agent} }

// Version returns "", because the version token is checked by edit.covers.
func (l loggedMutation) Version() string { return "" }

// Key returns the idempotency key with the agent as its prefix, or "" if there is none.
func (l loggedMutation) Key() string {
	if l.IdempotencyKey == "" {
		return ""
	}
	return l.agent + "\x00" + l.IdempotencyKey
}

// Dry reports whether the call is a dry run.
func (l loggedMutation) Dry() bool { return l.DryRun }

// A page is the part of an input that selects a page of a list. The tool model fills in the default
// of the limit.
type page struct {
	// items of a page
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200" means:"limit" alias:"pageSize,page_size"`
	// nextPageToken of the page before
	PageToken string `json:"pageToken,omitempty" size:"token" means:"token" alias:"page_token"`
}

// propertyLists are the properties that a call includes and excludes.
//
// A path names a property or a member in it, with dots between the names; see tree.Filter.
type propertyLists struct {
	// show only these properties and their subproperties: status, payload.address.city, body
	Included []string `json:"includedProperties,omitempty" alias:"included,included_properties" max:"512"`
	// exclude these properties and their subproperties
	Excluded []string `json:"excludedProperties,omitempty" alias:"excluded,excluded_properties" max:"512"`
}

// filter returns the property lists of the call or, if both are empty, those of the session.
func (l propertyLists) filter(s session) tree.Filter {
	if own := (tree.Filter{Included: l.Included, Excluded: l.Excluded}); !own.IsEmpty() {
		return own
	}
	return s.filter
}

// A versionOut is the part of every output with the version token.
//
// It has the version twice: as a member, as the specification has it, and in the meta, as all tools
// of the product do.
type versionOut struct {
	tool.Aside `json:"-"`
	// for the versionToken of a mutation
	VersionToken string `json:"versionToken"`
}

// at sets the version of the answer.
func (v *versionOut) at(version string) {
	v.VersionToken = version
	v.Note("version", version)
}

// setToken sets the version token from the metadata, where a mutation stores the version.
func (v *versionOut) setToken() { v.VersionToken, _ = v.Meta["version"].(string) }

// A pageOut is the part of the output of every list with pages.
type pageOut struct {
	// for the pageToken of the next page; absent on the last
	NextPageToken string `json:"nextPageToken,omitempty"`
	versionOut
}

// SetNextToken sets the token of the next page.
func (p *pageOut) SetNextToken(token string) { p.NextPageToken = token }
