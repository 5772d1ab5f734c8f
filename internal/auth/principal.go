package auth

import (
	"encoding/json"
	"slices"
	"strconv"
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

// Conditions are patterns for the claims of a token, by name of the claim. All must match. In a
// pattern, `*` matches any number of characters other than `/` and `:`; every other character
// matches itself. A claim that is an array matches if one of its elements does. Numbers and
// booleans are matched by their JSON text. A claim that is absent, null or an object never matches.
// For example, `repo:acme/*` matches the subject repo:acme/site, but neither repo:acme/site:ref nor
// repo:other/site.
type Conditions map[string]string

// Match reports whether all conditions match. Empty conditions match every token.
func (c Conditions) Match(claims map[string]any) bool {
	for name, pattern := range c {
		if !anyMatches(pattern, claims[name]) {
			return false
		}
	}
	return true
}

// Stars returns the number of `*` in all patterns. Fewer stars are more specific.
func (c Conditions) Stars() int {
	n := 0
	for _, pattern := range c {
		n += strings.Count(pattern, "*")
	}
	return n
}

// Vacuous reports whether the conditions cannot distinguish the tokens of an issuer: whether each
// pattern consists only of `*`, `/` and `:`, or is for iss or aud, which are checked in any case. A
// rule with such conditions would accept every customer of a public issuer.
func (c Conditions) Vacuous() bool {
	for name, pattern := range c {
		if name != "iss" && name != "aud" && strings.Trim(pattern, "*/:") != "" {
			return false
		}
	}
	return true
}

// anyMatches reports whether a claim, or one of its elements, matches a pattern.
func anyMatches(pattern string, value any) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, one := range list {
		if text, ok := textOf(one); ok && matches(pattern, text) {
			return true
		}
	}
	return false
}

// textOf returns the text of a string, number or boolean; false for other values.
func textOf(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// matches reports whether a text matches a pattern. It takes linear time: a star does not match a
// separator, so the parts between separators are compared one by one.
func matches(pattern, text string) bool {
	for {
		p, t := strings.IndexAny(pattern, "/:"), strings.IndexAny(text, "/:")
		if p < 0 || t < 0 {
			return p < 0 && t < 0 && runMatches(pattern, text)
		}
		if pattern[p] != text[t] || !runMatches(pattern[:p], text[:t]) {
			return false
		}
		pattern, text = pattern[p+1:], text[t+1:]
	}
}

// runMatches is matches for a pattern and a text without separators. Choosing the leftmost position
// of each literal part leaves the most text for the later ones, so no backtracking is needed.
func runMatches(pattern, text string) bool {
	first, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, first)
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		var found bool
		_, text, found = strings.Cut(text, part)
		ok = ok && found
	}
	return ok && strings.HasSuffix(text, last)
}
