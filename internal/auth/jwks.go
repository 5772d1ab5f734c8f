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

// Limits of RSA keys. RFC 7518 §3.3 requires at least 2048 bits; verification with very large keys
// is slow.
const (
	minRSA = 2048 // bits
	maxRSA = 8192 // bits
)

// keysIn decodes a JSON Web Key Set (RFC 7517 §5). It skips keys that cannot be used or are not for
// signatures, without an error.
func keysIn(body []byte) ([]key, error) {
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, errors.New("the answer is not a key set")
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

// keyIn decodes one key; false if it cannot be used. A key is valid for one algorithm only, that of
// its type, whatever a token says.
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

// algorithmOf returns the algorithm of a public key; false for unusable keys. Private and symmetric
// keys are never used: in a published set they are no longer secret.
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
