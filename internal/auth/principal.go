package auth

import (
	"strings"
	"unicode"
)

// The kinds of principal, with which their ids begin. No agent has an id that begins so, but for the
// principal itself, so that nobody can act in another's name.
const (
	kindUser     = "user:"
	kindToken    = "token:"
	kindWorkload = "workload:"
)

// User is the id of a person: subjects are unique within their issuer only. Subject has printable ASCII
// and issuer is a URL without @, so that no two people have one id.
func User(issuer, subject string) string {
	return kindUser + subject + "@" + strings.TrimPrefix(issuer, "https://")
}

// APIToken is the id of the principal that an API token is.
func APIToken(id string) string { return kindToken + id }

// Workload is the id of what a rule of a tenant lets in without a stored secret, such as CI.
func Workload(rule string) string { return kindWorkload + rule }

// Unprintable reports whether nobody sees a character, or it makes others look like something else: no name
// of a caller has one.
func Unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Reserved reports whether no agent may choose an id: those of principals, and what may be a secret.
func Reserved(agent string) bool {
	lower := strings.ToLower(agent) // people do not tell User: from user:
	for _, kind := range []string{kindUser, kindToken, kindWorkload} {
		if strings.HasPrefix(lower, kind) {
			return true
		}
	}
	return lower == Local || HoldsToken(agent)
}
