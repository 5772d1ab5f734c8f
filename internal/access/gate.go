package access

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/team"
)

// A Gate finds out who sends a request. It is safe for concurrent use.
type Gate struct {
	opt   GateOptions
	shown *lru.Cache[[sha256.Size]byte, shown]

	// locked is set once somebody has been asked for a token; from then on everybody is.
	locked atomic.Bool
}

// GateOptions are what a Gate is made with. Teams is required; Verifier is too, where there are issuers
// or a public URL.
type GateOptions struct {
	Teams     *team.Teams
	Verifier  *auth.Verifier
	PublicURL string   // of the deployment, without a slash at its end; empty: it has none
	Issuers   []Issuer // of the deployment; the first one that a token fits counts

	// Guests says that a claim of the deployment's issuers may name the tenant local, which is always there.
	Guests bool

	// Enter opens the tenant that a verified token of an issuer of the deployment leads to, and may make it. One
	// that does not exist is UNAUTHENTICATED. Nil: Teams.Team.
	Enter func(ctx context.Context, tenant string) (*team.Team, error)

	// Closed says that a request without a token is refused. Else everybody is auth.LocalCaller, as long
	// as the tenant of that name has no API token (CONTRACT §4, team); and no request may come here but
	// from this machine.
	Closed bool

	Now func() time.Time // nil: the clock
	Log *slog.Logger     // nil: nothing is logged
}

// shownLife is how long a token counts as verified, and shownMost how many do at once, of those that are
// not longer than shownLong.
const (
	shownLife = time.Minute
	shownMost = 4 << 10
	shownLong = 4 << 10
)

// NewGate makes a Gate.
func NewGate(o GateOptions) *Gate {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Enter == nil {
		o.Enter = o.Teams.Team
	}
	g := &Gate{opt: o}
	g.shown, _ = lru.New[[sha256.Size]byte, shown](shownMost) // the size is positive
	g.locked.Store(o.Closed)
	return g
}

// Caller is who sends a request, as its token proves it. Without one, or with one that proves nothing,
// it is UNAUTHENTICATED, and nobody is told what was wrong; with one that has expired, TOKEN_EXPIRED;
// UNAVAILABLE is one of which nobody can tell just now.
func (g *Gate) Caller(r *http.Request) (auth.Caller, error) {
	c, err := g.caller(r)
	if err != nil && fault.Of(err).Code == fault.Internal { // the stores did not answer
		g.opt.Log.WarnContext(r.Context(), "a caller is not known for now", slog.Any("cause", err))
		err = fault.New(fault.Unavailable, "who calls cannot be found out just now").After(time.Second).Because(err)
	}
	return c, err
}

// caller is Caller, with errors of the stores as they are.
func (g *Gate) caller(r *http.Request) (auth.Caller, error) {
	token, sent, ok := bearer(r.Header)
	switch {
	case !sent:
		return g.stranger(r)
	case !ok:
		return auth.Caller{}, auth.Refused()
	case auth.IsAPIToken(token):
		return g.byAPIToken(r.Context(), token)
	}
	return g.byJWT(r.Context(), token, r.URL.Path)
}

// closed reports whether everybody must show a token.
func (g *Gate) closed(ctx context.Context) (bool, error) {
	if g.locked.Load() {
		return true, nil
	}
	t, err := g.opt.Teams.Team(ctx, auth.Local)
	if err != nil {
		return true, err
	}
	s, err := t.Current(ctx)
	if err != nil {
		return true, err
	}
	if s.HasTokens(g.opt.Now()) {
		g.locked.Store(true)
	}
	return g.locked.Load(), nil
}

// stranger is who sends a request without a token.
func (g *Gate) stranger(r *http.Request) (auth.Caller, error) {
	closed, err := g.closed(r.Context())
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		host, _, _ := net.SplitHostPort(at.String())
		closed = closed || !net.ParseIP(host).IsLoopback() // it is an address, or not of this machine
	}
	switch {
	case err != nil:
		return auth.Caller{}, err
	case closed:
		return auth.Caller{}, fault.New(fault.Unauthenticated, "this server asks who calls, and the "+
			"request has no token").Fix("send the header Authorization: Bearer TOKEN")
	}
	return auth.LocalCaller(), nil
}

// bearer is the token of a request (RFC 6750 §2.1), whether it has one, and whether that has the form of
// one. There is no other way to send one.
func bearer(h http.Header) (token string, sent, ok bool) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", false, true
	}
	scheme, token, two := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	ok = len(values) == 1 && two && strings.EqualFold(scheme, "Bearer") && token != ""
	return token, true, ok
}

// byAPIToken is the caller that an API token is.
func (g *Gate) byAPIToken(ctx context.Context, text string) (auth.Caller, error) {
	secret, ok := auth.ParseAPIToken(text)
	if !ok {
		return auth.Caller{}, auth.Refused()
	}
	return g.within(ctx, secret.Tenant, g.opt.Teams.Team, func(t *team.Team) (auth.Caller, error) {
		c, err := decided(t, func(state stateOf) (auth.Caller, error) {
			return g.ofAPIToken(ctx, t, secret, state)
		})
		if err == nil {
			t.Used(ctx, secret.ID)
		}
		return c, err
	})
}

// within is what a tenant that a token names decides, which enter opens. Where that is found to be erased meanwhile,
// it is the one that has the name now, if there is one.
func (g *Gate) within(
	ctx context.Context, name string, enter func(context.Context, string) (*team.Team, error),
	decide func(*team.Team) (auth.Caller, error),
) (auth.Caller, error) {
	for {
		t, err := refusing(enter(ctx, name))
		if err != nil {
			return auth.Caller{}, err
		}
		c, err := decide(t)
		if err == nil || !t.Gone() {
			return c, err
		}
	}
}

// stateOf is a way to the state of a tenant: Current or Fresh.
type stateOf func(context.Context) (*team.State, error)

// decided is what is decided on the state that is known and, where that is a no, on the newest.
func decided(
	t *team.Team, decide func(stateOf) (auth.Caller, error),
) (auth.Caller, error) {
	c, err := decide(t.Current)
	if fault.Is(err, fault.Unauthenticated) {
		return decide(t.Fresh)
	}
	return c, err
}

func (g *Gate) ofAPIToken(
	ctx context.Context, t *team.Team, secret auth.Secret, state stateOf,
) (auth.Caller, error) {
	s, err := state(ctx)
	if err != nil {
		return auth.Caller{}, err
	}
	entry, _ := s.Token(secret.ID)
	now := g.opt.Now()
	switch matches := secret.Matches(entry.Digest); {
	case !matches || !entry.Revoked.IsZero():
		return auth.Caller{}, auth.Refused()
	case !entry.Valid(now):
		return auth.Caller{}, auth.Expired()
	}
	c := known(secret.Tenant, auth.APIToken(entry.ID), entry.Name)
	c.Roles, c.Prefix, c.Tools, c.ReadOnly = entry.Roles, entry.Prefix, entry.Tools, entry.ReadOnly
	c.TokenID, c.Expires = entry.ID, entry.Expires
	c.Again = func(ctx context.Context) (auth.Caller, error) {
		return g.ofAPIToken(ctx, t, secret, t.Fresh)
	}
	return c, nil
}

// known is a caller of a tenant who may do nothing yet.
func known(tenant, principal, name string) auth.Caller {
	return auth.Caller{
		Tenant: tenant, Principal: principal, Name: name, Agent: principal,
		Session: auth.DefaultSession,
	}
}

// tenant is a tenant that a token names. One that does not exist is told by nobody.
func (g *Gate) tenant(ctx context.Context, name string) (*team.Team, error) {
	return refusing(g.opt.Teams.Team(ctx, name))
}

// refusing returns a tenant as it is, and a refusal in place of the error that there is none.
func refusing(t *team.Team, err error) (*team.Team, error) {
	if fault.Is(err, fault.Unauthenticated) {
		return nil, auth.Refused()
	}
	return t, err
}
