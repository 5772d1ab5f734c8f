// Package auth says who calls: the principal, the agent under it, and what role it has where.
package auth

import (
	"context"
	"slices"
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

var order = []Role{Nobody, Reader, Editor, Admin}

// Allows reports whether the role is at least need. An unknown role allows nothing.
func (r Role) Allows(need Role) bool {
	return r != Nobody && slices.Index(order, r) >= slices.Index(order, need)
}

// Local is the name of the principal and of the tenant where there is no authentication: on
// loopback (CONTRACT §4, team).
const Local = "local"

// A Caller is who makes a call, and how. Its zero value may do nothing.
type Caller struct {
	Tenant    string
	Principal string
	Agent     string          // who acts under the principal; Default if the call names nobody
	Session   string          // for view state
	Roles     map[string]Role // by vault; the key "*" is every vault
	ReadOnly  bool            // every mutation of this call is refused
	RequestID string          // names the call in logs and answers
}

// AllVaults is the key of Roles that stands for every vault of the tenant.
const AllVaults = "*"

// LocalCaller is everybody on loopback: principal `local` of tenant `local`, an admin.
func LocalCaller() Caller {
	return Caller{
		Tenant: Local, Principal: Local, Agent: Local, Session: "default",
		Roles: map[string]Role{AllVaults: Admin},
	}
}

// Role is the caller's role in the vault. Vault "" asks for the highest role that it has anywhere.
func (c Caller) Role(vault string) Role {
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
