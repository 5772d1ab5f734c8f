package ci

import (
	"cmp"
	"fmt"

	"github.com/rookeryhq/rookery/internal/memory"
)

// The limits of the fields of a memory, in bytes and entries.
const (
	mostReason  = 2 << 10
	mostShown   = 4 << 10
	mostCommand = 4 << 10
	mostFiles   = 50
	mostLearnt  = 5
)

// A Failure is a failed run, with its context.
type Failure struct {
	Job
	Goal      string // the purpose of the command; empty if unknown
	Command   string
	Dir       string // relative to the checkout; empty for its root
	Exit      int
	Took      int64     // milliseconds
	Findings  []Finding // at least one
	Output    string
	Changed   []string // files that the commit changes
	Redactor  Redactor
	Timestamp int64 // start of the command in Unix milliseconds
	Flaky     bool  // the failure comes and goes
}

// Print returns the fingerprint of the failure, which is that of its first finding.
func (f Failure) Print() string { return f.Findings[0].Fingerprint(f.Root) }

// A Store contains the arguments of memory_store.
type Store struct {
	Vault      string              `json:"vault,omitempty"`
	Intent     memory.Intent       `json:"intent"`
	Perception *memory.Perception  `json:"perception,omitempty"`
	Actions    []memory.Action     `json:"actions,omitempty"`
	Outcome    memory.Outcome      `json:"outcome"`
	Tags       []string            `json:"tags,omitempty"`
	Links      map[string][]string `json:"links,omitempty"`
	Key        string              `json:"key,omitempty"`

	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Session        string `json:"session,omitempty"`
}

// Store returns the memory of the failure. There is one memory per fingerprint, which counts its
// runs.
func (f Failure) Store() Store {
	first := f.redacted(f.Findings[0])
	print := f.Print()
	title := cut("CI "+cmp.Or(f.Name, "command")+": "+first.Title(), mostTitle)
	goal := cmp.Or(f.Redactor.Redact(f.Goal), title)
	return Store{
		Intent: memory.Intent{Goal: goal, TaskType: "investigation", Context: f.Redactor.Redact(f.context())},
		Outcome: memory.Outcome{
			Summary: first.Message, FailureReason: cut(f.reason(), mostReason), FailureCategory: first.Category,
			VerifiedBy: &memory.Verification{
				Type: first.Verification(), Command: f.command(), Result: fmt.Sprintf("exit %d", f.Exit),
			},
		},
		Perception:     &memory.Perception{Observations: f.observations(), RelevantFiles: f.files()},
		Actions:        []memory.Action{f.action()},
		Tags:           f.tags(first, print),
		Key:            "ci/" + print,
		Session:        f.Session(),
		IdempotencyKey: f.once("ci", print),
	}
}

func (f Failure) redacted(one Finding) Finding {
	one = one.In(f.Root)
	one.File, one.Symbol = f.Redactor.Redact(one.File), f.Redactor.Redact(one.Symbol)
	one.Message = cut(f.Redactor.Redact(one.Message), mostReason)
	return one
}

func (f Failure) command() string { return cut(f.Redactor.Redact(f.Command), mostCommand) }

// reason returns the end of the output.
func (f Failure) reason() string {
	return Excerpt(relative(f.Redactor.Redact(f.Output), f.Root), mostReason)
}

// observations returns one observation for each finding, without secrets.
func (f Failure) observations() []memory.Observation {
	var all []memory.Observation
	for _, one := range f.Findings {
		one = f.redacted(one)
		where := one.File
		if where != "" && one.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, one.Line)
		}
		what := one.Message
		if one.Symbol != "" {
			what = one.Symbol + ": " + what
		}
		all = append(all, memory.Observation{
			What: what, Where: cmp.Or(where, one.Tool), Significance: one.Tool + " " + one.Kind + ": " + string(one.Category),
		})
	}
	return all
}

// files returns the files that the findings name, and those that the commit changes.
func (f Failure) files() []memory.RelevantFile {
	var all []memory.RelevantFile
	seen := map[string]bool{}
	add := func(path, why string) {
		if path != "" && !seen[path] && len(path) <= 512 {
			seen[path] = true
			all = append(all, memory.RelevantFile{Path: path, Relevance: why})
		}
	}
	for _, one := range f.Findings {
		add(f.redacted(one).File, "named by the failure")
	}
	for _, path := range f.Changed[:min(len(f.Changed), mostFiles)] {
		add(path, "changed in this commit")
	}
	return all
}

// action returns the failed command and the end of its output, without secrets.
func (f Failure) action() memory.Action {
	a := memory.Action{
		Type: "command_run", Command: f.command(), WorkingDirectory: f.Dir,
		Result: &memory.Result{
			Error:      Excerpt(relative(f.Redactor.Redact(f.Output), f.Root), mostShown),
			DurationMS: &f.Took,
		},
	}
	if f.Timestamp > 0 {
		a.Timestamp = &f.Timestamp
	}
	return a
}

func (f Failure) tags(first Finding, print string) []string {
	tags := append([]string{TagCI, TagOpen}, f.where()...)
	if f.Flaky {
		tags = append(tags, TagFlaky)
	}
	return append(tags, "tool:"+first.Tool, PrintTag(print))
}

// A Fix is a run that succeeded after others had failed.
type Fix struct {
	Job
	Failed  string   // the id of the failure's memory
	Print   string   // the fingerprint of the failure
	Goal    string   // the goal of the failure
	Subject string   // of this run's commit
	Learnt  []string // subjects of the commits since the failure, the newest first
	Changed []string // files that these commits changed
	Sure    bool     // the failure's commit is an ancestor of this one
}

// Store returns the memory of the fix.
func (f Fix) Store() Store {
	summary := fmt.Sprintf("%s is green again at %s", cmp.Or(f.Name, "the command"), short(f.Commit))
	if f.Subject != "" {
		summary += ": " + f.Subject
	}
	if !f.Sure {
		summary += " (not verified: the history between the two commits is not in this checkout)"
	}
	s := Store{
		Intent: memory.Intent{
			Goal: cut("Fix "+f.Goal, mostTitle), TaskType: "bug_fix", Context: f.context(),
		},
		Outcome: memory.Outcome{
			Success: true, Summary: cut(summary, mostReason), Learnings: f.Learnt[:min(len(f.Learnt), mostLearnt)],
		},
		Tags:           append([]string{TagCI, TagFixed, PrintTag(f.Print)}, f.where()...),
		Links:          map[string][]string{memory.CausedBy: {f.Failed}},
		Key:            cut("ci-fix/"+f.Print+"/"+f.Commit, 200),
		Session:        f.Session(),
		IdempotencyKey: f.once("ci-fix", f.Print),
	}
	for _, path := range f.Changed[:min(len(f.Changed), mostFiles)] {
		s.Actions = append(s.Actions, memory.Action{Type: "file_edit", FilePath: path})
	}
	return s
}

// short returns the beginning of a commit id.
func short(commit string) string { return commit[:min(len(commit), 12)] }
