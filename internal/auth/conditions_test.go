package auth_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
)

// actions returns the claims of a job's token, as GitHub Actions issues it.
func actions() map[string]any {
	return map[string]any{
		"sub":                   "repo:acme/shop:environment:production",
		"environment":           "production",
		"ref":                   "refs/heads/main",
		"ref_type":              "branch",
		"sha":                   "3f2c7d0e8b1a4c5d6e7f8091a2b3c4d5e6f70812",
		"repository":            "acme/shop",
		"repository_owner":      "acme",
		"repository_owner_id":   "65",
		"repository_id":         "74",
		"repository_visibility": "private",
		"actor":                 "freya",
		"actor_id":              "12",
		"workflow":              "build",
		"event_name":            "push",
		"head_ref":              "",
		"base_ref":              "",
		"run_id":                "123456789",
		"run_number":            "10",
		"run_attempt":           "2",
		"runner_environment":    "github-hosted",
		"job_workflow_ref":      "acme/ci/.github/workflows/build.yml@refs/heads/main",
	}
}

// TestWorkload checks that conditions distinguish the jobs of a build service by their tokens.
func TestWorkload(t *testing.T) {
	issuer := authtest.NewIssuer(t, "RS256")
	claims := issuer.Claims("", audience)
	maps.Copy(claims, actions())
	c, err := auth.NewVerifier(auth.Options{}).Verify(t.Context(), issuer.Sign(claims),
		auth.Issuer{URL: issuer.URL, Algorithms: []string{"RS256"}}, []string{audience})
	require.NoError(t, err)
	for _, w := range []struct {
		conditions auth.Conditions
		want       bool
	}{
		{nil, true},
		{auth.Conditions{"repository": "acme/shop"}, true},
		{auth.Conditions{"repository": "acme/*"}, true},
		{auth.Conditions{"repository": "acme/*", "ref": "refs/heads/main"}, true},
		{auth.Conditions{"repository": "acme/*", "ref": "refs/heads/release"}, false},
		{auth.Conditions{"repository": "acme"}, false},
		{auth.Conditions{"repository": "acm*"}, false},
		{auth.Conditions{"repository": "*"}, false},
		{auth.Conditions{"repository": "*/shop"}, true},
		{auth.Conditions{"repository": "ACME/shop"}, false},
		{auth.Conditions{"repository": "acme.shop"}, false},
		{auth.Conditions{"sub": "repo:acme/*:environment:production"}, true},
		{auth.Conditions{"sub": "repo:acme/*"}, false},
		{auth.Conditions{"sub": "repo:*"}, false},
		{auth.Conditions{"sub": "repo:acme/*:*:*"}, true},
		{auth.Conditions{"job_workflow_ref": "acme/ci/.github/workflows/*@refs/heads/main"}, true},
		{auth.Conditions{"run_attempt": "2"}, true},
		{auth.Conditions{"head_ref": ""}, true},
		{auth.Conditions{"head_ref": "*"}, true},
		{auth.Conditions{"absent": "*"}, false},
		{auth.Conditions{"absent": ""}, false},
	} {
		require.Equal(t, w.want, w.conditions.Match(c.All), w.conditions)
	}
}

// TestMatch checks how claims of other types are matched.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		value   any
		want    bool
	}{
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "abc", true},
		{"a*b*c", "acb", false},
		{"ab*ab", "ab", false},
		{"ab*ab", "abab", true},
		{"*ab*", "xxabxx", true},
		{"**", "", true},
		{"*a", "aaa", true},
		{"*a*a", "a", false},
		{"a*", "a\nb", true},
		{"a*", "a:b", false},
		{"a.c", "abc", false},
		{"[a-z]", "b", false},
		{"(a|b)", "a", false},
		{`\*`, "x", false},
		{`\*`, `\x`, true},
		{"?", "x", false},
		{"/*/", "/x/", true},
		{":*/", "/x:", false},
		{"dev", []any{"ops", "dev"}, true},
		{"dev", []any{"ops"}, false},
		{"dev", []any{}, false},
		{"dev", []any{[]any{"dev"}}, false},
		{"*", []any{nil}, false},
		{"7", json.Number("7"), true},
		{"7", 7.0, true},
		{"7", []any{json.Number("7")}, true},
		{"1*", json.Number("12"), true},
		{"true", true, true},
		{"false", true, false},
		{"*", nil, false},
		{"", nil, false},
		{"*", map[string]any{"a": "b"}, false},
		{"a", map[string]any{"a": "b"}, false},
	} {
		got := auth.Conditions{"x": c.pattern}.Match(map[string]any{"x": c.value})
		require.Equal(t, c.want, got, "%q for %v", c.pattern, c.value)
	}
}

// TestStars checks the specificity of conditions, and which ones are vacuous.
func TestStars(t *testing.T) {
	for _, c := range []struct {
		conditions auth.Conditions
		stars      int
		vacuous    bool
	}{
		{nil, 0, true},
		{auth.Conditions{"repository": "*"}, 1, true},
		{auth.Conditions{"repository": "*/*"}, 2, true},
		{auth.Conditions{"sub": "*:*/*", "ref": "**"}, 5, true},
		{auth.Conditions{"iss": "https://login.example.test", "aud": "x"}, 0, true},
		{auth.Conditions{"head_ref": ""}, 0, true},
		{auth.Conditions{"repository": "acme/*", "ref": "*"}, 2, false},
		{auth.Conditions{"repository": "acme/shop"}, 0, false},
	} {
		require.Equal(t, c.stars, c.conditions.Stars(), c.conditions)
		require.Equal(t, c.vacuous, c.conditions.Vacuous(), c.conditions)
	}
}

// TestRolesClaim checks that a claim gives the roles that it names, and none if any part of it is
// invalid.
func TestRolesClaim(t *testing.T) {
	none := map[string]auth.Role{}
	for _, c := range []struct {
		claim   string
		want    map[string]auth.Role
		carried bool
	}{
		{`null`, nil, false},
		{`"editor"`, map[string]auth.Role{"*": auth.Editor}, true},
		{
			`{"*":"reader","notes":"admin"}`,
			map[string]auth.Role{"*": auth.Reader, "notes": auth.Admin}, true,
		},
		{`{}`, none, true},
		{`""`, none, true},
		{`"owner"`, none, true},
		{`"Admin"`, none, true},
		{`"anyone"`, none, true},
		{`7`, none, true},
		{`true`, none, true},
		{`["admin"]`, none, true},
		{`{"notes":"admin","other":"owner"}`, none, true},
		{`{"notes":"admin","other":7}`, none, true},
		{`{"notes":"admin","other":null}`, none, true},
		{`{"notes":["admin"]}`, none, true},
		{`{"notes":"admin","Not a vault":"reader"}`, none, true},
		{`{"notes":"admin","":"reader"}`, none, true},
		{`{"notes":"admin","a*":"reader"}`, none, true},
	} {
		var value any
		require.NoError(t, json.Unmarshal([]byte(c.claim), &value))
		roles, carried := auth.RolesClaim(value)
		require.Equal(t, c.want, roles, c.claim)
		require.Equal(t, c.carried, carried, c.claim)
	}
}

// FuzzMatch checks that a pattern matches the same texts as the equivalent regular expression, and
// that long patterns do not take long.
func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{
		{"acme/*", "acme/shop"}, {"*:*/*", "repo:acme/shop"}, {"a*b*c", "aXbYc"}, {"ab*ab", "ab"},
		{strings.Repeat("*a", 2000) + "b", strings.Repeat("a", 4000)}, {"(.*", "(x"}, {`\E*`, `\Ex`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		got := auth.Conditions{"x": pattern}.Match(map[string]any{"x": text})
		if !utf8.ValidString(pattern) || !utf8.ValidString(text) || strings.Count(pattern, "*") > 400 {
			return
		}
		var parts []string
		for _, part := range strings.Split(pattern, "*") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		want := regexp.MustCompile(`\A` + strings.Join(parts, `[^/:]*`) + `\z`).MatchString(text)
		require.Equal(t, want, got, "%q for %q", pattern, text)
	})
}
