package ci_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/ci"
	"github.com/rookeryhq/rookery/internal/memory"
)

// secrets are texts that must not leave the machine.
var secrets = []string{
	"hunter2hunter2", "masked-by-github", "rk_acme_abcdefgh.ijklmnop", "ghp_abcdefghijklmnop1234", "glpat-abcdefgh12345678",
	"AKIAABCDEFGHIJKLMNOP", "eyJhbGciOi.eyJzdWIiOiJ4.c2lnbmF0dXJl", "MIIEowIBAAKCAQEA", "bob:s3cr3t@", "first-line-of-key",
}

const spilling = `::add-mask::masked-by-github
password is hunter2hunter2, then masked-by-github
rk_acme_abcdefgh.ijklmnop ghp_abcdefghijklmnop1234 glpat-abcdefgh12345678 AKIAABCDEFGHIJKLMNOP
eyJhbGciOi.eyJzdWIiOiJ4.c2lnbmF0dXJl
-----BEGIN RSA PRIVATE KEY-----
MIIEowIBAAKCAQEA
-----END RSA PRIVATE KEY-----
git clone https://bob:s3cr3t@example.test/x and first-line-of-key
a.go:1:1: undefined: hunter2hunter2
`

// TestNothingSecretIsStored covers that secrets of the environment and of the output are in no part of a memory.
func TestNothingSecretIsStored(t *testing.T) {
	f := ci.Failure{
		Job: ci.Job{Name: "unit", Repository: "acme/app"}, Goal: "deploy with hunter2hunter2", Exit: 1,
		Command: "make PASSWORD=hunter2hunter2", Output: spilling, Findings: findings(spilling),
		Redactor: ci.NewRedactor([]string{
			"DB_PASSWORD=hunter2hunter2", "SIGNING_KEY=first-line-of-key\nsecond", "HOME=/root", "SHORT_TOKEN=go",
		}, spilling),
	}
	data, err := json.Marshal(f.Store())
	require.NoError(t, err)
	for _, secret := range secrets {
		require.NotContains(t, string(data), secret)
	}
	require.Contains(t, string(data), "a.go")
	require.Contains(t, string(data), "***")
}

// TestStore covers what a memory of a failure has.
func TestStore(t *testing.T) {
	output := "/build/app/store/a.go:12:3: undefined: frob\n"
	f := ci.Failure{
		Job: ci.Job{
			System: "github", Name: "unit", Repository: "acme/app", Commit: "abc", Branch: "main", Run: "77", Attempt: "2",
			Root: "/build/app",
		},
		Command: "go build ./...", Exit: 1, Took: 1500, Output: output, Findings: findings(output),
		Changed: []string{"store/a.go", "go.mod"},
	}
	s := f.Store()
	print := f.Print()
	require.Equal(t, "CI unit: go store/a.go: undefined: frob", s.Intent.Goal)
	require.Equal(t, "repository: acme/app\ncommit: abc\nbranch: main\njob: unit\nrun: 77\nattempt: 2", s.Intent.Context)
	require.Equal(t, "undefined: frob", s.Outcome.Summary)
	require.Equal(t, memory.FailureCategory("build_failure"), s.Outcome.FailureCategory)
	require.Equal(t, "exit 1", s.Outcome.VerifiedBy.Result)
	require.Equal(t, "store/a.go:12:3: undefined: frob", s.Outcome.FailureReason)
	require.Equal(t, "store/a.go:12", s.Perception.Observations[0].Where)
	require.Len(t, s.Perception.RelevantFiles, 2)
	require.Equal(t, "named by the failure", s.Perception.RelevantFiles[0].Relevance)
	require.Equal(t, []string{"ci", "ci:open", "job:unit", "repo:acme/app", "tool:go", "fp:" + print}, s.Tags)
	require.Equal(t, "ci/"+print, s.Key)
	require.Equal(t, "ci-github-77", s.Session)
	commit, branch := ci.ReadContext(s.Intent.Context)
	require.Equal(t, []string{"abc", "main"}, []string{commit, branch})
}

// environment is a function over variables.
func environment(of map[string]string) func(string) string {
	return func(name string) string { return of[name] }
}

// TestJobs covers what the environments of CI systems tell.
func TestJobs(t *testing.T) {
	event := func(head string) func(string) ([]byte, error) {
		return func(path string) ([]byte, error) {
			if path != "event.json" {
				return nil, errors.New("no file")
			}
			return []byte(`{"pull_request":{"head":{"repo":{"full_name":"` + head + `"}}}}`), nil
		}
	}
	hub := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_JOB": "unit", "GITHUB_REPOSITORY": "acme/app", "GITHUB_SHA": "abc",
		"GITHUB_REF_NAME": "main", "GITHUB_EVENT_NAME": "push", "GITHUB_RUN_ID": "7", "GITHUB_SERVER_URL": "https://github.com",
		"GITHUB_EVENT_PATH": "event.json",
	}
	j := ci.FromEnv(environment(hub), event("acme/app"))
	require.Equal(t, "https://github.com/acme/app/actions/runs/7", j.URL)
	require.False(t, j.PullRequest || j.Fork)
	hub["GITHUB_EVENT_NAME"], hub["GITHUB_HEAD_REF"] = "pull_request", "topic"
	j = ci.FromEnv(environment(hub), event("acme/app"))
	require.True(t, j.PullRequest && !j.Fork)
	require.Equal(t, "topic", j.Branch)
	require.True(t, ci.FromEnv(environment(hub), event("mallory/app")).Fork)
	hub["GITHUB_EVENT_PATH"] = "gone"
	require.True(t, ci.FromEnv(environment(hub), event("acme/app")).Fork, "an event that cannot be read")
	lab := map[string]string{
		"GITLAB_CI": "true", "CI_JOB_NAME": "unit", "CI_PROJECT_PATH": "acme/app", "CI_MERGE_REQUEST_IID": "3",
		"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1", "CI_MERGE_REQUEST_PROJECT_ID": "2",
	}
	require.True(t, ci.FromEnv(environment(lab), event("")).Fork)
	require.Equal(t, "shell", ci.FromEnv(environment(nil), event("")).System)
}

// TestFixes covers what a memory of a fix has.
func TestFixes(t *testing.T) {
	f := ci.Fix{
		Job: ci.Job{Name: "unit", Commit: strings.Repeat("ab", 20)}, Failed: "mem_x", Print: "fp1-1", Goal: "g",
		Subject: "mend it", Learnt: []string{"mend it", "2", "3", "4", "5", "6"}, Changed: []string{"a.go"}, Sure: true,
	}
	s := f.Store()
	require.Equal(t, "unit is green again at abababababab: mend it", s.Outcome.Summary)
	require.Len(t, s.Outcome.Learnings, 5)
	require.Equal(t, map[string][]string{"caused_by": {"mem_x"}}, s.Links)
	require.Equal(t, "a.go", s.Actions[0].FilePath)
	f.Sure = false
	require.Contains(t, f.Store().Outcome.Summary, "not verified")
}
