package auth

import (
	"strings"
	"unicode"
)

// The prefixes of principal ids, by kind. Agent ids must not have these prefixes, so that no agent
// can act in the name of another principal.
const (
	kindUser     = "user:"
	kindToken    = "token:"
	kindWorkload = "workload:"
)

// User returns the principal id of a person. It includes the issuer, because subjects are unique
// only within their issuer. The subject must be printable ASCII and the issuer a URL without @, so
// that ids are unique.
func User(issuer, subject string) string {
	return kindUser + subject + "@" + strings.TrimPrefix(issuer, "https://")
}

// APIToken returns the principal id of an API token.
func APIToken(id string) string { return kindToken + id }

// Workload returns the principal id of callers that a rule of a tenant accepts without a stored
// secret, such as CI jobs.
func Workload(rule string) string { return kindWorkload + rule }

// Unprintable reports whether a character is invisible or changes how others look. Names of callers
// must not contain such characters.
func Unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Reserved reports whether agents must not choose an id: whether it looks like that of a principal,
// or is Local, in any case, or contains a token. Histories and the audit log show agents beside
// principals, where one could be mistaken for the other.
func Reserved(agent string) bool {
	lower := strings.ToLower(agent) // people do not distinguish User: from user:
	for _, kind := range []string{kindUser, kindToken, kindWorkload} {
		if strings.HasPrefix(lower, kind) {
			return true
		}
	}
	return lower == Local || ContainsToken(agent)
}
