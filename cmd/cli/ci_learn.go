package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/ci"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// Limits of the reports that are read: their number, and the bytes of each.
const (
	mostReports = 200
	mostReport  = 16 << 20
)

// mostLines is the largest number of lines that are printed about a known failure. They appear
// below the output of the command, which must remain easy to find.
const mostLines = 12

// mostOpen is the largest number of open failures that a successful run handles. Others are handled
// by the next successful run.
const mostOpen = 20

// A learner is the command that runs a command, and remembers its failure.
//
// A failure is identified by its fingerprint, which does not depend on line numbers or times. All
// runs that fail in the same way share one memory, with the tags ci:open, of its job and of its
// repository; the server counts them. When the job succeeds, each open memory of it is compared
// with the commit of the successful run:
//
//   - The same commit: the failure comes and goes. It gets the tag flaky and stays open.
//   - An ancestor of it: a second memory is stored as the fix, with the subjects of the commits
//     between the two and the files that they changed. The failure gets the tag ci:fixed instead of
//     ci:open.
//   - Another commit that was on the same branch: the same, without commits and files. The fix says
//     that it is not verified.
//   - Otherwise, such as on another branch: nothing. The failure may still be there.
//
// Runs for pull requests store nothing, unless --pull-requests is set, and runs for forks do not
// even connect: their commits have unknown authors, who could write memories that mislead others.
type learner struct {
	builds
	reports      []string
	noRecall     bool
	fixes        bool
	pullRequests bool
}

// command returns the command. Flags after the first word belong to the command that is run, which
// SetInterspersed(false) ensures.
func (l *learner) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "learn [flags] -- COMMAND [ARG…]",
		Short: "Run a command of a build, and remember how it failed",
		Long: "Run a command of a build unchanged, and remember how it failed: one memory for " +
			"each failure, with a\ncount of later runs that fail the same way. If the failure " +
			"is known, the memories of it are printed.\nWhen the command succeeds again, the " +
			"fix is stored with its commits and files.\n\nThe exit code is that of the command, " +
			"even if the memory cannot be stored. Secrets in the\nenvironment are removed from " +
			"stored text. Pull requests from forks store nothing; pull requests from\nthe same " +
			"repository only with --pull-requests.",
		Example: "rookery ci learn --vault builds -- go test ./...\n" +
			"rookery ci learn --vault builds --job unit --report 'build/**/TEST-*.xml' -- ./gradlew test",
		Args: cobra.ArbitraryArgs,
		RunE: l.run,
	}
	l.flags(c)
	f := c.Flags()
	f.SetInterspersed(false)
	f.StringArrayVar(&l.reports, "report", nil, "JUnit XML that the command writes: a pattern such as build/**/*.xml")
	f.BoolVar(&l.noRecall, "no-recall", false, "do not print the memories of a failure")
	f.BoolVar(&l.fixes, "fixes", true, "remember what fixed a failure when the command succeeds again")
	f.BoolVar(&l.pullRequests, "pull-requests", false, "also store memories in runs for pull "+
		"requests of the same repository")
	return c
}

// run runs the command, learns from its end, and ends this process with the same exit code. An
// error about the target is kept until the command has ended, because a wrong flag must not keep a
// build from running. Interrupts end the command, but not the learning: it has a context of its
// own, which only --patience limits.
func (l *learner) run(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return clitool.Usage("name the command to run: rookery ci learn -- COMMAND")
	}
	target, wrong := l.app.Target(c)
	began := time.Now()
	r := &running{in: l.app.In, out: l.app.Out, errs: l.app.Err}
	exit := r.run(args)
	l.finish(context.WithoutCancel(c.Context()), ended{
		target: target, wrong: wrong, command: args, exit: exit, output: r.kept.String(), began: began,
		took: time.Since(began),
	})
	if exit == 0 {
		return nil
	}
	return clitool.ExitStatus(exit)
}

// An ended is a command that has ended: its words, its exit code, the kept part of its output
// without escape sequences, and when it began and how long it took. It also has the target of the
// memory, or the error about it in wrong.
type ended struct {
	target  clitool.Target
	wrong   error // an error about the target
	command []string
	exit    int
	output  string
	began   time.Time
	took    time.Duration
}

// errNothing means that there is nothing to learn. finish prints no line about it.
var errNothing = errors.New("nothing to learn")

// finish learns from a command that has ended. It prints a line on an error, and never fails. It
// recovers from a panic too: the build is not lost because of a defect here.
func (l *learner) finish(ctx context.Context, e ended) {
	defer func() {
		if recover() != nil {
			l.say("not learnt: an internal error")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	switch err := l.learn(ctx, e); {
	case errors.Is(err, errNothing), err == nil:
	case ctx.Err() != nil:
		l.say("not learnt: the server did not answer in %s", l.patience)
	default:
		l.say("not learnt: %s", reason(err))
	}
}

// learn stores a failure, or the fixes of earlier ones. It returns errNothing if the flags and the
// event of the run allow neither to print nor to store anything, before it connects.
//
// The order matters for a failure: the known facts are printed first, and so do not contain the
// run itself, and the answer says whether the failure is already known to be flaky, a tag that the
// stored memory must keep.
func (l *learner) learn(ctx context.Context, e ended) error {
	if e.wrong != nil {
		return e.wrong
	}
	j := l.describe(ctx, e.command)
	stores := !j.PullRequest || l.pullRequests
	switch {
	case j.Fork:
		l.say("not learnt: this is a pull request from a fork")
		return errNothing
	case e.exit == 0 && (!l.fixes || !stores), e.exit != 0 && l.noRecall && !stores:
		return errNothing
	}
	m, closer, err := l.connect(ctx, e.target, j.Session())
	if err != nil {
		return err
	}
	if closer != nil {
		defer func() { _ = closer.Close() }()
	}
	if e.exit == 0 {
		return fixer{&l.builds, m, j}.run(ctx)
	}
	f := l.failure(ctx, j, e)
	if !l.noRecall {
		if f.Flaky, err = l.tell(ctx, m, f); err != nil {
			return err
		}
	}
	if !stores {
		l.say("a run for a pull request stores nothing; --pull-requests changes that")
		return nil
	}
	return l.store(ctx, m, f)
}

// failure returns a failed command with its context: the findings of the recognisers in the output
// and in the reports, the files that the commit changes, and the Redactor that removes the secrets
// of the environment from all texts. Nothing of the environment itself is stored.
func (l *learner) failure(ctx context.Context, j ci.Job, e ended) ci.Failure {
	redactor := ci.NewRedactor(os.Environ(), e.output)
	found := ci.Recognise(ci.Run{Output: e.output, Exit: e.exit, Reports: l.readReports(e.began)})
	return ci.Failure{
		Job: j, Goal: l.goal, Command: strings.Join(e.command, " "), Dir: directory(j.Root), Exit: e.exit,
		Took: e.took.Milliseconds(), Findings: found, Output: e.output, Redactor: redactor,
		Changed: git{j.Root}.changed(ctx, ""), Timestamp: e.began.UnixMilli(),
	}
}

// directory returns the working directory relative to a checkout, with slashes; "" if it is the
// root of the checkout or outside, so that no absolute path of the machine is stored.
func directory(root string) string {
	here, err := os.Getwd()
	if err != nil || root == "" {
		return ""
	}
	dir, err := filepath.Rel(root, here)
	if err != nil || dir == "." || strings.HasPrefix(dir, "..") {
		return ""
	}
	return filepath.ToSlash(dir)
}

// readReports returns the JUnit XML reports that match --report and were written since a time. An
// older report is of an earlier run, whose failures are not those of this command. The time is
// truncated to a second, because some file systems store no fractions. It skips reports that are
// too large or cannot be read, and those after the first mostReports. It does not parse them.
func (l *learner) readReports(since time.Time) [][]byte {
	var all [][]byte
	for _, pattern := range l.reports {
		paths, err := doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly())
		if err != nil {
			l.say("--report is not a valid pattern: %s", pattern)
			continue
		}
		slices.Sort(paths)
		for _, path := range paths {
			about, err := os.Stat(path)
			old := err != nil || about.ModTime().Before(since.Truncate(time.Second))
			if old || about.Size() > mostReport || len(all) == mostReports {
				continue
			}
			if data, err := os.ReadFile(path); err == nil { //nolint:gosec // the caller names it
				all = append(all, data)
			}
		}
	}
	return all
}

// tell prints the known facts about a failure, and reports whether it is known to be flaky: how
// often and since when it has occurred, its learnings, and its fixes, or for a new failure the
// lessons of similar ones. They are also added to the job summary. An error is that of a call; a
// failure about which nothing is known is none.
func (l *learner) tell(ctx context.Context, m memoryCaller, f ci.Failure) (flaky bool, err error) {
	print := ci.PrintTag(f.Print())
	seen, _, err := m.recall(ctx, map[string]any{
		"task_type": "investigation", "tags": []string{print}, "depth": "complete", "limit": 1,
	})
	if err != nil {
		return false, err
	}
	var lines []string
	for _, k := range seen {
		flaky = flaky || slices.Contains(k.Tags, ci.TagFlaky)
		lines = append(lines, fmt.Sprintf("seen %s since %s, last on %s: %s", times(max(k.Times, 1)), day(k.CreatedAt),
			day(k.newest()), k.Intent.Goal))
		lines = append(lines, quoted(k.Outcome.Learnings)...)
	}
	more, err := l.related(ctx, m, f, print, len(seen) > 0)
	if err != nil {
		return flaky, err
	}
	lines = append(lines, more...)
	for _, line := range lines[:min(len(lines), mostLines)] {
		l.say("%s", line)
	}
	if len(lines) > 0 {
		l.summarise(f.Summary, markdownOf("Known about this failure", lines))
	}
	return flaky, nil
}

// related returns lines about the fixes of a known failure, or about failures that are similar to a
// new one. Fixes are found by the fingerprint, and similar failures by the text of the message,
// redacted before it is sent. Each has up to three memories.
func (l *learner) related(
	ctx context.Context, m memoryCaller, f ci.Failure, print string, seen bool,
) (lines []string, err error) {
	in := map[string]any{"task_type": "bug_fix", "tags": []string{print}, "success_only": true}
	word := "fixed: "
	if !seen {
		in = map[string]any{"intent": f.Redactor.Redact(f.Findings[0].In(f.Root).Message), "failures_only": true}
		word = "like it: "
	}
	in["depth"], in["limit"] = "outcome", 3
	found, _, err := m.recall(ctx, in)
	for _, k := range found {
		lines = append(lines, word+k.Outcome.Summary)
		lines = append(lines, quoted(k.Outcome.Learnings)...)
	}
	return lines, err
}

// quoted returns up to three learnings as quoted lines, because other people wrote them: a reader,
// who may be an agent, must be able to distinguish them from the output of this program. Line
// breaks become spaces.
func quoted(learnings []string) []string {
	var all []string
	for _, text := range learnings[:min(len(learnings), 3)] {
		all = append(all, "  > "+strings.Join(strings.Fields(text), " "))
	}
	return all
}

// times returns a count in words: "once", or "3 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// markdownOf returns a section of GitHub's job summary, with the lines in a code block, at most
// mostSummary bytes of them. Text of memories is escaped and cannot end the block: three backquotes
// become three quotes. So it cannot add links or images to a page that people trust.
func markdownOf(title string, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(control.Escape(line) + "\n")
	}
	text := strings.TrimSpace(strings.ReplaceAll(b.String(), "```", "'''"))
	if len(text) > mostSummary {
		text = strings.ToValidUTF8(text[:mostSummary], "")
	}
	return "### " + title + "\n\n```text\n" + text + "\n```\n"
}

// store stores a failure, and prints a line about it with the id and the count of its memory. The
// server adds the run to the memory of the same key, if there is one. A step that runs twice within
// one attempt of a job has the same idempotency key but other arguments; KEY_REUSED then means that
// the run is counted already, and is no error.
func (l *learner) store(ctx context.Context, m memoryCaller, f ci.Failure) error {
	var out struct {
		MemoryID string `json:"memory_id"`
		Times    int    `json:"times"`
	}
	in, err := membersOf(f.Store())
	if err != nil {
		return err
	}
	switch _, err := m.call(ctx, "memory_store", in, &out); {
	case fault.Is(err, fault.KeyReused):
		l.say("this run has stored it already")
		return nil
	case err != nil:
		return err
	}
	l.say("learnt as %s, which has failed %s: %s", out.MemoryID, times(max(out.Times, 1)),
		f.Redactor.Redact(f.Findings[0].In(f.Root).Title()))
	return nil
}

// A fixer stores the fixes of a job's failures after the job has succeeded. m calls the tools, and
// job is the run that succeeded.
type fixer struct {
	*builds
	m   memoryCaller
	job ci.Job
}

// run handles the open failures of the job, at most mostOpen. A CONFLICT means that another run of
// the same job has changed the failure since it was read, and has handled it, so it is skipped. Any
// other error ends the loop.
func (x fixer) run(ctx context.Context) error {
	tags := x.job.OpenTags()
	open, version, err := x.m.recall(ctx, map[string]any{
		"task_type": "investigation", "tags": tags, "failures_only": true, "depth": "complete", "limit": mostOpen,
	})
	if err != nil {
		return err
	}
	for _, k := range open {
		if err := x.learn(ctx, k, version); err != nil {
			if fault.Is(err, fault.Conflict) {
				continue // another run handles it
			}
			return err
		}
	}
	return nil
}

// learn stores the fix of one failure, if this run proves that it is fixed: see learner for the
// cases. The fix is stored first and the failure is marked afterwards. If the process ends in
// between, the next successful run finds the failure open and stores its fix too; the fix of the
// same commit has the same key, so it is not stored twice.
//
// An ancestor proves that all commits of the failure are in this run. Without that, only the branch
// is compared: a shallow clone, which CI systems use by default, knows no ancestors.
func (x fixer) learn(ctx context.Context, k known, version string) error {
	commit, branch := ci.ReadContext(k.Intent.Context)
	if commit != "" && commit == x.job.Commit {
		return x.flaky(ctx, k, version)
	}
	g := git{x.job.Root}
	sure, _ := g.hasAncestor(ctx, commit)
	if !sure && branch != x.job.Branch {
		return nil
	}
	fix := ci.Fix{
		Job: x.job, Failed: k.ID, Print: printOf(k.Tags), Goal: k.Intent.Goal,
		Subject: g.one(ctx, "log", "-1", "--format=%s"), Sure: sure,
	}
	if sure {
		fix.Learnt = g.lines(ctx, "log", "--format=%s", "-n", "5", commit+"..HEAD", "--")
		fix.Changed = g.lines(ctx, "diff", "--name-only", commit, "HEAD", "--")
	}
	in, err := membersOf(fix.Store())
	if err != nil {
		return err
	}
	var stored struct {
		MemoryID string `json:"memory_id"`
	}
	if _, err := x.m.call(ctx, "memory_store", in, &stored); err != nil {
		return err
	}
	tags := append(slices.DeleteFunc(slices.Clone(k.Tags), func(tag string) bool {
		return tag == ci.TagOpen || tag == ci.TagFlaky
	}), ci.TagFixed)
	if err := x.update(ctx, k, version, map[string]any{"tags": tags}); err != nil {
		return err
	}
	x.say("fixed, learnt as %s: %s", stored.MemoryID, k.Intent.Goal)
	return nil
}

// passedAgain is the learning that is added to a flaky failure. It is a fixed text, so that it is
// not added twice.
const passedAgain = "passed again on the same commit"

// flaky marks a failure as flaky: it adds the tag and the learning passedAgain. It stays open,
// because nothing has fixed it. A failure that has the tag already is not changed again.
func (x fixer) flaky(ctx context.Context, k known, version string) error {
	if slices.Contains(k.Tags, ci.TagFlaky) {
		return nil
	}
	learnings := slices.Clone(k.Outcome.Learnings)
	if !slices.Contains(learnings, passedAgain) {
		learnings = append(learnings, passedAgain)
	}
	err := x.update(ctx, k, version, map[string]any{
		"tags": append(slices.Clone(k.Tags), ci.TagFlaky), "outcome": map[string]any{"learnings": learnings},
	})
	if err == nil {
		x.say("flaky: it %s: %s", passedAgain, k.Intent.Goal)
	}
	return err
}

// update changes members of a failure, unless it was changed since it was read: then the error is
// CONFLICT. version is that of the answer in which it was read. change is the map of members to
// replace; update adds the id and the version to it.
func (x fixer) update(ctx context.Context, k known, version string, change map[string]any) error {
	change["memory_id"], change["if_version"] = k.ID, version
	var out struct{}
	_, err := x.m.call(ctx, "memory_update_memory", change, &out)
	return err
}

// printOf returns the fingerprint in the tags of a failure, or "".
func printOf(tags []string) string {
	for _, tag := range tags {
		if print, ok := strings.CutPrefix(tag, ci.PrintTag("")); ok {
			return print
		}
	}
	return ""
}
