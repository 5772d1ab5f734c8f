// Package infra_test evaluates the policies of the template of a deployment. Its tests prove from recorded calls that each
// role may do what its functions do, and nothing else.
//
// The evaluator covers what the template uses of IAM, as AWS documents it in "Policy evaluation logic" and "IAM JSON
// policy elements": Allow and Deny by Action, Resource and Condition, the operators in operators, and the variable
// ${aws:PrincipalTag/...}. Anything else is an error.
package infra_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Statement is one of a policy of a role.
type Statement struct {
	Sid       string
	Deny      bool
	Actions   []string // with * for any text
	Resources []string // ARNs, with * and ? and variables

	// Conditions are the values by operator and key: all must hold, each with one of its values.
	Conditions map[string]map[string][]string
}

// A Request is a call of AWS that a policy decides on.
type Request struct {
	Action   string
	Resource string              // ARN
	Context  map[string][]string // condition keys and their values; a key that is absent has none
	Tags     map[string]string   // of the principal
}

// Allowed reports whether statements allow a request: one allows it, and none denies it.
func Allowed(all []Statement, r Request) (bool, error) {
	allowed := false
	for i := range all {
		applies, err := all[i].Applies(r)
		if err != nil {
			return false, fmt.Errorf("statement %q: %w", all[i].Sid, err)
		}
		if applies && all[i].Deny {
			return false, nil
		}
		allowed = allowed || applies
	}
	return allowed, nil
}

// Applies reports whether a statement is about a request.
func (s *Statement) Applies(r Request) (bool, error) {
	action := func(pattern string) bool { return like(strings.ToLower(pattern), strings.ToLower(r.Action)) }
	if !slices.ContainsFunc(s.Actions, action) || !anyLike(s.Resources, r.Resource, r.Tags) {
		return false, nil
	}
	for operator, keys := range s.Conditions {
		for key, patterns := range keys {
			holds, err := condition(operator, r.Context[key], patterns, r.Tags)
			if err != nil || !holds {
				return false, err
			}
		}
	}
	return true, nil
}

// forAll begins an operator on a key with several values, of which all must match. It holds where there is none.
const forAll = "ForAllValues:"

// operators compare a value with a pattern whose variables have been replaced.
var operators = map[string]func(pattern, value string) bool{
	"StringEquals": func(pattern, value string) bool { return pattern == value },
	"StringLike":   like,
	"Bool":         strings.EqualFold,
}

// condition reports whether the values of a key meet an operator with these patterns.
func condition(operator string, values, patterns []string, tags map[string]string) (bool, error) {
	name, every := strings.CutPrefix(operator, forAll)
	compare := operators[name]
	if compare == nil {
		return false, fmt.Errorf("the operator %q is not known", operator)
	}
	if !every && len(values) != 1 {
		return false, nil
	}
	for _, value := range values {
		meets := func(pattern string) bool {
			text, ok := replace(pattern, tags, name == "StringLike")
			return ok && compare(text, value)
		}
		if !slices.ContainsFunc(patterns, meets) {
			return false, nil
		}
	}
	return true, nil
}

// anyLike reports whether a value matches one of the patterns.
func anyLike(patterns []string, value string, tags map[string]string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		text, ok := replace(pattern, tags, true)
		return ok && like(text, value)
	})
}

// variable is a variable of a policy. Only tags of the principal are known.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// replace puts the tags of the principal into a pattern, where an escaped one stands for itself in wildcards. It
// reports false for a variable without a value: the pattern then matches nothing.
func replace(pattern string, tags map[string]string, escape bool) (string, bool) {
	ok := true
	text := variable.ReplaceAllStringFunc(pattern, func(v string) string {
		name, tagged := strings.CutPrefix(v[2:len(v)-1], "aws:PrincipalTag/")
		value := tags[name]
		ok = ok && tagged && value != ""
		if escape {
			value = escaper.Replace(value)
		}
		return value
	})
	return text, ok
}

// escaper keeps wildcards in the value of a variable from being wildcards of the pattern.
var escaper = strings.NewReplacer("*", "${*}", "?", "${?}")

// like reports whether a value matches a pattern, in which * is any text and ? one character.
func like(pattern, value string) bool {
	text := regexp.QuoteMeta(pattern)
	text = strings.NewReplacer(`\$\{\*\}`, `\*`, `\$\{\?\}`, `\?`, `\*`, `.*`, `\?`, `.`).Replace(text)
	return regexp.MustCompile(`(?s)\A` + text + `\z`).MatchString(value)
}

// TestAllowed covers the evaluator: actions, resources, tags, conditions of one value and of several, and refusals.
func TestAllowed(t *testing.T) {
	conditions := func(operator, key string, values ...string) map[string]map[string][]string {
		return map[string]map[string][]string{operator: {key: values}}
	}
	keys := conditions("ForAllValues:StringLike", "k", "${aws:PrincipalTag/tenant}", "${aws:PrincipalTag/tenant}/*")
	get := Statement{Actions: []string{"t:Get"}, Resources: []string{"arn:t"}, Conditions: keys}
	for name, c := range map[string]struct {
		all  []Statement
		r    Request
		want bool
	}{
		"nothing is allowed": {nil, Request{Action: "t:Get", Resource: "arn:t"}, false},
		"another action":     {[]Statement{get}, Request{Action: "t:Put", Resource: "arn:t"}, false},
		"case of an action":  {[]Statement{get}, Request{Action: "T:get", Resource: "arn:t"}, true},
		"another resource":   {[]Statement{get}, Request{Action: "t:Get", Resource: "arn:t2"}, false},
		"no value of a key":  {[]Statement{get}, Request{Action: "t:Get", Resource: "arn:t"}, true},
		"its own key": {[]Statement{get}, Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme/x", "acme"}},
			Tags: map[string]string{"tenant": "acme"},
		}, true},
		"one key of another": {[]Statement{get}, Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme/x", "heron"}},
			Tags: map[string]string{"tenant": "acme"},
		}, false},
		"a key that begins alike": {[]Statement{get}, Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme-2/x"}},
			Tags: map[string]string{"tenant": "acme"},
		}, false},
		"no tag": {[]Statement{get}, Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"/x"}},
		}, false},
		"a wildcard in a tag": {[]Statement{get}, Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme/x"}},
			Tags: map[string]string{"tenant": "*"},
		}, false},
		"a wildcard in a tag is itself": {[]Statement{get}, Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"*/x"}},
			Tags: map[string]string{"tenant": "*"},
		}, true},
		"a key of one value that is absent": {[]Statement{{
			Actions: []string{"t:*"}, Resources: []string{"*"}, Conditions: conditions("StringLike", "k", "*"),
		}}, Request{Action: "t:List", Resource: "arn:t"}, false},
		"an equal text": {[]Statement{{
			Actions: []string{"t:*"}, Resources: []string{"*"}, Conditions: conditions("StringEquals", "k", "a*"),
		}}, Request{Action: "t:List", Resource: "x", Context: map[string][]string{"k": {"ab"}}}, false},
		"a resource with a tag": {[]Statement{{
			Actions: []string{"t:Get"}, Resources: []string{"arn:b/${aws:PrincipalTag/tenant}/*"},
		}}, Request{Action: "t:Get", Resource: "arn:b/acme/x/y", Tags: map[string]string{"tenant": "acme"}}, true},
		"a refusal is stronger": {[]Statement{
			{Actions: []string{"*"}, Resources: []string{"*"}},
			{Deny: true, Actions: []string{"t:Scan"}, Resources: []string{"*"}},
		}, Request{Action: "t:Scan", Resource: "arn:t"}, false},
	} {
		got, err := Allowed(c.all, c.r)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := Allowed([]Statement{{
		Sid: "odd", Actions: []string{"*"}, Resources: []string{"*"}, Conditions: conditions("DateLessThan", "k", "x"),
	}}, Request{Action: "t:Get"})
	require.ErrorContains(t, err, "DateLessThan")
}
