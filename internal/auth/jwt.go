package auth

import (
	"cmp"
	"context"
	"crypto"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Leeway is the accepted difference between the clock of an issuer and ours.
const Leeway = time.Minute

// maxKeyrings is the number of issuers whose keys a Verifier caches.
const maxKeyrings = 1024

// Reasons for refusing a token, for the log.
var (
	errNoAudience   = errors.New("no issuer or audience is expected")
	errTooLong      = errors.New("it is longer than any token")
	errNotPinned    = errors.New("its alg is not one of the issuer's")
	errBadSignature = errors.New("its signature is not of the key")
)

// Algorithms returns the signature algorithms that an issuer may use.
func Algorithms() []string { return []string{"RS256", "ES256", "EdDSA"} }

// An Issuer is a configured issuer of tokens. URL is the exact value of `iss`.
type Issuer struct {
	URL        string
	JWKS       string   // URL of its keys; empty: as in the issuer's metadata
	Algorithms []string // allowed algorithms; empty: all of Algorithms
	Public     bool     // set by a tenant: its URLs must be public https; see CheckURL
}

// pins reports whether a token of the issuer may use an algorithm.
func (i Issuer) pins(alg string) bool {
	all := Algorithms()
	return slices.Contains(all, alg) &&
		(len(i.Algorithms) == 0 || slices.Contains(i.Algorithms, alg))
}

// Options are the options of a Verifier. The zero value is that of a server.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Public *http.Client     // for issuers set by tenants; nil: a client that reaches only public addresses

	// Queue is how many calls may wait for the keys of the server's issuers at a time, and
	// separately for those of tenants' issuers; 0: 96. It should be well below the number of calls
	// that the server runs at once.
	Queue int
}

// A Verifier verifies the tokens of any number of issuers, and caches their keys. It is safe for
// concurrent use. It keeps no tokens: each call of Verify checks the signature again.
type Verifier struct {
	now   func() time.Time
	rings *lru.Cache[source, *keyring]
	fetch fetcher

	queue, publicQueue chan struct{} // full slots: calls that wait for keys
}

// NewVerifier returns a Verifier without keys. It fetches keys when they are needed.
func NewVerifier(o Options) *Verifier {
	v := &Verifier{
		now: o.Now, fetch: newFetcher(o),
		queue:       make(chan struct{}, cmp.Or(o.Queue, maxQueue)),
		publicQueue: make(chan struct{}, cmp.Or(o.Queue, maxQueue)),
	}
	if v.now == nil {
		v.now = time.Now
	}
	v.rings, _ = lru.New[source, *keyring](maxKeyrings) // fails only for sizes below one
	return v
}

// Verify verifies a token of an issuer and returns its claims. The token must have the form that
// RFC 7519, 8725 and 9068 require, be signed with a key and an allowed algorithm of the issuer, be
// for one of the audiences, and be valid now within Leeway. Otherwise the error is Refused;
// TOKEN_EXPIRED if only the expiry is wrong; or UNAVAILABLE if the key is not known because the
// issuer does not respond.
func (v *Verifier) Verify(
	ctx context.Context, token string, from Issuer, audiences []string,
) (Claims, error) {
	if from.URL == "" || len(audiences) == 0 || slices.Contains(audiences, "") {
		return Claims{}, Refused().Because(errNoAudience)
	}
	claims, err := v.verifySignature(ctx, token, from)
	if fault.Is(err, fault.Unavailable) {
		return Claims{}, err
	}
	if err != nil {
		return Claims{}, Refused().Because(err)
	}
	return v.checkClaims(claims, from.URL, audiences)
}

// verifySignature verifies the signature of a token, and returns its claims. The algorithm must be allowed
// for the issuer before a key is looked for, so that a token with another algorithm causes no
// fetch.
func (v *Verifier) verifySignature(
	ctx context.Context, token string, from Issuer,
) (map[string]any, error) {
	t, err := parse(token)
	if err != nil {
		return nil, err
	}
	if !from.pins(t.alg) {
		return nil, errNotPinned
	}
	key, err := v.ring(sourceOf(from)).find(ctx, t.alg, t.kid)
	if err != nil {
		return nil, err
	}
	return t.claims, checkSignature(token, t.alg, key)
}

// checkSignature verifies a signature. The key must be one for the algorithm, which keyring.find
// ensures.
func checkSignature(token, alg string, key crypto.PublicKey) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{alg}), jwt.WithStrictDecoding(),
		jwt.WithJSONNumber(), jwt.WithoutClaimsValidation())
	if _, err := parser.Parse(token, func(*jwt.Token) (any, error) { return key, nil }); err != nil {
		return errBadSignature
	}
	return nil
}

// checkClaims checks the claims of a token with a verified signature: the issuer, one of the audiences,
// and the times within Leeway. Only a token that is valid in every other respect is reported as
// expired, because that shows the sender that the rest was accepted.
func (v *Verifier) checkClaims(all jwt.MapClaims, issuer string, audiences []string) (Claims, error) {
	c, err := claimsOf(all)
	if err != nil {
		return Claims{}, Refused().Because(err)
	}
	rules := jwt.NewValidator(jwt.WithTimeFunc(v.now), jwt.WithLeeway(Leeway),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithIssuer(issuer), jwt.WithAudience(audiences...))
	err = rules.Validate(all)
	if onlyExpired(err) {
		return Claims{}, Expired()
	}
	if err != nil {
		return Claims{}, Refused().Because(err)
	}
	return c, nil
}

// onlyExpired reports whether the expiry is the only error.
func onlyExpired(err error) bool {
	many, ok := err.(interface{ Unwrap() []error })
	return ok && len(many.Unwrap()) == 1 && errors.Is(err, jwt.ErrTokenExpired)
}

// ring returns the keyring of a source, and creates it if necessary. All callers share one keyring
// for each source.
func (v *Verifier) ring(s source) *keyring {
	if r, ok := v.rings.Get(s); ok {
		return r
	}
	fresh := &keyring{source: s, now: v.now, fetch: v.fetch.keys, queue: v.queue}
	if s.public {
		fresh.queue = v.publicQueue
	}
	if r, ok, _ := v.rings.PeekOrAdd(s, fresh); ok {
		return r
	}
	return fresh
}
