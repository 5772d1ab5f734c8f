package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Claims are what a verified token says. They may be shared: nobody changes All, nor what it holds.
type Claims struct {
	Issuer   string
	Subject  string // 1–255 printable ASCII characters
	Audience []string
	Expires  time.Time
	Scope    Role           // the highest of our roles in `scope` or `scp`; Nobody: it has none of ours
	All      map[string]any // as JSON gives them, numbers as json.Number
}

// Text is the claim of that name if it is a string, else empty.
func (c Claims) Text(name string) string {
	text, _ := c.All[name].(string)
	return text
}

// RolesClaim reads a claim that gives roles: an object of roles by vault, of which `*` is all vaults,
// or one role for all of them. The flag says whether the token carries the claim at all (null is
// absent). What is not wholly of this form gives no role anywhere, and is carried all the same: it is
// no reason to fall back on a role that the token did not name.
func RolesClaim(value any) (map[string]Role, bool) {
	switch v := value.(type) {
	case nil:
		return nil, false
	case string:
		return rolesOf(map[string]any{AllVaults: v}), true
	case map[string]any:
		return rolesOf(v), true
	}
	return map[string]Role{}, true
}

func rolesOf(claim map[string]any) map[string]Role {
	roles := make(map[string]Role, len(claim))
	for vault, value := range claim {
		text, _ := value.(string)
		role := Role(text)
		if !role.Valid() || vault != AllVaults && !ValidName(vault) {
			return map[string]Role{}
		}
		roles[vault] = role
	}
	return roles
}

// claimsOf reads the claims that every token needs, and refuses forms that they must not have (RFC 7519
// §4.1). Whether they are right for us is judged elsewhere.
func claimsOf(all map[string]any) (Claims, error) {
	c := Claims{All: all, Scope: scopeOf(all)}
	var audienceOK bool
	c.Issuer, _ = all["iss"].(string)
	c.Subject, _ = all["sub"].(string)
	c.Audience, audienceOK = listOf(all["aud"])
	if c.Issuer == "" || !printable(c.Subject) || !audienceOK || len(c.Audience) == 0 {
		return Claims{}, errors.New("iss, sub or aud is missing or has a wrong form")
	}
	for _, name := range []string{"exp", "nbf", "iat"} {
		value, there := all[name]
		if !there && name != "exp" {
			continue
		}
		at, err := timeOf(value)
		if err != nil {
			return Claims{}, fmt.Errorf("%s: %w", name, err)
		}
		if name == "exp" {
			c.Expires = at
		}
	}
	return c, nil
}

// printable reports whether it is 1–255 printable ASCII characters.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= 255
}

// listOf reads a string or an array of strings.
func listOf(value any) ([]string, bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, v != ""
	case []any:
		var list []string
		for _, one := range v {
			text, ok := one.(string)
			if !ok || text == "" {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	}
	return nil, false
}

// lastSecond is the end of the year 9999: beyond it no computer agrees on what a date is.
const lastSecond = 253402300799

// timeOf reads a NumericDate: seconds, also broken ones.
func timeOf(value any) (time.Time, error) {
	number, ok := value.(json.Number)
	if !ok {
		return time.Time{}, errors.New("is no number")
	}
	seconds, err := number.Float64()
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, errors.New("is no date")
	}
	return time.Unix(int64(seconds), 0), nil
}

// scopeOf is the highest role of ours among the token's scopes: `scope` is words with spaces between
// them (RFC 9068 §2.2.3), `scp` the same or an array.
func scopeOf(all map[string]any) Role {
	var words []string
	for _, name := range []string{"scope", "scp"} {
		list, ok := all[name].([]any)
		if !ok {
			list = []any{all[name]}
		}
		for _, one := range list {
			text, _ := one.(string)
			words = append(words, strings.Fields(text)...)
		}
	}
	best := Nobody
	for _, role := range Roles() {
		if slices.Contains(words, string(role)) {
			best = role
		}
	}
	return best
}
