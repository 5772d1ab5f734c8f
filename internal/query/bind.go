package query

import (
	"maps"
	"regexp"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// argumentForm is an argument as a whole.
var argumentForm = regexp.MustCompile(`^\{\{args\.([A-Za-z0-9_-]+)\}\}$`)

// argumentsIn are the arguments in a text.
var argumentsIn = regexp.MustCompile(`\{\{args\.([A-Za-z0-9_-]+)\}\}`)

// isArgument reports whether a text is nothing but an argument.
func isArgument(text string) bool { return argumentForm.MatchString(text) }

// hasArgument reports whether there is an argument in a text.
func hasArgument(text string) bool { return argumentsIn.MatchString(text) }

// Args are the names of the arguments of a query, in the order in which they first appear.
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

// Bind is the query with values in place of its arguments. A value is never read as part of the
// language. Arguments without a value are MISSING_REQUIRED with their names; values of others are
// INVALID_VALUE.
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
	q.Branches = copyBranches(q.Branches)
	q.texts(func(text *string) {
		*text = argumentsIn.ReplaceAllStringFunc(*text, func(arg string) string {
			return inputs[argumentForm.FindStringSubmatch(arg)[1]]
		})
	})
	q.settle()
	return q, nil
}

// settle gives bound values the form that they have where they are written.
func (q Query) settle() {
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
		for i, v := range t.Values {
			if !v.Ref {
				t.Values[i] = valueOf(v.Text, v.at)
			}
		}
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

// texts calls a function with all texts in which an argument may be, in the order of the query.
func (q Query) texts(f func(text *string)) { branchTexts(q.Branches, f) }

func branchTexts(all []Branch, f func(*string)) {
	for i := range all {
		f(&all[i].Name)
		all[i].Where.texts(f)
	}
}

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

// copyBranches is a copy that may be changed.
func copyBranches(all []Branch) []Branch {
	branches := slices.Clone(all)
	for i := range branches {
		branches[i].Where = branches[i].Where.copied()
	}
	return branches
}

func (t *Test) copied() *Test {
	if t == nil {
		return nil
	}
	c := *t
	c.Values, c.Query, c.Parts = slices.Clone(t.Values), copyBranches(t.Query), slices.Clone(t.Parts)
	for i := range c.Parts {
		c.Parts[i] = c.Parts[i].copied()
	}
	return &c
}
