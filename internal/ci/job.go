package ci

import (
	"cmp"
	"encoding/json"
	"strings"
)

// A Job is a job of a CI system, or a command in a shell. Fields are empty if they are unknown.
type Job struct {
	System     string // github, gitlab, or shell
	Name       string // of the job
	Repository string // owner/name
	Commit     string
	Branch     string
	Event      string // push, pull_request, schedule
	Workflow   string
	Run        string // the id of the run
	URL        string // of the run
	Attempt    string
	Runner     string
	Root       string // the directory of the checkout
	Summary    string // the file of GitHub's job summary; empty if there is none

	PullRequest bool // the commit is not merged
	Fork        bool // the commit is from another repository, with unknown authors
}

// FromEnv returns the job of an environment. readFile reads the event of GitHub.
func FromEnv(env func(string) string, readFile func(string) ([]byte, error)) Job {
	switch {
	case env("GITHUB_ACTIONS") != "":
		return github(env, readFile)
	case env("GITLAB_CI") != "":
		return gitlab(env)
	}
	return Job{System: "shell", Name: env("CI_JOB_NAME")}
}

// github returns the job of GitHub Actions.
func github(env func(string) string, readFile func(string) ([]byte, error)) Job {
	j := Job{
		System: "github", Name: env("GITHUB_JOB"), Repository: env("GITHUB_REPOSITORY"),
		Commit: env("GITHUB_SHA"), Branch: cmp.Or(env("GITHUB_HEAD_REF"), env("GITHUB_REF_NAME")),
		Event: env("GITHUB_EVENT_NAME"), Workflow: env("GITHUB_WORKFLOW"), Run: env("GITHUB_RUN_ID"),
		Attempt: env("GITHUB_RUN_ATTEMPT"), Root: env("GITHUB_WORKSPACE"),
		Summary: env("GITHUB_STEP_SUMMARY"),
		Runner:  strings.Trim(env("RUNNER_OS")+"/"+env("RUNNER_ARCH"), "/"),
	}
	if server := env("GITHUB_SERVER_URL"); server != "" && j.Run != "" {
		j.URL = server + "/" + j.Repository + "/actions/runs/" + j.Run
	}
	if j.PullRequest = strings.HasPrefix(j.Event, "pull_request"); j.PullRequest {
		j.Fork = isFork(env("GITHUB_EVENT_PATH"), j.Repository, readFile)
	}
	return j
}

// isFork reports whether a pull request is from another repository. It returns true if that is
// unknown.
func isFork(path, repository string, readFile func(string) ([]byte, error)) bool {
	var event struct {
		PullRequest struct {
			Head struct {
				Repo struct {
					FullName string `json:"full_name"`
				} `json:"repo"`
			} `json:"head"`
		} `json:"pull_request"`
	}
	data, err := readFile(path)
	return err != nil || json.Unmarshal(data, &event) != nil ||
		!strings.EqualFold(event.PullRequest.Head.Repo.FullName, repository)
}

// gitlab returns the job of GitLab CI/CD.
func gitlab(env func(string) string) Job {
	j := Job{
		System: "gitlab", Name: env("CI_JOB_NAME"), Repository: env("CI_PROJECT_PATH"),
		Commit: env("CI_COMMIT_SHA"),
		Branch: cmp.Or(env("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"), env("CI_COMMIT_REF_NAME")),
		Event:  env("CI_PIPELINE_SOURCE"), Workflow: env("CI_PIPELINE_NAME"), Run: env("CI_PIPELINE_ID"),
		URL: env("CI_JOB_URL"), Attempt: env("CI_JOB_ID"), Root: env("CI_PROJECT_DIR"),
		Runner: env("CI_RUNNER_EXECUTABLE_ARCH"),
	}
	j.PullRequest = env("CI_MERGE_REQUEST_IID") != ""
	j.Fork = j.PullRequest && env("CI_MERGE_REQUEST_SOURCE_PROJECT_ID") != env("CI_MERGE_REQUEST_PROJECT_ID")
	return j
}

// context returns the job as the context of a memory, one line per field, for ReadContext.
func (j Job) context() string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"repository", j.Repository}, {"commit", j.Commit}, {"branch", j.Branch}, {"event", j.Event},
		{"workflow", j.Workflow}, {"job", j.Name}, {"run", j.Run}, {"url", j.URL}, {"attempt", j.Attempt},
		{"runner", j.Runner},
	} {
		if line[1] != "" {
			b.WriteString(line[0] + ": " + strings.Join(strings.Fields(line[1]), " ") + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ReadContext returns the commit and the branch of a failure from the context of its memory.
func ReadContext(context string) (commit, branch string) {
	for line := range strings.Lines(context) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "commit":
			commit = value
		case "branch":
			branch = value
		}
	}
	return commit, branch
}

// Session returns the session of the run's memories.
func (j Job) Session() string {
	if j.Run == "" {
		return "ci-" + j.System
	}
	return cut("ci-"+j.System+"-"+j.Run, mostTag)
}

// mostTag is the longest tag in bytes.
const mostTag = 120

// The tags of failures. All have TagCI, and either TagOpen or TagFixed.
const (
	TagCI    = "ci"
	TagOpen  = "ci:open"
	TagFixed = "ci:fixed"
	TagFlaky = "flaky"
)

// JobTag returns the tag of the job, by which its failures are found.
func (j Job) JobTag() string { return cut("job:"+j.Name, mostTag) }

// RepositoryTag returns the tag of the repository.
func (j Job) RepositoryTag() string { return cut("repo:"+j.Repository, mostTag) }

// PrintTag returns the tag of a fingerprint.
func PrintTag(print string) string { return "fp:" + print }

// OpenTags returns the tags of the job's failures that are not fixed.
func (j Job) OpenTags() []string {
	return append([]string{TagCI, TagOpen}, j.where()...)
}

// where returns the tags of the job and of the repository, if they are known.
func (j Job) where() []string {
	var tags []string
	if j.Name != "" {
		tags = append(tags, j.JobTag())
	}
	if j.Repository != "" {
		tags = append(tags, j.RepositoryTag())
	}
	return tags
}

// once returns an idempotency key with which the run stores one thing about a failure only once. It
// returns "" for a run without an id, because each run of a command in a shell counts.
func (j Job) once(what, print string) string {
	if j.Run == "" {
		return ""
	}
	return cut(strings.Join([]string{what, j.System, j.Repository, j.Run, j.Attempt, j.Name, print}, "/"), 200)
}
