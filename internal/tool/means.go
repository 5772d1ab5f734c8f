package tool

import (
	"encoding/json"
	"slices"
)

// A Meaning says what an argument is for, where projections and interceptors must know it. Families may
// spell such an argument differently (`if_version`, `versionToken`), so no code looks it up by its name.
type Meaning string

// The meanings, as the tag `means` of a field names them. The argument `vault` has one name in every family.
const (
	MeansVersion Meaning = "version" // the version that a mutation builds on
	MeansKey     Meaning = "key"     // the idempotency key
	MeansDry     Meaning = "dry"     // true: show the plan, change nothing
	MeansLimit   Meaning = "limit"   // how many items a page has at most
	MeansToken   Meaning = "token"   // where a page begins
)

// meanings are all of them.
var meanings = []Meaning{MeansVersion, MeansKey, MeansDry, MeansLimit, MeansToken}

// Meant returns the tool's argument of a meaning. A tool has at most one.
func (t *Tool) Meant(m Meaning) (Arg, bool) {
	i := slices.IndexFunc(t.Args, func(a Arg) bool { return a.Means == m })
	if i < 0 {
		return Arg{}, false
	}
	return t.Args[i], true
}

// Meant returns the value of the call's argument of a meaning, by its name or an alias; nil if it is not
// given.
func (c *Call) Meant(m Meaning) json.RawMessage {
	a, ok := c.Tool.Meant(m)
	if !ok {
		return nil
	}
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if raw, given := c.Args[name]; given {
			return raw
		}
	}
	return nil
}

// Dry reports whether the call only shows its plan.
func (c *Call) Dry() bool { return string(c.Meant(MeansDry)) == "true" }
