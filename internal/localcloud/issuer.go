package localcloud

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/rookeryhq/rookery/internal/auth"
)

// An Issuer is an identity provider for tests. Every client can get a token of any person, so it
// listens on loopback only. Its paths are KeysPath and TokenPath.
type Issuer struct {
	URL string // the `iss` claim of its tokens

	audience string
	host     string // HOST:PORT
	key      *rsa.PrivateKey
	server   *http.Server
}

// The paths of an Issuer.
const (
	KeysPath = "/jwks.json" // the public key as a JWK set (RFC 7517)

	// TokenPath returns a token as text. The parameter `subject` is required; `role` is a role.
	TokenPath = "/token"
)

// The claim, key and lifetime of an Issuer's tokens.
const (
	rolesClaim = "roles"
	keyID      = "key-1"
	keyBits    = 2048
	tokenLife  = 24 * time.Hour
)

// NewIssuer starts an issuer with a new key at HOST:PORT on loopback. audience is the `aud` claim
// of its tokens.
func NewIssuer(ctx context.Context, listen, audience string) (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make the key of an issuer: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("listen for an issuer: %w", err)
	}
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(errors.New("an issuer for tests listens on loopback only"), l.Close())
	}
	i := &Issuer{URL: "http://" + at.String(), audience: audience, host: at.String(), key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+KeysPath, i.keys)
	mux.HandleFunc("GET "+TokenPath, i.issue)
	i.server = &http.Server{Handler: i.own(mux), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(l) }() // it ends at Close
	return i, nil
}

// Close stops the issuer.
func (i *Issuer) Close() { _ = i.server.Close() } // running requests are cut off

// own refuses requests for another host name, which a web page may have caused (DNS rebinding).
func (i *Issuer) own(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != i.host {
			http.Error(w, "another host", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// keys serves KeysPath.
func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{
		Key: i.key.Public(), KeyID: keyID, Algorithm: jwt.SigningMethodRS256.Alg(), Use: "sig",
	}}})
}

// issue serves TokenPath.
func (i *Issuer) issue(w http.ResponseWriter, r *http.Request) {
	subject, role := r.FormValue("subject"), r.FormValue("role")
	if subject == "" || role != "" && !auth.Role(role).Valid() {
		http.Error(w, "name a subject, and as role reader, editor or admin", http.StatusBadRequest)
		return
	}
	claims := map[string]any{"sub": subject}
	if role != "" {
		claims[rolesClaim] = role
	}
	token, err := i.Token(claims)
	if err != nil {
		http.Error(w, "the token cannot be signed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, token+"\n")
}

// Token returns a token, signed with RS256, with these claims, of which `sub` is required. It is
// valid for one day. Claims may override the default ones.
func (i *Issuer) Token(claims map[string]any) (string, error) {
	now := time.Now()
	all := jwt.MapClaims{
		"iss": i.URL, "aud": i.audience, "iat": now.Unix(), "exp": now.Add(tokenLife).Unix(), "jti": rand.Text(),
	}
	maps.Copy(all, claims)
	made := jwt.NewWithClaims(jwt.SigningMethodRS256, all)
	made.Header["kid"] = keyID
	token, err := made.SignedString(i.key)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return token, nil
}

// environment returns the variable that makes functions accept the issuer's tokens; the role of a
// token without one is reader.
func (i *Issuer) environment(tenant string) (string, error) {
	data, err := json.Marshal([]map[string]any{{
		"issuer": i.URL, "jwks_url": i.URL + KeysPath, "algorithms": []string{jwt.SigningMethodRS256.Alg()},
		"tenant": tenant, "roles_claim": rolesClaim, "role": auth.Reader,
	}})
	return "ROOKERY_ISSUERS=" + string(data), err
}
