package auth

import (
	"encoding/json"
	"strconv"
	"strings"
)

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
