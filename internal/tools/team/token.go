package team

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A tokenCreateIn is the input of team_token_create. Tools, Prefix, ReadOnly and ExpiresIn restrict
// the token further than its roles do.
type tokenCreateIn struct {
	// a name, such as its owner or purpose
	Name string `json:"name" max:"100"`
	grant
	// the tools that it can call; default: all that the role allows
	Tools []string `json:"tools,omitempty" complete:"tool" absent:"all that the role allows"`
	// the folder below which it can write notes; it can read all of its vaults
	Prefix string `json:"prefix,omitempty" what:"path"`
	// it can only read, whatever its role
	ReadOnly bool `json:"readonly,omitempty"`
	// time until it expires: N minutes, hours, days or weeks, such as 90 days or 12h, up to 3650
	// days; default: it does not expire
	ExpiresIn string `json:"expires_in,omitempty" max:"20" absent:"never, or with the token that makes it" examples:"90 days,12h"`
	tool.Mutation
}

// A tokenCreateOut is the output of team_token_create. Token is the secret, which is returned this
// once and stored nowhere: the log has only its digest. It is nil in a dry run and for a repeated
// call.
type tokenCreateOut struct {
	tool.Aside `json:"-"`
	// created
	Action string `json:"action,omitempty"`
	// the token itself, which is shown this once; null in a replay and in a dry run
	Token *string `json:"token"`
	*TokenRow
	// vaults in the call that do not exist yet
	UnknownVaults []string  `json:"unknown_vaults,omitempty"`
	DryRun        bool      `json:"dry_run,omitempty"`
	WouldCreate   *TokenRow `json:"would_create,omitempty"`
}

// tokenCreate returns the tool that creates an API token.
func (f tools) tokenCreate() *tool.Tool {
	return changeTool(f, tool.Spec{
		Name: "team_token_create", Family: Family, Title: "Create an API token",
		Flags: map[string]string{"readonly": "token-readonly"},
		Role:  auth.Admin, Kind: tool.Write, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/tokens"},
		Commands: []tool.Command{{Words: "token create", Args: []string{"name"}}},
	}, f.createToken)
}

// createToken creates a token. The secret is generated once, outside the function that may run
// again, and is not in the recorded answer: a repetition of the call does not return it.
//
// The comparison of the ids at the end detects a repetition: the recorded answer has the id of the
// token that the first call created, and not that of the secret generated now. A caller that lost
// the answer must revoke the token and create another one.
func (f tools) createToken(
	ctx context.Context, w change, in tokenCreateIn,
) (tokenCreateOut, error) {
	s, _, err := w.tenant.State(ctx)
	if err != nil {
		return tokenCreateOut{}, err
	}
	made, err := f.tokenOf(w.caller, in, w.tenant.Now())
	switch {
	case fault.Is(err, fault.PermissionDenied):
		return tokenCreateOut{}, err
	case err != nil: // a call that is invalid now may have been valid at its first attempt
		return refuse[tokenCreateOut](ctx, w, err)
	}
	secret := auth.NewSecret(w.caller.Tenant)
	made.ID, made.Digest = secret.ID, secret.Digest()
	out, err := mutation.ChangeTenant(func(keep func(tokenCreateOut) any) (eventlog.Receipt, error) {
		return w.tenant.CreateToken(ctx, w.call, made, func(entry tenant.Token) any {
			row := rowOfToken(entry, entry.Created, time.Time{})
			out := tokenCreateOut{UnknownVaults: unknownVaults(s, entry.Roles)}
			if in.DryRun {
				row.ID = ""
				out.DryRun, out.WouldCreate = true, &row
			} else {
				out.Action, out.TokenRow = "created", &row
			}
			return keep(out)
		})
	})
	if err == nil && out.TokenRow != nil && out.ID == secret.ID {
		out.Token = new(secret.Token())
	}
	return out, err
}

// tokenOf returns the requested token, without its secret. It returns PERMISSION_DENIED if the
// roles exceed those of the caller, and INVALID_PARAMETER for other problems. The permission is
// checked last, so a malformed call is reported as such.
//
// The name is stored without spaces around it.
func (f tools) tokenOf(c auth.Caller, in tokenCreateIn, now time.Time) (tenant.Token, error) {
	made := tenant.Token{Name: strings.TrimSpace(in.Name), ReadOnly: in.ReadOnly}
	life, err := parseLifetime(in.ExpiresIn)
	if err != nil {
		return made, err
	}
	if made.Expires, err = expiryOf(c, life, now); err != nil {
		return made, err
	}
	if made.Roles, err = in.roles(); err != nil {
		return made, err
	}
	if made.Prefix, err = folderOf(in.Prefix); err != nil {
		return made, err
	}
	if made.Tools, err = f.toolNames(in.Tools); err != nil {
		return made, err
	}
	if err := auth.CheckName(made.Name); err != nil {
		return made, fault.Of(err).With("argument", "name")
	}
	return made, checkRoles(c, made.Roles)
}

// expiryOf returns the time at which a new token with this lifetime expires; the zero time means
// never. A token must not expire later than the token that creates it: a lifetime of 0 means the
// same time. Otherwise a token could extend its life by creating others. A caller that logged in as
// a person, and has no API token, has no such limit. The time is cut to whole seconds.
func expiryOf(c auth.Caller, life time.Duration, now time.Time) (time.Time, error) {
	own := time.Time{}
	if c.TokenID != "" {
		own = c.Expires
	}
	if life == 0 {
		return own, nil
	}
	end := now.Add(life).UTC().Truncate(time.Second)
	if !own.IsZero() && end.After(own) {
		return own, fault.New(fault.InvalidParameter,
			"a token cannot outlive the one that creates it, which expires at %s",
			own.UTC().Format(time.RFC3339)).With("argument", "expires_in").
			Fix("omit expires_in: they expire together")
	}
	return end, nil
}

// toolNames returns the long names of the given tools, sorted and without duplicates, or nil if the
// list is nil. A name can also be an alias. An empty list and an unknown name are
// INVALID_PARAMETER. A text of the list can contain several names, separated by commas.
//
// The names are checked against the tools of this version of the product. A token keeps the names
// that it was created with, also if a later version has other tools.
func (f tools) toolNames(given []string) ([]string, error) {
	if given != nil && len(given) == 0 { // an empty list must not mean all tools
		return nil, fault.New(fault.InvalidParameter,
			"give at least one tool, or omit tools for all that the role allows").
			With("argument", "tools")
	}
	known, names := map[string]string{}, []string{}
	for _, t := range f.all() {
		names = append(names, t.Name)
		for _, name := range append([]string{t.Name}, t.Aliases...) {
			known[name] = t.Name
		}
	}
	var long []string
	for _, name := range splitNames(given) {
		if known[name] != "" {
			long = append(long, known[name])
			continue
		}
		bad := fault.New(fault.InvalidParameter, "there is no tool with that name").
			With("argument", "tools")
		if near := fault.Nearest(name, names); near != "" {
			bad.Message += "; did you mean " + near + "?"
			bad = bad.Fix("use %s", near)
		}
		return nil, bad
	}
	slices.Sort(long)
	return slices.Compact(long), nil
}

// all returns all tools of the product, or nil if they are not known.
func (f tools) all() []*tool.Tool {
	if f.opt.All == nil {
		return nil
	}
	return f.opt.All()
}

// The limits of the lifetime of a token: at least a minute, at most ten years of 365 days.
const (
	minLifetime = time.Minute
	maxLifetime = 3650 * 24 * time.Hour
)

// The forms of a lifetime: a number, optionally a space, and a unit. The first letter of the unit
// decides; "m" means minutes, because there is no unit of months.
var (
	lifeForm = regexp.MustCompile(`^(\d{1,7}) ?(m|h|d|w|minutes?|hours?|days?|weeks?)$`)
	lifeUnit = map[byte]time.Duration{
		'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
	}
)

// parseLifetime parses a lifetime such as "90 days" or "12h". A day has 24 hours. An empty text is
// 0, which means that the token does not expire. Other texts, and lifetimes outside the limits, are
// INVALID_PARAMETER.
//
// The units of hours and days are fixed lengths, so a token that is created before a change of the
// clocks expires at another time of the day.
func parseLifetime(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	m := lifeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, lifetimeFault("expires_in must be a number of minutes, hours, days or weeks")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, lifetimeFault("expires_in must have a number of at most 7 digits")
	}
	life := time.Duration(n) * lifeUnit[m[2][0]]
	// seven digits of weeks overflow a Duration, so the upper limit is compared before the
	// multiplication counts
	if n > int64(maxLifetime/lifeUnit[m[2][0]]) || life < minLifetime {
		return 0, lifetimeFault("expires_in must be between 1 minute and 3650 days")
	}
	return life, nil
}

// lifetimeFault returns an INVALID_PARAMETER fault about the argument expires_in.
func lifetimeFault(message string) error {
	return fault.New(fault.InvalidParameter, "%s", message).With("argument", "expires_in").
		With("allowed", []string{"N minutes", "N hours", "N days", "N weeks"}).
		Fix(`use "90 days" or 12h`)
}

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
	return new(formatTime(t))
}

// A tokenRevokeIn is the input of team_token_revoke. The id is not secret: it is part of the token,
// and lists show it.
type tokenRevokeIn struct {
	// id of the token: the part between rk_ and the dot
	ID string `json:"id" max:"100" complete:"token"`
	tool.Mutation
}

// A tokenRevokeOut is the output of team_token_revoke. Action is revoked, or unchanged if the token
// was revoked before.
type tokenRevokeOut struct {
	tool.Aside `json:"-"`
	// revoked, or unchanged
	Action string `json:"action,omitempty"`
	*TokenRow
	DryRun      bool      `json:"dry_run,omitempty"`
	WouldUpdate *TokenRow `json:"would_update,omitempty"`
}

// tokenRevoke returns the tool that revokes an API token.
func (f tools) tokenRevoke() *tool.Tool {
	return changeTool(f, tool.Spec{
		Name: "team_token_revoke", Family: Family, Title: "Revoke an API token",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/tokens/revoke"},
		Commands: []tool.Command{{Words: "token revoke", Args: []string{"id"}}},
	}, f.revokeToken)
}

// revokeToken revokes a token, and the tokens that were created with it. A token that is already
// revoked is returned with the action unchanged. Other processes accept the token for up to a
// minute longer; see team.Tenant.RevokeToken.
func (f tools) revokeToken(
	ctx context.Context, w change, in tokenRevokeIn,
) (tokenRevokeOut, error) {
	return mutation.ChangeTenant(func(keep func(tokenRevokeOut) any) (eventlog.Receipt, error) {
		return w.tenant.RevokeToken(ctx, w.call, in.ID, func(entry tenant.Token, revoked bool) any {
			row := rowOfToken(entry, entry.Revoked, time.Time{})
			out := tokenRevokeOut{Action: "unchanged", TokenRow: &row}
			switch {
			case in.DryRun:
				out = tokenRevokeOut{DryRun: true, WouldUpdate: &row}
			case revoked:
				out.Action = "revoked"
			}
			return keep(out)
		})
	})
}
