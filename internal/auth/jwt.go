package auth

import (
	"cmp"
	"context"
	"crypto"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"rookery/internal/fault"
)

// Leeway is how far the clock of an issuer may be from ours.
const Leeway = time.Minute

// What a verifier remembers.
const (
	verifiedFor = time.Minute // a good signature, before it is checked again
	maxVerified = 4096        // tokens
	maxRemember = 4 << 10     // bytes of one of them; longer ones are checked each time
	maxKeyrings = 1024        // issuers
)

// Why a token is refused, for the log.
var (
	errNoAudience   = errors.New("no issuer or audience is expected")
	errTooLong      = errors.New("it is longer than any token")
	errNotPinned    = errors.New("its alg is not one of the issuer's")
	errBadSignature = errors.New("its signature is not of the key")
)

// Algorithms are the signature algorithms that an issuer may be pinned to.
func Algorithms() []string { return []string{"RS256", "ES256", "EdDSA"} }

// An Issuer is who makes tokens, as it was configured. URL is the exact `iss`.
type Issuer struct {
	URL        string
	JWKS       string   // where its keys are; empty: where the issuer's metadata says
	Algorithms []string // the only ones that its tokens may be signed with; none: all of Algorithms
	Public     bool     // set by a tenant: its URLs must be public https, see CheckURL
}

func (i Issuer) pins(alg string) bool {
	all := Algorithms()
	return slices.Contains(all, alg) &&
		(len(i.Algorithms) == 0 || slices.Contains(i.Algorithms, alg))
}

// Options are what a verifier needs of the world. The zero value is what a server has.
type Options struct {
	Now    func() time.Time // nil: the clock
	Client *http.Client     // asks the issuers of the server's file; nil: one of its own
	Public *http.Client     // asks those that tenants set; nil: one that reaches public addresses only

	// Queue is how many calls wait for the keys of the server's issuers at a time, and again for those of
	// tenants' issuers; 0: 96. It is to be well below how many calls the server serves at once.
	Queue int
}

// A Verifier verifies the tokens of any number of issuers, and keeps their keys. It may be used by many
// at once.
type Verifier struct {
	now      func() time.Time
	rings    *lru.Cache[source, *keyring]
	verified *lru.Cache[remembered, proof]
	fetch    fetcher

	queue, publicQueue chan struct{} // who waits for keys
}

// remembered names a token of which a signature was good, by its SHA-256.
type remembered struct {
	token [sha256.Size]byte
	from  source
}

// proof is what a token with a good signature says.
type proof struct {
	alg    string
	claims map[string]any
	at     time.Time // when the signature was checked
}

// NewVerifier makes a verifier that has no keys yet.
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
	v.verified, _ = lru.New[remembered, proof](maxVerified)
	return v
}

// Verify is what a token of the issuer says, if it is good now: signed with a key and an algorithm of
// the issuer, made for one of the audiences, neither too old nor too young by more than Leeway, and in
// the form that RFC 7519, 8725 and 9068 ask for. A token that is not is Refused; one that would be
// good but for its age is TOKEN_EXPIRED; and one whose key cannot be known, because the issuer does
// not answer, is UNAVAILABLE. A good signature is checked once a minute, all else at every call.
func (v *Verifier) Verify(
	ctx context.Context, token string, from Issuer, audiences []string,
) (Claims, error) {
	if from.URL == "" || len(audiences) == 0 || slices.Contains(audiences, "") {
		return Claims{}, Refused().Because(errNoAudience)
	}
	p, err := v.prove(ctx, token, from)
	if err == nil && !from.pins(p.alg) {
		err = errNotPinned
	}
	if fault.Is(err, fault.Unavailable) {
		return Claims{}, err
	}
	if err != nil {
		return Claims{}, Refused().Because(err)
	}
	return v.judge(p.claims, from.URL, audiences)
}

// prove checks the signature, unless it was good a moment ago.
func (v *Verifier) prove(ctx context.Context, token string, from Issuer) (proof, error) {
	if len(token) > maxToken {
		return proof{}, errTooLong
	}
	id := remembered{sha256.Sum256([]byte(token)), sourceOf(from)}
	if p, ok := v.verified.Get(id); ok && v.now().Sub(p.at).Abs() < verifiedFor {
		return p, nil
	}
	t, err := parse(token)
	if err != nil {
		return proof{}, err
	}
	if !from.pins(t.alg) {
		return proof{}, errNotPinned
	}
	key, err := v.ring(id.from).find(ctx, t.alg, t.kid)
	if err != nil {
		return proof{}, err
	}
	if err := checkSignature(token, t.alg, key); err != nil {
		return proof{}, err
	}
	p := proof{alg: t.alg, claims: t.claims, at: v.now()}
	if len(token) <= maxRemember {
		v.verified.Add(id, p)
	}
	return p, nil
}

// checkSignature checks with a key of which find has seen that it is one for the algorithm.
func checkSignature(token, alg string, key crypto.PublicKey) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{alg}), jwt.WithStrictDecoding(),
		jwt.WithJSONNumber(), jwt.WithoutClaimsValidation())
	if _, err := parser.Parse(token, func(*jwt.Token) (any, error) { return key, nil }); err != nil {
		return errBadSignature
	}
	return nil
}

// judge says whether the claims are right here and now.
func (v *Verifier) judge(all jwt.MapClaims, issuer string, audiences []string) (Claims, error) {
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

// onlyExpired reports whether the age of the token is all that is wrong.
func onlyExpired(err error) bool {
	many, ok := err.(interface{ Unwrap() []error })
	return ok && len(many.Unwrap()) == 1 && errors.Is(err, jwt.ErrTokenExpired)
}

// ring is the keyring of a source, the same for all who ask.
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
