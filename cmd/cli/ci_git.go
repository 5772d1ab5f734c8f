package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// A git runs Git in a checkout; dir is its directory, or empty for the working directory. If there
// is no Git, or no checkout, results are empty: a memory then has no commit, and nothing fails.
// Only commands that read are run.
type git struct{ dir string }

// patientGit is the timeout of one command of Git. A command may be slow in a large repository with
// cold caches. A build waits for a few commands at most, after its own has ended.
const patientGit = 5 * time.Second

// ask runs a command of Git and returns its output without blanks around it. The error is an
// *exec.ExitError if Git ran and failed. Standard error is not shown.
func (g git) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patientGit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the arguments are ours
	cmd.Dir = g.dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// one returns the output of a command with one line; "" if it fails, or if it is "HEAD", which
// Git prints for the branch of a detached checkout. CI systems check out in that way.
func (g git) one(ctx context.Context, args ...string) string {
	out, err := g.ask(ctx, args...)
	if err != nil || out == "HEAD" {
		return ""
	}
	return out
}

// lines returns the lines of a command's output; nil if it fails or prints nothing.
func (g git) lines(ctx context.Context, args ...string) []string {
	out, err := g.ask(ctx, args...)
	if err != nil || out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// root returns the absolute path of the checkout, or "".
func (g git) root(ctx context.Context) string { return g.one(ctx, "rev-parse", "--show-toplevel") }

// repository returns owner/name of the remote origin, or "". It is made from the last two parts of
// the URL, and so is the same for the forms https://HOST/owner/name.git and
// git@HOST:owner/name.git. It contains neither the host nor a password in the URL.
func (g git) repository(ctx context.Context) string {
	url := strings.TrimSuffix(g.one(ctx, "remote", "get-url", "origin"), ".git")
	url = strings.ReplaceAll(url, ":", "/")
	parts := strings.Split(strings.Trim(url, "/"), "/")
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// changed returns the files that differ between base and HEAD or, if base is empty, those that HEAD
// changes. Paths are relative to the root of the checkout. The three dots compare with the merge
// base, so changes of the base branch are not in the list. In a shallow clone the other commit is
// missing, and the result is nil.
func (g git) changed(ctx context.Context, base string) []string {
	if base != "" {
		return g.lines(ctx, "diff", "--name-only", base+"...HEAD", "--")
	}
	return g.lines(ctx, "diff", "--name-only", "HEAD^", "HEAD", "--")
}

// hasAncestor reports whether a commit is an ancestor of HEAD, and whether that is known. Git exits
// with 1 if it is not; any other failure, such as a missing commit, leaves it unknown. A shallow
// clone has too little history for a "no". A commit that begins with a hyphen is refused, because
// it comes from a memory and Git would read it as an option.
func (g git) hasAncestor(ctx context.Context, commit string) (is, known bool) {
	if commit == "" || strings.HasPrefix(commit, "-") {
		return false, false
	}
	_, err := g.ask(ctx, "merge-base", "--is-ancestor", commit, "HEAD")
	if err == nil {
		return true, true
	}
	var exit *exec.ExitError
	no := errors.As(err, &exit) && exit.ExitCode() == 1
	return false, no && g.one(ctx, "rev-parse", "--is-shallow-repository") == "false"
}
