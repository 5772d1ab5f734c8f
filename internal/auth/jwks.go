package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// RSA keys are at least so long (RFC 7518 §3.3), and not so long that one signature takes an age.
const (
	minRSA = 2048 // bits
	maxRSA = 8192
)

// keysIn reads a JSON Web Key Set (RFC 7517 §5). Keys that we cannot use, or whose owner means them for
// something else, are left out: an odd key does not take the others with it.
func keysIn(body []byte) ([]key, error) {
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the answer is no set of keys")
	}
	if len(*set.Keys) > maxKeys {
		return nil, fmt.Errorf("the set has more than %d keys", maxKeys)
	}
	var all []key
	for _, raw := range *set.Keys {
		if k, ok := keyIn(raw); ok {
			all = append(all, k)
		}
	}
	return all, nil
}

// keyIn reads one key. It is for one algorithm only, whatever a token says: that of its type.
func keyIn(raw json.RawMessage) (key, bool) {
	var k jose.JSONWebKey
	var more struct {
		Ops []string `json:"key_ops"`
	}
	if json.Unmarshal(raw, &more) != nil || k.UnmarshalJSON(raw) != nil {
		return key{}, false
	}
	alg, ok := algorithmOf(k.Key)
	meant := (k.Use == "" || k.Use == "sig") && (k.Algorithm == "" || k.Algorithm == alg) &&
		(more.Ops == nil || slices.Contains(more.Ops, "verify"))
	if !ok || !meant || len(k.KeyID) > maxKeyID {
		return key{}, false
	}
	return key{id: k.KeyID, alg: alg, public: k.Key}, true
}

// algorithmOf is the algorithm that a public key is for. A private or a symmetric one is for none: it is
// no secret any more.
func algorithmOf(public crypto.PublicKey) (string, bool) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		return "RS256", bits >= minRSA && bits <= maxRSA
	case *ecdsa.PublicKey:
		return "ES256", k.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return "EdDSA", true
	}
	return "", false
}
