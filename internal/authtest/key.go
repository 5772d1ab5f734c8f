package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"math/big"
	"testing"
)

// A Key signs tokens. Extra are members that its public form has, too.
type Key struct {
	Alg    string
	ID     string // empty: its public form has none
	Signer crypto.Signer
	Extra  map[string]any

	tb testing.TB
}

// NewKey makes a key for RS256, ES256 or EdDSA.
func NewKey(tb testing.TB, alg, id string) Key {
	var signer crypto.Signer
	var err error
	switch alg {
	case "RS256":
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ES256":
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, signer, err = ed25519.GenerateKey(rand.Reader)
	default:
		tb.Fatalf("no key for %q", alg)
	}
	if err != nil {
		tb.Fatalf("make a key: %v", err)
	}
	return Key{Alg: alg, ID: id, Signer: signer, tb: tb}
}

// Token signs a header and claims, which are JSON or whatever a test wants to see refused.
func (k Key) Token(header, claims string) string {
	text := segment([]byte(header)) + "." + segment([]byte(claims))
	return text + "." + segment(k.sign([]byte(text)))
}

// sign is the signature of RFC 7518 §3.3 and §3.4, or RFC 8037 §3.1.
func (k Key) sign(text []byte) []byte {
	sum := sha256.Sum256(text)
	var signature []byte
	var err error
	switch s := k.Signer.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(rand.Reader, s, crypto.SHA256, sum[:])
	case *ecdsa.PrivateKey:
		var r, z *big.Int
		r, z, err = ecdsa.Sign(rand.Reader, s, sum[:])
		if err == nil {
			signature = make([]byte, 64)
			r.FillBytes(signature[:32])
			z.FillBytes(signature[32:])
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(s, text)
	}
	if err != nil {
		k.tb.Fatalf("sign: %v", err)
	}
	return signature
}

// Public is the key as a set serves it (RFC 7517, RFC 7518 §6, RFC 8037 §2).
func (k Key) Public() map[string]any {
	m := map[string]any{"use": "sig", "alg": k.Alg}
	if k.ID != "" {
		m["kid"] = k.ID
	}
	switch p := k.Signer.Public().(type) {
	case *rsa.PublicKey:
		m["kty"], m["n"] = "RSA", segment(p.N.Bytes())
		m["e"] = segment(big.NewInt(int64(p.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := p.Bytes()
		if err != nil {
			k.tb.Fatalf("write a key: %v", err)
		}
		half := len(point) / 2
		m["kty"], m["crv"] = "EC", p.Curve.Params().Name
		m["x"], m["y"] = segment(point[1:1+half]), segment(point[1+half:])
	case ed25519.PublicKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", segment(p)
	}
	for name, value := range k.Extra {
		if m[name] = value; value == nil {
			delete(m, name)
		}
	}
	return m
}
