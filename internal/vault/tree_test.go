package vault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/vault"
)

func TestTreeSettings(t *testing.T) {
	c, err := vault.ParseConfig(nil, []byte(`tree:
  versioning: strict
  rulesets:
    house:
      rules:
        - id: owner
          select: payloadType = project
          require: [owner, status]
          forbid: draft
          pattern: {status: "^(open|done)$"}
          severity: warning
`))
	require.NoError(t, err)
	require.True(t, c.Tree.Strict)
	set, ok := c.Tree.Ruleset("house")
	require.True(t, ok)
	require.Len(t, set.Rules, 1)
	r := set.Rules[0]
	require.Equal(t, "owner", r.ID)
	require.Equal(t, "payloadType = project", r.Select)
	require.Equal(t, []string{"owner", "status"}, r.Require)
	require.Equal(t, []string{"draft"}, r.Forbid)
	require.True(t, r.Warning)
	require.Equal(t, 6, r.Line)
	require.True(t, r.Patterns[0].Expression.MatchString("open"))
	_, ok = c.Tree.Ruleset("other")
	require.False(t, ok)
}

func TestTreeSettingsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"tree: {versioning: loose}":                                    "versioning must be strict or notes",
		"tree: {version: strict}":                                      "versioning and rulesets",
		"tree: []":                                                     "must be a mapping",
		"tree: {rulesets: {a: {rule: []}}}":                            "it has rules",
		"tree: {rulesets: {a: {rules: x}}}":                            "must be a list",
		"tree: {rulesets: {a: {rules: [{select: x}]}}}":                "a rule needs an id",
		"tree: {rulesets: {a: {rules: [{id: x, pattern: {a: '['}}]}}}": "regular expression",
		"tree: {rulesets: {a: {rules: [{id: x, severity: bad}]}}}":     "error or warning",
		"tree: {rulesets: {a: {rules: [{id: x, must: y}]}}}":           "severity",
	} {
		c, err := vault.ParseConfig(nil, []byte(text+"\n"))
		require.ErrorContains(t, err, want, text)
		require.Equal(t, "UTC", c.Timezone, "the rest has its defaults")
	}
}
