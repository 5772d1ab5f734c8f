package infra_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/infra"
)

// TestAllowed covers the evaluator: actions, resources, tags, conditions of one value and of several, and refusals.
func TestAllowed(t *testing.T) {
	conditions := func(operator, key string, values ...string) map[string]map[string][]string {
		return map[string]map[string][]string{operator: {key: values}}
	}
	keys := conditions("ForAllValues:StringLike", "k", "${aws:PrincipalTag/tenant}", "${aws:PrincipalTag/tenant}/*")
	get := infra.Statement{Actions: []string{"t:Get"}, Resources: []string{"arn:t"}, Conditions: keys}
	for name, c := range map[string]struct {
		all  []infra.Statement
		r    infra.Request
		want bool
	}{
		"nothing is allowed": {nil, infra.Request{Action: "t:Get", Resource: "arn:t"}, false},
		"another action":     {[]infra.Statement{get}, infra.Request{Action: "t:Put", Resource: "arn:t"}, false},
		"case of an action":  {[]infra.Statement{get}, infra.Request{Action: "T:get", Resource: "arn:t"}, true},
		"another resource":   {[]infra.Statement{get}, infra.Request{Action: "t:Get", Resource: "arn:t2"}, false},
		"no value of a key":  {[]infra.Statement{get}, infra.Request{Action: "t:Get", Resource: "arn:t"}, true},
		"its own key": {[]infra.Statement{get}, infra.Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme/x", "acme"}},
			Tags: map[string]string{"tenant": "acme"},
		}, true},
		"one key of another": {[]infra.Statement{get}, infra.Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme/x", "heron"}},
			Tags: map[string]string{"tenant": "acme"},
		}, false},
		"a key that begins alike": {[]infra.Statement{get}, infra.Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme-2/x"}},
			Tags: map[string]string{"tenant": "acme"},
		}, false},
		"no tag": {[]infra.Statement{get}, infra.Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"/x"}},
		}, false},
		"a wildcard in a tag": {[]infra.Statement{get}, infra.Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"acme/x"}},
			Tags: map[string]string{"tenant": "*"},
		}, false},
		"a wildcard in a tag is itself": {[]infra.Statement{get}, infra.Request{
			Action: "t:Get", Resource: "arn:t", Context: map[string][]string{"k": {"*/x"}},
			Tags: map[string]string{"tenant": "*"},
		}, true},
		"a key of one value that is absent": {[]infra.Statement{{
			Actions: []string{"t:*"}, Resources: []string{"*"}, Conditions: conditions("StringLike", "k", "*"),
		}}, infra.Request{Action: "t:List", Resource: "arn:t"}, false},
		"an equal text": {[]infra.Statement{{
			Actions: []string{"t:*"}, Resources: []string{"*"}, Conditions: conditions("StringEquals", "k", "a*"),
		}}, infra.Request{Action: "t:List", Resource: "x", Context: map[string][]string{"k": {"ab"}}}, false},
		"a resource with a tag": {[]infra.Statement{{
			Actions: []string{"t:Get"}, Resources: []string{"arn:b/${aws:PrincipalTag/tenant}/*"},
		}}, infra.Request{Action: "t:Get", Resource: "arn:b/acme/x/y", Tags: map[string]string{"tenant": "acme"}}, true},
		"a refusal is stronger": {[]infra.Statement{
			{Actions: []string{"*"}, Resources: []string{"*"}},
			{Deny: true, Actions: []string{"t:Scan"}, Resources: []string{"*"}},
		}, infra.Request{Action: "t:Scan", Resource: "arn:t"}, false},
	} {
		got, err := infra.Allowed(c.all, c.r)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := infra.Allowed([]infra.Statement{{
		Sid: "odd", Actions: []string{"*"}, Resources: []string{"*"}, Conditions: conditions("DateLessThan", "k", "x"),
	}}, infra.Request{Action: "t:Get"})
	require.ErrorContains(t, err, "DateLessThan")
}
