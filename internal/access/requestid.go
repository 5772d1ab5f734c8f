package access

import (
	"crypto/rand"
	"strings"

	"rookery/internal/auth"
)

// maxRequestID is how many bytes the id of a request has at most.
const maxRequestID = 128

// RequestID is the id that a request brings along, if it can stand in a log, as a token cannot; else a new
// one.
func RequestID(given string) string {
	strange := func(c rune) bool { return c <= ' ' || c > '~' }
	if given == "" || len(given) > maxRequestID || strings.ContainsFunc(given, strange) ||
		auth.HoldsToken(given) {
		return rand.Text()
	}
	return given
}
