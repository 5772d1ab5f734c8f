package access

import (
	"crypto/rand"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
)

// maxRequestID is the largest length of a request id, in bytes.
const maxRequestID = 128

// RequestID returns the given request id if it can be logged: if it is printable ASCII without
// spaces, not too long, and contains no token. Otherwise it returns a new id.
func RequestID(given string) string {
	strange := func(c rune) bool { return c <= ' ' || c > '~' }
	if given == "" || len(given) > maxRequestID || strings.ContainsFunc(given, strange) ||
		auth.ContainsToken(given) {
		return rand.Text()
	}
	return given
}
