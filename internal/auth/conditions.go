package auth

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Conditions are what the claims of a token must be, by the name of the claim. All must hold. In a
// pattern `*` stands for any run of characters, also none, without `/` and `:`; every other character
// stands for itself. A claim that is an array fulfils a pattern if one of its elements does; numbers and
// booleans count as their JSON text; a claim that is absent, null or an object fulfils none.
type Conditions map[string]string

// Match reports whether all conditions hold. No conditions hold for everybody.
func (c Conditions) Match(claims map[string]any) bool {
	for name, pattern := range c {
		if !anyMatches(pattern, claims[name]) {
			return false
		}
	}
	return true
}

// Stars counts the `*` of all patterns: the fewer, the more exact.
func (c Conditions) Stars() int {
	n := 0
	for _, pattern := range c {
		n += strings.Count(pattern, "*")
	}
	return n
}

// Vacuous reports whether the conditions tell no two tokens of an issuer apart: each is only stars and
// what they stop at, or is about the issuer or the audience, which have to be right in any case.
func (c Conditions) Vacuous() bool {
	for name, pattern := range c {
		if name != "iss" && name != "aud" && strings.Trim(pattern, "*/:") != "" {
			return false
		}
	}
	return true
}

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

// textOf is the text of a string, number or boolean.
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

// matches takes time in proportion to the two lengths: no star passes a separator, so what lies between
// two separators of the pattern is compared with what lies between the same two of the text.
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

// runMatches compares where there are no separators. The leftmost place of each literal part leaves the
// most for those after it, so nothing has to be tried again.
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
