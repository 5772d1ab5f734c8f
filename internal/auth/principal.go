package auth

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/rookeryhq/rookery/internal/fault"
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

// CheckName returns INVALID_PARAMETER for a name of an agent or a token that could be mistaken for
// another one. A name must be one line of printable characters without surrounding spaces, in
// Unicode normalization form KC, and no word of it may mix scripts (UTS #39, §5.1).
func CheckName(name string) error {
	normal := norm.NFKC.String(name)
	switch {
	case name == "", strings.ContainsFunc(name, Unprintable), strings.TrimSpace(name) != name:
		return fault.New(fault.InvalidParameter, "a name is one line of characters that print, without "+
			"blanks around it")
	case normal != name && strings.ContainsFunc(normal, Unprintable):
		return fault.New(fault.InvalidParameter, "a name is in Unicode normalization form KC")
	case normal != name:
		return fault.New(fault.InvalidParameter, "a name is in Unicode normalization form KC").
			Fix("use the name %q", normal)
	}
	if scripts := mixed(name); len(scripts) > 0 {
		return fault.New(fault.InvalidParameter, "a word of a name has letters of one script, and here one "+
			"mixes %s, so that it could be taken for another name", strings.Join(scripts, " and ")).
			With("scripts", scripts)
	}
	return nil
}

// systems are the writing systems that use several scripts in a word (UTS #39, §5.1). All other
// words must have a single script.
var systems = [][]string{
	{"Han", "Hiragana", "Katakana"}, {"Han", "Hangul"}, {"Han", "Bopomofo"},
}

// mixed returns the scripts of the first word of a name that mixes scripts which no writing system
// combines; nil if there is none.
func mixed(name string) []string {
	parts := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(name, parts) {
		var scripts []string
		for _, r := range word {
			if s := scriptOf(r); s != "" && !slices.Contains(scripts, s) {
				scripts = append(scripts, s)
			}
		}
		if len(scripts) > 1 && !oneSystem(scripts) {
			slices.Sort(scripts)
			return scripts
		}
	}
	return nil
}

// oneSystem reports whether a writing system uses all these scripts.
func oneSystem(scripts []string) bool {
	return slices.ContainsFunc(systems, func(system []string) bool {
		return !slices.ContainsFunc(scripts, func(s string) bool { return !slices.Contains(system, s) })
	})
}

// scriptOf returns the script of a character; "" if it is shared by several scripts.
func scriptOf(r rune) string {
	if r < 0x80 {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return name
		}
	}
	return ""
}
