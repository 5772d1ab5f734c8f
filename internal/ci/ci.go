// Package ci finds the failures in the output of a build, so that `rookery ci` can store them as
// memories.
//
// The package is pure: output, reports, environment and the state of the checkout are arguments,
// and it runs no programs.
package ci

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/memory"
)

// The kinds of findings.
const (
	KindTest       = "test"       // a test failed
	KindBuild      = "build"      // a compilation or build failed
	KindCrash      = "crash"      // a program ended with a panic, or with an error outside of tests
	KindRace       = "race"       // a data race
	KindDependency = "dependency" // a dependency is missing
	KindTimeout    = "timeout"    // a timeout
	KindMemory     = "memory"     // out of memory
	KindExit       = "exit"       // only the exit code is known
)

// The failure categories of a memory (spec/rum-retrieval-api.md, failure_category).
const (
	categoryDependency memory.FailureCategory = "missing_dependency"
	categoryRace       memory.FailureCategory = "race_condition"
	categoryType       memory.FailureCategory = "type_error"
	categoryTest       memory.FailureCategory = "test_failure"
	categoryBuild      memory.FailureCategory = "build_failure"
	categoryRuntime    memory.FailureCategory = "runtime_error"
	categoryOther      memory.FailureCategory = "other"
)

// MostFindings is the largest number of findings of a run.
const MostFindings = 10

// A Finding is one failure in the output of a command.
type Finding struct {
	Tool     string // go, pytest, jest, cargo, tsc, cc, javac, npm, pnpm, yarn, docker, junit, shell
	Kind     string // one of the kinds
	Category memory.FailureCategory
	File     string // as the tool wrote it; empty if there is none
	Line     int    // in the file, from 1; 0 if unknown
	Symbol   string // the test, the error code or the step that failed; may be empty
	Message  string // one line of the tool's output
}

// A Run is a command that has ended.
type Run struct {
	Output  string   // its output without escape sequences; see Plain
	Exit    int      // its exit code
	Reports [][]byte // its JUnit XML files
}

// A recogniser returns the failures of one tool.
type recogniser func(Run) []Finding

// recognisers are in the order of their findings: the most specific first.
var recognisers = []recogniser{
	junit, golang, pytest, jest, cargo, compilers, packages, docker, exitFindings,
}

// Recognise returns the failures of a failed run: at least one finding and at most MostFindings,
// without repetitions. The run is remembered by the first one.
func Recognise(r Run) []Finding {
	var all []Finding
	for _, of := range recognisers {
		for _, f := range of(r) {
			if !slices.ContainsFunc(all, f.repeats) {
				all = append(all, f)
			}
			if len(all) == MostFindings {
				return all
			}
		}
	}
	if len(all) == 0 {
		all = append(all, unknown(r))
	}
	return all
}

// repeats reports whether two findings are about the same failure: a report and the output describe
// a test in different words.
func (f Finding) repeats(o Finding) bool {
	if f.Kind != o.Kind {
		return false
	}
	if f.Symbol != "" && o.Symbol != "" && f.Tool != o.Tool {
		return lastPart(f.Symbol) == lastPart(o.Symbol)
	}
	return f.Symbol == o.Symbol && f.File == o.File && (f.Symbol != "" && f.Kind == KindTest || f.Message == o.Message)
}

// Verification returns how a finding was verified, as a value of verified_by.type of a memory.
func (f Finding) Verification() string {
	switch {
	case f.Category == categoryType:
		return "typecheck"
	case f.Kind == KindTest || f.Kind == KindRace:
		return "test"
	case f.Kind == KindBuild || f.Kind == KindDependency:
		return "build"
	}
	return "manual"
}

// Title returns a finding as one line: its tool, its symbol or file, and its message.
func (f Finding) Title() string {
	title := f.Tool
	if name := cmp.Or(f.Symbol, f.File); name != "" {
		title += " " + name
	}
	return cut(title+": "+f.Message, mostTitle)
}

const mostTitle = 300

// cut returns a text, or its beginning and an ellipsis: at most most bytes of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	end := max(0, most-len(more))
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + more
}

// An exhaustion is a way for a command to run out of memory or time.
type exhaustion struct {
	kind, symbol string
	line         *regexp.Regexp // matches the lines that report it
	exit         int            // the exit code that shows it
	message      string         // if only the exit code shows it
}

// exhaustions are in the order of their findings.
var exhaustions = []exhaustion{
	{
		kind: KindMemory, symbol: "oom", exit: 137, message: "it was killed", // 128 + SIGKILL: usually out of memory
		line: regexp.MustCompile(
			`(?m)^Killed\b.*|.*(?:heap out of memory|runtime: out of memory|OutOfMemoryError|Cannot allocate memory).*`),
	},
	{
		kind: KindTimeout, symbol: "timeout", exit: 124, message: "it took too long", // of timeout(1)
		line: regexp.MustCompile(`(?mi)^.*(?:deadline exceeded|timed out|timeout exceeded).*$`),
	},
}

// exitFindings finds commands that ran out of memory or time.
func exitFindings(r Run) []Finding {
	for _, e := range exhaustions {
		line := e.line.FindString(r.Output)
		if line == "" && r.Exit != e.exit {
			continue
		}
		return []Finding{{
			Tool: "shell", Kind: e.kind, Category: categoryRuntime, Symbol: e.symbol,
			Message: strings.TrimSpace(cmp.Or(line, e.message)),
		}}
	}
	return nil
}

// unknown returns the finding of a run without a recognised failure: its last three lines that are
// not blank.
func unknown(r Run) Finding {
	var last []string
	lines := r.lines()
	for i := len(lines) - 1; i >= 0 && len(last) < 3; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			last = append([]string{line}, last...)
		}
	}
	f := Finding{Tool: "shell", Kind: KindExit, Category: categoryOther, Symbol: fmt.Sprintf("exit %d", r.Exit)}
	if f.Message = strings.Join(last, " / "); f.Message == "" {
		f.Message = "it wrote nothing"
	}
	return f
}

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
