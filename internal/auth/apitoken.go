package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// An API token has the form `rk_<id>.<secret>`, where the id is `<tenant>_<random>`. So a token
// names its tenant, and no registry of all tokens is needed.
const (
	tokenPrefix = "rk_"
	idChars     = 16 // of the random part: 80 bits
	secretChars = 52 // 256 bits
	tenantChars = 63
	nameChars   = "abcdefghijklmnopqrstuvwxyz0123456789-"
)

// letters encodes random bytes as lower-case base32.
var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// A Secret is an API token in clear text, as its bearer sends it. It is printed and logged without
// its secret, with every format; only Token returns the whole text. The zero value matches no
// digest. It is a value without references, and safe to copy.
type Secret struct {
	Tenant string // the tenant that the token names
	ID     string // identifies the token in the tenant's list, in logs and in its principal

	secret string
}

// NewSecret returns a new random API token for a tenant, which must have a valid name. The id has
// 80 random bits, so that ids of different processes do not collide, and the secret has 256, so
// that a plain digest of it can be stored.
func NewSecret(tenant string) Secret {
	return Secret{
		Tenant: tenant,
		ID:     tenant + "_" + random(10),
		secret: random(32),
	}
}

// random returns a number of random bytes, encoded as text. It cannot fail: crypto/rand aborts the
// program instead.
func random(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw)
	return letters.EncodeToString(raw)
}

// IsAPIToken reports whether a bearer token has the prefix of API tokens, in contrast to a JSON Web
// Token.
func IsAPIToken(text string) bool { return strings.HasPrefix(text, tokenPrefix) }

// tokens matches the beginning of API tokens and of JSON Web Tokens in compact form.
var tokens = regexp.MustCompile(`(?i)` + tokenPrefix + `[0-9a-z-]+_[0-9a-z]+\.[0-9a-z]{8}` +
	`|eyJ[0-9a-z_-]{8,}\.[0-9a-z_-]{8,}\.`)

// ContainsToken reports whether a part of a text looks like a token, valid or not. Such a text must
// not be used as a name: its sender has put a secret where others may read it. It is called for
// many texts, so two cheap checks come before the regular expression.
func ContainsToken(text string) bool {
	return strings.Contains(text, ".") && hasTokenPrefix(text) && tokens.MatchString(text)
}

// hasTokenPrefix reports whether a text contains the prefix of a token, in any case. It is a fast check
// that fails for most texts.
func hasTokenPrefix(text string) bool {
	for i := range len(text) - 2 {
		switch text[i] | 0x20 {
		case 'r':
			if text[i+1]|0x20 == 'k' && text[i+2] == '_' {
				return true
			}
		case 'e':
			if text[i+1]|0x20 == 'y' && text[i+2]|0x20 == 'j' {
				return true
			}
		}
	}
	return false
}

// ParseAPIToken parses an API token. It accepts only texts that NewSecret can have produced, so two
// different texts are never the same token. It does not check whether the token exists.
func ParseAPIToken(text string) (Secret, bool) {
	if len(text) > len(tokenPrefix)+tenantChars+1+idChars+1+secretChars {
		return Secret{}, false
	}
	rest, ours := strings.CutPrefix(text, tokenPrefix)
	id, secret, both := strings.Cut(rest, ".")
	tenant, chance, parted := strings.Cut(id, "_")
	if !ours || !both || !parted || !ValidName(tenant) ||
		!lettersOnly(chance, idChars) || !lettersOnly(secret, secretChars) {
		return Secret{}, false
	}
	return Secret{Tenant: tenant, ID: id, secret: secret}, true
}

// ValidName reports whether a name is valid for a tenant: up to 63 lower-case letters, digits and
// hyphens, not beginning with a hyphen. The same rule applies to vaults (CONTRACT §4).
func ValidName(name string) bool {
	if name == "" || len(name) > tenantChars || name[0] == '-' {
		return false
	}
	return strings.Trim(name, nameChars) == ""
}

// lettersOnly reports whether the text consists of exactly long characters of the base32 alphabet.
func lettersOnly(text string, long int) bool {
	if len(text) != long {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// Token returns the whole token. Show it once, to the person it was created for.
func (s Secret) Token() string { return tokenPrefix + s.ID + "." + s.secret }

// Digest returns the SHA-256 of the secret in hex, which is stored instead of the secret.
func (s Secret) Digest() string {
	sum := sha256.Sum256([]byte(s.secret))
	return hex.EncodeToString(sum[:])
}

// Matches reports whether a stored digest is that of the secret. It takes constant time.
func (s Secret) Matches(digest string) bool {
	return s.secret != "" && subtle.ConstantTimeCompare([]byte(s.Digest()), []byte(digest)) == 1
}

// String returns the token without its secret.
func (s Secret) String() string { return tokenPrefix + s.ID + ".…" }

// Format implements fmt.Formatter. It prints String for every verb, so that no verb prints the
// secret.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue implements slog.LogValuer. It returns String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
