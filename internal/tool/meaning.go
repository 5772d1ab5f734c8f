package tool

import "slices"

// A Meaning identifies the purpose of an argument where projections and interceptors depend on it.
// Families may give such an argument different names (`if_version`, `versionToken`), so code must
// look it up by meaning, not by name.
type Meaning string

// The meanings, as the tag `means` of a field spells them. The argument `vault` has none: it has
// the same name in every family.
const (
	MeansVersion Meaning = "version" // the version that a mutation builds on
	MeansKey     Meaning = "key"     // the idempotency key
	MeansDry     Meaning = "dry"     // true: show the plan, change nothing
	MeansLimit   Meaning = "limit"   // the maximum number of items of a page
	MeansToken   Meaning = "token"   // the page token
)

// meanings lists all of them.
var meanings = []Meaning{MeansVersion, MeansKey, MeansDry, MeansLimit, MeansToken}

// ArgFor returns the tool's argument with a meaning, or false. A tool has at most one.
func (t *Tool) ArgFor(m Meaning) (Arg, bool) {
	i := slices.IndexFunc(t.Args, func(a Arg) bool { return a.Means == m })
	if i < 0 {
		return Arg{}, false
	}
	return t.Args[i], true
}
