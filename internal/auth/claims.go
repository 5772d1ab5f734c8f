package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Claims are the claims of a verified token. All may be shared and must not be changed.
type Claims struct {
	Issuer   string
	Subject  string // 1–255 printable ASCII characters
	Audience []string
	Expires  time.Time
	Scope    Role           // highest of our roles in `scope` or `scp`; Nobody: none
	All      map[string]any // as decoded from JSON, with numbers as json.Number
}

// Text returns the claim with this name if it is a string; "" otherwise.
func (c Claims) Text(name string) string {
	text, _ := c.All[name].(string)
	return text
}

// RolesClaim decodes a claim that contains roles: an object from vault to role, where `*` stands
// for all vaults, or a single role for all of them. The result is false if the token does not have
// the claim, or if it is null. An invalid claim counts as present and gives no roles, so that
// callers do not fall back to default roles.
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

// rolesOf returns the roles in an object, or no roles if any entry is invalid.
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

// claimsOf decodes the claims that every token needs, and returns an error if one is missing or
// malformed (RFC 7519 §4.1): iss, sub, aud and exp must be present, nbf and iat may be. It does not
// check their values; see judge.
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

// printable reports whether a text has 1–255 characters, all of them printable ASCII.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text != "" && len(text) <= 255
}

// listOf decodes a string or an array of strings, none of them empty.
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

// lastSecond is the end of the year 9999, the largest date that is accepted.
const lastSecond = 253402300799

// timeOf decodes a NumericDate: seconds since 1970, which may have a fraction. The fraction is
// dropped.
func timeOf(value any) (time.Time, error) {
	number, ok := value.(json.Number)
	if !ok {
		return time.Time{}, errors.New("is not a number")
	}
	seconds, err := number.Float64()
	if err != nil || seconds < 0 || seconds > lastSecond {
		return time.Time{}, errors.New("is not a valid date")
	}
	return time.Unix(int64(seconds), 0), nil
}

// scopeOf returns the highest of our roles among the token's scopes. `scope` contains words
// separated by spaces (RFC 9068 §2.2.3); `scp` is the same or an array.
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
