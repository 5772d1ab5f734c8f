package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/ci"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// The output formats of `rookery ci recall`.
const (
	formText     = "text"
	formMarkdown = "markdown"
	formSummary  = "summary" // appended to the summary of the job
)

// mostAsked is the largest number of files in the questions, one call each. The time limit usually
// ends a longer list anyway.
const mostAsked = 20

// A recaller is the command that prints memories about a build before it runs: for the log of the
// build, for its summary, or for an agent that repairs it. The fields are the values of the flags.
type recaller struct {
	builds
	base      string
	files     []string
	form      string
	limit     int
	maxTokens int
	strict    bool
}

// command returns the command. It has no arguments; all limits have defaults that suit the log of a
// build or the context of an agent.
func (r *recaller) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "recall",
		Short: "Print what earlier builds learnt",
		Long: "Print what earlier builds learnt: the failures of this job and repository, open " +
			"ones and those that\nwere fixed, memories of the files that changed, and those " +
			"that fit the goal or the subject of the\ncommit.\n\nIt succeeds if nothing is " +
			"known, and if the server cannot be reached; with --strict the latter is an\nerror.",
		Example: "rookery ci recall --vault builds --job unit\n" +
			"rookery ci recall --vault builds --changed origin/main --format summary",
		Args: cobra.NoArgs,
		RunE: r.run,

		ValidArgsFunction: cobra.NoFileCompletions,
	}
	r.flags(c)
	f := c.Flags()
	f.StringVar(&r.base, "changed", "",
		"files that differ from this branch or commit (default: those of the newest commit)")
	f.StringArrayVar(&r.files, "file", nil, "path of a file to recall memories for, instead of "+
		"the changed files")
	f.StringVar(&r.form, "format", formText, "text, markdown, or summary: Markdown that is added to --summary")
	f.IntVar(&r.limit, "limit", 5, "maximum number of memories")
	f.IntVar(&r.maxTokens, "max-tokens", 1500, "maximum number of tokens, about four bytes each")
	f.BoolVar(&r.strict, "strict", false, "fail if the server cannot be reached or refuses the "+
		"call")
	return c
}

// run prints the memories about the build. A server that cannot be reached is a line on standard
// error, and the command succeeds, unless --strict is set. With --format summary, the text goes to
// the summary and not to standard output; the JSON answer is the same in every format.
func (r *recaller) run(c *cobra.Command, _ []string) error {
	if err := r.check(); err != nil {
		return err
	}
	target, err := r.app.Target(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context(), r.patience)
	defer cancel()
	found, j, err := r.find(ctx, target)
	switch {
	case err != nil && r.strict:
		return err
	case err != nil && len(found) > 0:
		r.say("not everything recalled: %s", reason(err))
	case err != nil:
		r.say("nothing recalled: %s", reason(err))
	}
	text := r.print(found)
	if r.form == formSummary {
		r.summarise(j.Summary, text)
		text = ""
	}
	return r.app.Finish(c, clitool.Outcome{Data: map[string]any{"memories": recalled(found)}, Text: text})
}

// check returns a usage error for a flag with an invalid value. It is called before anything else,
// so that an invalid line fails at once and not only when the server is reached.
func (r *recaller) check() error {
	switch {
	case !slices.Contains([]string{formText, formMarkdown, formSummary}, r.form):
		return clitool.Usage("--format must be text, markdown or summary")
	case r.limit < 1 || r.limit > 100:
		return clitool.Usage("--limit must be 1 to 100")
	case r.maxTokens < 100 || r.maxTokens > 100_000:
		return clitool.Usage("--max-tokens must be 100 to 100000")
	case r.form == formSummary && cmp.Or(r.summary, r.env("GITHUB_STEP_SUMMARY")) == "":
		return clitool.Usage("--format summary needs a file: give --summary FILE")
	}
	return nil
}

// find returns memories about the job, each once, at most --limit. It asks the questions in order
// until it has enough, so a build with many open failures costs one call. The memories of each
// question are sorted by time, the newest first; those of a more important question come first. An
// answer NOT_FOUND counts as no memories. On another error it returns the memories of the questions
// before.
func (r *recaller) find(ctx context.Context, target clitool.Target) ([]known, ci.Job, error) {
	j := r.describe(ctx, nil)
	m, closer, err := r.connect(ctx, target, j.Session())
	if err != nil {
		return nil, j, err
	}
	if closer != nil {
		defer func() { _ = closer.Close() }()
	}
	var all []known
	for _, ask := range r.questions(ctx, j) {
		ask["depth"], ask["limit"] = "complete", r.limit
		found, _, err := m.recall(ctx, ask)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return all, j, err
		}
		slices.SortStableFunc(found, func(a, b known) int { return cmp.Compare(b.newest(), a.newest()) })
		for _, k := range found {
			if !slices.ContainsFunc(all, func(o known) bool { return o.ID == k.ID }) {
				all = append(all, k)
			}
		}
		if len(all) >= r.limit {
			return all[:r.limit], j, nil
		}
	}
	return all, j, nil
}

// questions returns the arguments of calls of memory_recall, the most important first: the open
// failures of this job, the memories of each changed file, the failures that were fixed, and
// memories that fit the goal or, without one, the subject of the commit. The second tag of OpenTags
// is the state, which is replaced for the fixed ones.
func (r *recaller) questions(ctx context.Context, j ci.Job) []map[string]any {
	var all []map[string]any
	of := func(state string) {
		tags := slices.Clone(j.OpenTags())
		tags[1] = state
		all = append(all, map[string]any{"task_type": "investigation", "tags": tags})
	}
	of(ci.TagOpen)
	files := r.files
	if len(files) == 0 {
		files = git{j.Root}.changed(ctx, r.base)
	}
	for _, file := range files[:min(len(files), mostAsked)] {
		all = append(all, map[string]any{"file": file})
	}
	of(ci.TagFixed)
	if goal := cmp.Or(r.goal, git{j.Root}.one(ctx, "log", "-1", "--format=%s")); goal != "" {
		all = append(all, map[string]any{"intent": goal})
	}
	return all
}

// print returns memories as text or as Markdown, within the limit of tokens, of four bytes each.
// Whole lines are omitted at the end, and control characters are escaped. Without memories, text
// says so; Markdown is empty, because a summary needs no section without content.
func (r *recaller) print(found []known) string {
	left, title := r.maxTokens*4, "What earlier builds learnt"
	var lines []string
	for _, k := range found {
		for _, line := range linesOf(k) {
			line = control.Escape(line)
			if left -= len(line) + 1; left < 0 {
				break
			}
			lines = append(lines, line)
		}
	}
	switch {
	case r.form != formText && len(lines) > 0:
		return markdownOf(title, lines)
	case len(lines) == 0 && r.form == formText:
		return "Nothing is known.\n"
	case len(lines) == 0:
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// linesOf returns the lines about one memory: its state, day, count, id and goal on the first, and
// then its summary and learnings as quoted lines. The state is worked for a memory of a success,
// such as a fix; fixed or flaky for a failure with that tag; and otherwise failed.
func linesOf(k known) []string {
	state := "failed"
	switch {
	case k.Outcome.Success:
		state = "worked"
	case slices.Contains(k.Tags, ci.TagFixed):
		state = "fixed"
	case slices.Contains(k.Tags, ci.TagFlaky):
		state = "flaky"
	}
	count := ""
	if k.Times > 1 {
		count = ", " + times(k.Times)
	}
	head := fmt.Sprintf("%s (%s%s) %s: %s", state, day(k.newest()), count, k.ID, k.Intent.Goal)
	lines := []string{strings.Join(strings.Fields(head), " ")}
	if summary := strings.Join(strings.Fields(k.Outcome.Summary), " "); summary != "" {
		lines = append(lines, "  > "+summary)
	}
	return append(lines, quoted(k.Outcome.Learnings)...)
}

// A recalledMemory is a memory in the JSON answer. Its members are flat and always present, so that
// a script need not know the format of memories. CreatedAt is in Unix milliseconds.
type recalledMemory struct {
	ID        string   `json:"id"`
	Goal      string   `json:"goal"`
	Success   bool     `json:"success"`
	Summary   string   `json:"summary"`
	Learnings []string `json:"learnings"`
	Tags      []string `json:"tags"`
	Times     int      `json:"times"`
	CreatedAt int64    `json:"created_at"`
}

// recalled returns the memories for the JSON answer. Empty lists are [] and not null.
func recalled(found []known) []recalledMemory {
	all := []recalledMemory{}
	for _, k := range found {
		all = append(all, recalledMemory{
			ID: k.ID, Goal: k.Intent.Goal, Success: k.Outcome.Success, Summary: k.Outcome.Summary,
			Learnings: append([]string{}, k.Outcome.Learnings...), Tags: append([]string{}, k.Tags...),
			Times: max(k.Times, 1), CreatedAt: k.CreatedAt,
		})
	}
	return all
}
