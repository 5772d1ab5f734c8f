package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A Gate authenticates requests. It is safe for concurrent use. It caches the verification of
// tokens, by their digests, but never a decision on a caller's roles.
type Gate struct {
	opt   GateOptions
	cache *lru.Cache[[sha256.Size]byte, verifiedToken]

	// locked is set once a token is required; it never becomes false again.
	locked atomic.Bool
}

// GateOptions are the options of a Gate. Tenants is required. Verifier is required if there are
// issuers or a public URL.
type GateOptions struct {
	Tenants   *tenant.Registry
	Verifier  *auth.Verifier
	PublicURL string   // of the deployment, without a trailing slash; empty: none
	Issuers   []Issuer // of the deployment; the first one that accepts a token is used

	// AllowLocalTenant says that a claim in a token of the deployment's issuers may name the tenant local,
	// which always exists.
	AllowLocalTenant bool

	// OpenTenant opens the tenant of a verified token of the deployment's issuers, and may create it. It
	// returns UNAUTHENTICATED if there is no such tenant. Nil: Registry.Tenant.
	OpenTenant func(ctx context.Context, tenant string) (*tenant.Tenant, error)

	// Closed says that every request needs a token. Otherwise a request without a token, from this
	// machine, is auth.LocalCaller as long as the tenant local has no API token (CONTRACT §4,
	// team).
	Closed bool

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: no logging
}

// cacheLife is how long the verification of a token is cached, cacheSize how many are cached, and
// maxCachedToken the longest token, in bytes, that is cached.
const (
	cacheLife      = time.Minute
	cacheSize      = 4 << 10
	maxCachedToken = 4 << 10
)

// NewGate returns a Gate.
func NewGate(o GateOptions) *Gate {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OpenTenant == nil {
		o.OpenTenant = o.Tenants.Tenant
	}
	g := &Gate{opt: o}
	g.cache, _ = lru.New[[sha256.Size]byte, verifiedToken](cacheSize) // the size is positive
	g.locked.Store(o.Closed)
	return g
}

// Caller authenticates a request and returns its caller. It returns UNAUTHENTICATED, without
// details, for a missing or invalid token, TOKEN_EXPIRED for an expired one, and UNAVAILABLE if the
// token cannot be checked now.
func (g *Gate) Caller(r *http.Request) (auth.Caller, error) {
	c, err := g.caller(r)
	if err != nil && fault.Of(err).Code == fault.Internal { // a store failed
		g.opt.Log.WarnContext(r.Context(), "a caller cannot be authenticated now", slog.Any("cause", err))
		err = fault.New(fault.Unavailable, "authentication is not available now").After(time.Second).Because(err)
	}
	return c, err
}

// caller is Caller with unchanged errors of the stores.
func (g *Gate) caller(r *http.Request) (auth.Caller, error) {
	token, sent, ok := bearer(r.Header)
	switch {
	case !sent:
		return g.anonymous(r)
	case !ok:
		return auth.Caller{}, auth.Refused()
	case auth.IsAPIToken(token):
		return g.byAPIToken(r.Context(), token)
	}
	return g.byJWT(r.Context(), token, r.URL.Path)
}

// closed reports whether every request needs a token: the server was started so, or the tenant
// local has had an API token since this process first looked. The first valid token closes the
// server, because its creator relies on it.
func (g *Gate) closed(ctx context.Context) (bool, error) {
	if g.locked.Load() {
		return true, nil
	}
	t, err := g.opt.Tenants.Tenant(ctx, auth.Local)
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

// anonymous returns the caller of a request without a token: auth.LocalCaller if the server is not
// closed and the connection came in on a loopback address. The local address of the connection
// decides, because headers and the remote address of a proxy say nothing about the sender. A
// request whose context has no local address is trusted as far as the server is open.
func (g *Gate) anonymous(r *http.Request) (auth.Caller, error) {
	closed, err := g.closed(r.Context())
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		host, _, _ := net.SplitHostPort(at.String())
		closed = closed || !net.ParseIP(host).IsLoopback() // not this machine, or unknown
	}
	switch {
	case err != nil:
		return auth.Caller{}, err
	case closed:
		return auth.Caller{}, fault.New(fault.Unauthenticated, "authentication is required, and the request "+
			"has no token").Fix("send the header Authorization: Bearer TOKEN")
	}
	return auth.LocalCaller(), nil
}

// bearer returns the token of a request (RFC 6750 §2.1). sent reports whether there is an
// Authorization header, and ok whether there is exactly one, with a Bearer token. Other ways to
// send a token are not supported.
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

// byAPIToken authenticates an API token.
func (g *Gate) byAPIToken(ctx context.Context, text string) (auth.Caller, error) {
	secret, ok := auth.ParseAPIToken(text)
	if !ok {
		return auth.Caller{}, auth.Refused()
	}
	return g.withTenant(ctx, secret.Tenant, g.opt.Tenants.Tenant, func(t *tenant.Tenant) (auth.Caller, error) {
		c, err := decideFresh(t, func(state stateReader) (auth.Caller, error) {
			return g.apiTokenCaller(ctx, t, secret, state)
		})
		if err == nil {
			t.Used(ctx, secret.ID)
		}
		return c, err
	})
}

// withTenant opens the tenant that a token names, and returns the result of decide. If the tenant was
// erased meanwhile, it tries again with the tenant that has the name now, which refuses the token
// unless it has the same one. enter opens the tenant.
func (g *Gate) withTenant(
	ctx context.Context, name string, enter func(context.Context, string) (*tenant.Tenant, error),
	decide func(*tenant.Tenant) (auth.Caller, error),
) (auth.Caller, error) {
	for {
		t, err := hideMissing(enter(ctx, name))
		if err != nil {
			return auth.Caller{}, err
		}
		c, err := decide(t)
		if err == nil || !t.Gone() {
			return c, err
		}
	}
}

// A stateReader reads the state of a tenant: it is Team.Current or Team.Fresh.
type stateReader func(context.Context) (*tenant.State, error)

// decideFresh returns the result of decide on the known state or, if that is UNAUTHENTICATED, on the
// newest state. So a new token, or a new rule, is accepted in every process at once.
func decideFresh(
	t *tenant.Tenant, decide func(stateReader) (auth.Caller, error),
) (auth.Caller, error) {
	c, err := decide(t.Current)
	if fault.Is(err, fault.Unauthenticated) {
		return decide(t.Fresh)
	}
	return c, err
}

// apiTokenCaller returns the caller of an API token in a state of its tenant. An unknown id is compared
// with an empty digest, which no secret matches. The secret is checked before anything about the
// token is revealed, so only its owner learns that it has expired.
func (g *Gate) apiTokenCaller(
	ctx context.Context, t *tenant.Tenant, secret auth.Secret, state stateReader,
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
	c := newCaller(secret.Tenant, auth.APIToken(entry.ID), entry.Name)
	c.Roles, c.Prefix, c.Tools, c.ReadOnly = entry.Roles, entry.Prefix, entry.Tools, entry.ReadOnly
	c.TokenID, c.Expires = entry.ID, entry.Expires
	c.Refresh = func(ctx context.Context) (auth.Caller, error) {
		return g.apiTokenCaller(ctx, t, secret, t.Fresh)
	}
	return c, nil
}

// newCaller returns a caller without any roles.
func newCaller(tenant, principal, name string) auth.Caller {
	return auth.Caller{
		Tenant: tenant, Principal: principal, Name: name, Agent: principal,
		Session: auth.DefaultSession,
	}
}

// tenant opens the tenant that a token names. A missing tenant is refused like an invalid token.
func (g *Gate) tenant(ctx context.Context, name string) (*tenant.Tenant, error) {
	return hideMissing(g.opt.Tenants.Tenant(ctx, name))
}

// hideMissing replaces the error of a missing tenant by auth.Refused, so that callers cannot find out
// which tenants exist.
func hideMissing(t *tenant.Tenant, err error) (*tenant.Tenant, error) {
	if fault.Is(err, fault.Unauthenticated) {
		return nil, auth.Refused()
	}
	return t, err
}

// The rate limit headers, as net/http stores them. Canonicalizing them for each response would cost
// more than the rate limit itself.
var (
	limitHeader     = http.CanonicalHeaderKey("RateLimit-Limit")
	remainingHeader = http.CanonicalHeaderKey("RateLimit-Remaining")
	resetHeader     = http.CanonicalHeaderKey("RateLimit-Reset")
)

// SetRateHeaders writes the remaining allowance of a caller into the response headers, if the caller has a
// rate limit: the largest burst, the number of calls allowed now, and the seconds until the full
// burst is available.
func SetRateHeaders(h http.Header, left auth.Allowance) {
	if left.Limit == 0 {
		return
	}
	h[limitHeader] = []string{strconv.Itoa(left.Limit)}
	h[remainingHeader] = []string{strconv.Itoa(left.Remaining)}
	h[resetHeader] = []string{strconv.Itoa(int(math.Ceil(left.Reset.Seconds())))}
}
