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

// The parts of an API token: `rk_<id>.<secret>`, and its id is `<tenant>_<random>`, so that a token says
// whose it is without a registry of all tokens.
const (
	tokenPrefix = "rk_"
	idChars     = 16 // of the random part: 80 bits
	secretChars = 52 // 256 bits
	tenantChars = 63
	nameChars   = "abcdefghijklmnopqrstuvwxyz0123456789-"
)

var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// A Secret is an API token in its open form: what its holder shows. It prints and logs as its id only,
// in whatever format; Token gives the text away. Its zero value matches nothing.
type Secret struct {
	Tenant string // whose token it says it is
	ID     string // names it in the tenant's list, in logs and in the id of its principal

	secret string
}

// NewSecret makes an API token of a tenant, whose name must be a valid one. No two are alike.
func NewSecret(tenant string) Secret {
	return Secret{
		Tenant: tenant,
		ID:     tenant + "_" + random(10),
		secret: random(32),
	}
}

// random is as many random bytes, as text. The source never fails: crypto/rand stops the program first.
func random(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw)
	return letters.EncodeToString(raw)
}

// IsAPIToken reports whether a bearer token means to be one of ours, and not a JSON Web Token.
func IsAPIToken(text string) bool { return strings.HasPrefix(text, tokenPrefix) }

// tokens are the forms of tokens: of an API token, and of a JSON Web Token in its compact form.
var tokens = regexp.MustCompile(`(?i)` + tokenPrefix + `[0-9a-z-]+_[0-9a-z]+\.[0-9a-z]{8}` +
	`|eyJ[0-9a-z_-]{8,}\.[0-9a-z_-]{8,}\.`)

// HoldsToken reports whether something in a text looks like a token, whether it is one or not. Such a text
// is no name of anything: who sent it has put a secret where others may read it.
func HoldsToken(text string) bool {
	return strings.Contains(text, ".") && mayBegin(text) && tokens.MatchString(text)
}

// mayBegin reports whether there is what a token begins with, in any case. Most texts have none of it, and
// each call has some of them.
func mayBegin(text string) bool {
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

// ParseAPIToken reads an API token. It is strict: what NewSecret cannot have made is none, and no two
// texts are the same token. Whether the token exists is for its tenant to say.
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

// ValidName reports whether a tenant may have the name: up to 63 lower-case letters, digits and hyphens,
// not beginning with a hyphen. Vaults have the same names (CONTRACT §4).
func ValidName(name string) bool {
	if name == "" || len(name) > tenantChars || name[0] == '-' {
		return false
	}
	return strings.Trim(name, nameChars) == ""
}

// lettersOnly reports whether the text is as long as that, and all of our alphabet.
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

// Token is the whole text, to be shown once to whom it is made for.
func (s Secret) Token() string { return tokenPrefix + s.ID + "." + s.secret }

// Digest is what is kept of the secret: its SHA-256 in hex.
func (s Secret) Digest() string {
	sum := sha256.Sum256([]byte(s.secret))
	return hex.EncodeToString(sum[:])
}

// Matches reports whether a kept digest is that of the secret. How long it takes says nothing of where
// they differ.
func (s Secret) Matches(digest string) bool {
	return s.secret != "" && subtle.ConstantTimeCompare([]byte(s.Digest()), []byte(digest)) == 1
}

// String is the token without its secret.
func (s Secret) String() string { return tokenPrefix + s.ID + ".…" }

// Format prints String, whatever the verb: no verb of fmt shows the secret.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
