package query

import (
	"maps"
	"regexp"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// argumentForm matches a text that consists of one argument.
var argumentForm = regexp.MustCompile(`^\{\{args\.([A-Za-z0-9_-]+)\}\}$`)

// argumentsIn matches an argument in a text.
var argumentsIn = regexp.MustCompile(`\{\{args\.([A-Za-z0-9_-]+)\}\}`)

// isArgument reports whether a text consists of one argument.
func isArgument(text string) bool { return argumentForm.MatchString(text) }

// hasArgument reports whether a text contains an argument.
func hasArgument(text string) bool { return argumentsIn.MatchString(text) }

// Args returns the names of the arguments of a query, in the order of their first occurrence.
//
// An argument has the form {{args.name}}, and can be a part of a longer text.
func (q Query) Args() []string {
	var names []string
	q.texts(func(text *string) {
		for _, m := range argumentsIn.FindAllStringSubmatch(*text, -1) {
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
		}
	})
	return names
}

// Bind returns the query with its arguments replaced by values. Values are never parsed as query
// syntax. The error is MISSING_REQUIRED, with their names, if arguments have no value, and
// INVALID_VALUE for the value of an unknown argument.
//
// Bound values are normalized like parsed ones: a value in the brackets of a reference becomes a
// reference, and the older name of a type is replaced.
func (q Query) Bind(inputs map[string]string) (Query, error) {
	names := q.Args()
	var missing []string
	for _, name := range names {
		if _, ok := inputs[name]; !ok {
			missing = append(missing, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if !slices.Contains(names, name) {
			f := fault.New(fault.InvalidValue, "the query has no argument with that name").
				With("argument", "inputs").With("allowed", append([]string{}, names...))
			return q, f.Suggest(name, names)
		}
	}
	if len(missing) > 0 {
		return q, fault.New(fault.MissingRequired, "the query needs a value for each of its arguments").
			With("argument", "inputs").With("missing", missing)
	}
	// The caller's query stays unchanged.
	q.Branches = copyBranches(q.Branches)
	q.texts(func(text *string) {
		*text = argumentsIn.ReplaceAllStringFunc(*text, func(arg string) string {
			return inputs[argumentForm.FindStringSubmatch(arg)[1]]
		})
	})
	q.normalize()
	return q, nil
}

// normalize normalizes the parts of a query that came from bound values, as the parser does: names of
// types, references and targets. It changes the branches in place, which must be a private copy.
// Parts that came from the query are normalized already, and do not change.
func (q Query) normalize() {
	var branches func([]Branch)
	var test func(*Test)
	branches = func(all []Branch) {
		for i := range all {
			if all[i].Kind == Objects {
				all[i].Name = vault.TypeName(all[i].Name)
			}
			test(all[i].Where)
		}
	}
	test = func(t *Test) {
		if t == nil {
			return
		}
		// A bound value in the brackets of a reference is a reference, as if it had been written
		// in the query.
		for i, v := range t.Values {
			if !v.Ref {
				t.Values[i] = valueOf(v.Text, v.at)
			}
		}
		// The target can have been bound to a reference in brackets.
		if ref, ok := vault.ParseRef(t.Target); ok {
			t.Target = string(ref)
		}
		branches(t.Query)
		for _, part := range t.Parts {
			test(part)
		}
	}
	branches(q.Branches)
}

// texts calls f with each text that can contain an argument, in the order of the query.
func (q Query) texts(f func(text *string)) { branchTexts(q.Branches, f) }

// branchTexts does the same for some branches.
func branchTexts(all []Branch, f func(*string)) {
	for i := range all {
		f(&all[i].Name)
		all[i].Where.texts(f)
	}
}

// texts does the same for a test, which can be nil.
func (t *Test) texts(f func(*string)) {
	if t == nil {
		return
	}
	for i := range t.Values {
		f(&t.Values[i].Text)
	}
	f(&t.Text)
	f(&t.Target)
	branchTexts(t.Query, f)
	for _, part := range t.Parts {
		part.texts(f)
	}
}

// copyBranches returns a deep copy of the parts that Bind changes.
func copyBranches(all []Branch) []Branch {
	branches := slices.Clone(all)
	for i := range branches {
		branches[i].Where = branches[i].Where.clone()
	}
	return branches
}

// clone returns a deep copy of a test, which can be nil.
func (t *Test) clone() *Test {
	if t == nil {
		return nil
	}
	c := *t
	c.Values, c.Query, c.Parts = slices.Clone(t.Values), copyBranches(t.Query), slices.Clone(t.Parts)
	for i := range c.Parts {
		c.Parts[i] = c.Parts[i].clone()
	}
	return &c
}
