package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// An account is the caller of a server, as team_whoami reports it: the principal that the token
// belongs to, its display name, its tenant, its role in each vault, and the id and expiry of the
// token. The JSON answer of `login` contains it, so the names of its members are part of the
// interface.
type account struct {
	Principal string               `json:"principal"`
	Name      string               `json:"name,omitempty"`
	Tenant    string               `json:"tenant"`
	Roles     map[string]auth.Role `json:"roles"` // by vault
	TokenID   string               `json:"token_id,omitempty"`
	Expires   *time.Time           `json:"expires_at,omitempty"` // nil: never
}

// whoami returns the account of a client's token. It returns UNAVAILABLE if the answer is not that
// of a Rookery server, and the fault of the call if the server refuses the token.
//
// `login` calls it to check a token before it stores it, and `doctor` to check a stored one. The
// address may be that of any web server, so the answer is not trusted: it must be an envelope, and
// sound.
func whoami(ctx context.Context, client *httptool.Client) (account, error) {
	raw, err := client.Invoke(ctx, "team_whoami", nil)
	if err != nil {
		return account{}, err
	}
	var answer struct {
		OK   bool
		Data account
	}
	if json.Unmarshal(raw, &answer) != nil || !answer.OK || !answer.Data.sound() {
		return account{}, fault.New(fault.Unavailable, "%s does not respond like a Rookery "+
			"server", client.Base).
			Fix("check the address of the server")
	}
	return answer.Data, nil
}

// sound reports whether the account is plausible: it has a principal, less than 64 KiB of text, and
// no control characters. The account is printed on a terminal, so a server must not be able to send
// control sequences in it.
func (a account) sound() bool {
	text := a.Principal + a.Name + a.Tenant + a.TokenID
	for vault, role := range a.Roles {
		text += vault + string(role)
	}
	return a.Principal != "" && len(text) < 64<<10 && !strings.ContainsFunc(text, unicode.IsControl)
}

// open reports whether authentication is off on the server: then every caller is the local
// principal.
func (a account) open() bool { return a.Principal == auth.Local }

// who returns the name of the caller for messages: the display name with the principal in
// parentheses, or only the principal, and the tenant if there is one.
func (a account) who() string {
	name := cmp.Or(a.Name, a.Principal)
	if name != a.Principal {
		name += " (" + a.Principal + ")"
	}
	if a.Tenant != "" {
		name += " of " + a.Tenant
	}
	return name
}

// role returns the roles of the account on one line, such as "editor of notes, admin of all
// vaults", sorted by vault. An account without a role can log in, but every call to a vault is
// refused.
func (a account) role() string {
	if len(a.Roles) == 0 {
		return "with no role"
	}
	var parts []string
	for _, vault := range slices.Sorted(maps.Keys(a.Roles)) {
		of := vault
		if vault == auth.AllVaults {
			of = "all vaults"
		}
		parts = append(parts, fmt.Sprintf("%s of %s", cmp.Or(a.Roles[vault], "no role"), of))
	}
	return strings.Join(parts, ", ")
}

// until returns a phrase about the expiry of the token, as the end of a sentence that begins with
// the token: "does not expire" or "expires on 2026-12-01 09:00 UTC".
func (a account) until() string {
	if a.Expires == nil || a.Expires.IsZero() {
		return "does not expire"
	}
	return "expires on " + a.Expires.UTC().Format("2006-01-02 15:04 UTC")
}
