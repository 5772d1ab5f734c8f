package team

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A tokenListIn is the input of team_token_list. All adds the tokens that are revoked or expired.
type tokenListIn struct {
	// also those that expired or were revoked
	All bool `json:"all,omitempty"`
	tool.Page
}

// A TokenRow is an API token as the tools return it: without its secret. Times are RFC 3339, in
// UTC, and nil if there is none. State is valid, expired or revoked, at the time of the answer. By
// is the principal that created the token.
type TokenRow struct {
	// id of the token; not secret
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// by vault; * is every vault
	Roles map[string]auth.Role `json:"roles"`
	// the tools that it can call; absent: all
	Tools []string `json:"tools,omitempty"`
	// the folder below which it can write; absent: everywhere
	Prefix   string `json:"prefix,omitempty"`
	ReadOnly bool   `json:"readonly"`
	// the principal that made it
	By      string `json:"by"`
	Created string `json:"created"`
	// null: never
	Expires *string `json:"expires_at" format:"date-time"`
	// to the hour; absent: never, as far as is known
	LastUsed *string `json:"last_used,omitempty" format:"date-time"`
	// valid, expired or revoked
	State string `json:"state"`
	// time of its revocation, or of its creator's; absent: not revoked
	Revoked *string `json:"revoked_at,omitempty"`
}

// tokenList returns the tool that lists API tokens, without their secrets.
func (f tools) tokenList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_token_list", Family: Family, Title: "List API tokens",
		Role: auth.Admin, Kind: tool.Read, Tenant: true,
		Route:    tool.Route{Method: "GET", Path: "/tokens"},
		Commands: []tool.Command{{Words: "token list"}},
		Columns:  []string{"id", "name", "state", "expires_at", "last_used", "roles"},
		Empty: []tool.Empty{
			{
				Of: "tokens", Tool: "team_token_create",
				Args: map[string]string{"name": "NAME", "role": "reader"},
			},
		},
	}, f.listTokens)
}

// listTokens returns one page of the tokens of the tenant, sorted by id. Tokens that are revoked or
// expired are omitted unless the call requests all. The last use of a token can be up to an hour
// late.
//
// The times of the last use are read for all tokens at once.
func (f tools) listTokens(
	ctx context.Context, c auth.Caller, in tokenListIn,
) (listOut[TokenRow], error) {
	out := listOut[TokenRow]{Items: []TokenRow{}}
	t, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	used, err := t.Uses(ctx)
	if err != nil {
		return out, err
	}
	now, l := t.Now(), listing[tenant.Token, TokenRow]{key: func(t tenant.Token) string { return t.ID }}
	l.row = func(t tenant.Token) TokenRow { return rowOfToken(t, now, used[t.ID]) }
	for _, entry := range s.Tokens() {
		if in.All || entry.Valid(now) {
			l.all = append(l.all, entry)
		}
	}
	out.Items, err = l.page(&out.Aside, in.Page)
	out.Note("version", eventlog.Version(seq))
	return out, err
}

// rowOfToken returns the row of a token, with its state at the time now. A zero time used means
// that the last use is not known. Revocation takes precedence over expiry.
func rowOfToken(t tenant.Token, now, used time.Time) TokenRow {
	row := TokenRow{
		ID: t.ID, Name: t.Name, Roles: t.Roles, Tools: t.Tools, Prefix: t.Prefix, ReadOnly: t.ReadOnly,
		By: t.By, Created: formatTime(t.Created), Expires: timeOrNil(t.Expires), LastUsed: timeOrNil(used),
		State: "valid", Revoked: timeOrNil(t.Revoked),
	}
	switch {
	case !t.Revoked.IsZero():
		row.State = "revoked"
	case !t.Valid(now):
		row.State = "expired"
	}
	return row
}

// formatTime formats a time for an answer: RFC 3339, in UTC, in whole seconds.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// timeOrNil returns a pointer to the formatted time, or nil for the zero time.
func timeOrNil(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := formatTime(t)
	return &text
}
