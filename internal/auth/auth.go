// Package auth says who calls: the principal, the agent under it, and what role it has where. It reads
// and checks the two kinds of token that prove it: JSON Web Tokens of an issuer, and API tokens.
package auth

import (
	"context"
	"maps"
	"slices"
	"time"
)

// A Role says what a caller may do in a vault. Roles are ordered: a higher one may do all that a
// lower one may (CONTRACT §4, team).
type Role string

// The roles, lowest first. Nobody is less than any of them.
const (
	Nobody Role = ""
	Reader Role = "reader" // every tool that changes nothing
	Editor Role = "editor" // and every mutation of a vault's contents
	Admin  Role = "admin"  // and the team's tools
)

// Anyone is what a tool needs that tells a caller only of itself: to be known is enough. It is no role
// that somebody has.
const Anyone Role = "anyone"

var order = []Role{Nobody, Reader, Editor, Admin}

// Roles are the roles that somebody can have, lowest first. They are the scopes of our tokens, too.
func Roles() []Role { return slices.Clone(order[1:]) }

// Valid reports whether it is a role that somebody can have.
func (r Role) Valid() bool { return r != Nobody && slices.Contains(order, r) }

// Allows reports whether the role is at least need. An unknown role allows nothing.
func (r Role) Allows(need Role) bool {
	return need == Anyone || r != Nobody && slices.Index(order, r) >= slices.Index(order, need)
}

// AtMost is the lower of two roles.
func (r Role) AtMost(most Role) Role {
	if most.Allows(r) {
		return r
	}
	return most
}

// Local is the name of the principal and of the tenant where there is no authentication: on
// loopback (CONTRACT §4, team).
const Local = "local"

// A Caller is who makes a call, and how. Its zero value may do nothing.
type Caller struct {
	Tenant    string
	Principal string          // User, APIToken or Workload made it; or Local
	Agent     string          // who acts under the principal; the principal itself if the call names nobody
	Session   string          // for view state
	Roles     map[string]Role // by vault; the key AllVaults is every vault that has no entry of its own
	Scope     Role            // no role is higher than that; Nobody: the token says nothing of it
	Prefix    string          // only notes whose paths begin so may be written; empty: all
	Tools     []string        // the only tools that may be called, by their long names; nil: all
	ReadOnly  bool            // every mutation of this call is refused
	RequestID string          // names the call in logs and answers
	Began     time.Time       // when the call came; zero: nobody says

	Name    string    // how people call the principal: a subject, the name of a token or of a rule
	TokenID string    // of the API token that was shown; empty: it was none
	Issuer  string    // of the JSON Web Token that was shown; empty: it was none
	Subject string    // likewise
	Expires time.Time // of the token; zero: never

	// Again is the caller as the newest state of its tenant has it: a yes may be a minute old, a no never
	// is (log.md §6). Nil: it is the same for ever.
	Again func(context.Context) (Caller, error)

	// Allowance is filled with what is left of the caller's rate, if it is limited. Nil: nobody asks.
	Allowance *Allowance
}

// An Allowance is what is left of a rate.
type Allowance struct {
	Limit     int           // calls at once, at most; 0: there is no limit
	Remaining int           // calls that would be let through now
	Reset     time.Duration // until the limit is whole again
}

// AllVaults is the key of Roles that stands for every vault of the tenant.
const AllVaults = "*"

// LocalCaller is everybody on loopback: principal `local` of tenant `local`, an admin.
func LocalCaller() Caller {
	return Caller{
		Tenant: Local, Principal: Local, Name: Local, Agent: Local, Session: DefaultSession,
		Roles: map[string]Role{AllVaults: Admin},
	}
}

// DefaultSession is the session of a call that names none.
const DefaultSession = "default"

// Role is the caller's role in the vault. Vault "" asks for the highest role that it has anywhere, and
// AllVaults for that in the tenant as a whole.
func (c Caller) Role(vault string) Role { return c.capped(c.granted(vault)) }

// Scoped reports whether the caller would have the role, if its token had more scopes.
func (c Caller) Scoped(vault string, need Role) bool {
	granted := c.granted(vault)
	return granted.Allows(need) && !c.capped(granted).Allows(need)
}

// capped is a role as far as the scope allows it.
func (c Caller) capped(r Role) Role {
	if c.Scope == Nobody {
		return r
	}
	return r.AtMost(c.Scope)
}

// granted is a role before the scope is looked at.
func (c Caller) granted(vault string) Role {
	if vault == "" {
		return c.highest()
	}
	if r, ok := c.Roles[vault]; ok {
		return r
	}
	return c.Roles[AllVaults]
}

func (c Caller) highest() Role {
	best := Nobody
	for _, r := range c.Roles {
		if r.Allows(best) || best == Nobody {
			best = r
		}
	}
	return best
}

// Effective are the caller's roles by vault, as its scope leaves them.
func (c Caller) Effective() map[string]Role {
	all := maps.Clone(c.Roles)
	for vault, r := range all {
		all[vault] = c.capped(r)
	}
	return all
}

// May reports whether the caller's token lets it call a tool at all, by its long name.
func (c Caller) May(tool string) bool { return c.Tools == nil || slices.Contains(c.Tools, tool) }

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf is the caller that the context carries; without one, nobody.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
