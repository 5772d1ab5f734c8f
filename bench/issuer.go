package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// An issuer makes JSON Web Tokens signed with RS256, and serves its key on loopback.
type issuer struct {
	url    string
	key    *rsa.PrivateKey
	server *http.Server
}

// Of an issuer.
const (
	jwksPath = "/jwks.json"
	keyID    = "key-1"
	keyBits  = 2048
	jwtLife  = 24 * time.Hour
)

func newIssuer() (*issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve a key: %w", err)
	}
	i := &issuer{url: "http://" + l.Addr().String(), key: key}
	i.server = &http.Server{Handler: http.HandlerFunc(i.keys), ReadHeaderTimeout: time.Minute}
	go func() { _ = i.server.Serve(l) }() // it ends when it is closed
	return i, nil
}

// close stops serving the key.
func (i *issuer) close() { _ = i.server.Close() }

// keys answers the public key as a set (RFC 7517).
func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": keyID, "e": "AQAB",
		"n": base64.RawURLEncoding.EncodeToString(i.key.N.Bytes()),
	}}})
}

// token is one for the host, of this subject.
func (i *issuer) token(subject string) (string, error) {
	now := time.Now()
	head, err := part(map[string]any{"alg": "RS256", "typ": "JWT", "kid": keyID})
	if err != nil {
		return "", err
	}
	claims, err := part(map[string]any{
		"iss": i.url, "sub": subject, "aud": hostURL, "iat": now.Unix(), "exp": now.Add(jwtLife).Unix(),
		"jti": rand.Text(),
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(head + "." + claims))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return head + "." + claims + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// part is one part of a token.
func part(v any) (string, error) {
	data, err := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(data), err
}
