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
	return tool.New(tool.Spec{
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
	ctx context.Context, c auth.Caller, in tokenCreateIn,
) (tokenCreateOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return tokenCreateOut{}, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return tokenCreateOut{}, err
	}
	made, err := f.tokenOf(c, in, t.Now())
	switch {
	case fault.Is(err, fault.PermissionDenied):
		return tokenCreateOut{}, err
	case err != nil: // a call that is invalid now may have been valid at its first attempt
		return refuse[tokenCreateOut](ctx, t, call, err)
	}
	secret := auth.NewSecret(c.Tenant)
	made.ID, made.Digest = secret.ID, secret.Digest()
	out, err := mutation.ChangeTenant(func(keep func(tokenCreateOut) any) (eventlog.Receipt, error) {
		return t.CreateToken(ctx, call, made, func(entry tenant.Token) any {
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
		text := secret.Token()
		out.Token = &text
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
