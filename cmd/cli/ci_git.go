package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// A git runs Git in a checkout. If there is no Git, or no checkout, results are empty.
type git struct{ dir string }

// patientGit is the timeout of one command of Git.
const patientGit = 5 * time.Second

// ask runs a command of Git and returns its output.
func (g git) ask(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patientGit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // the arguments are ours
	cmd.Dir = g.dir
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// one returns the output of a command with one line; "" if it fails.
func (g git) one(ctx context.Context, args ...string) string {
	out, err := g.ask(ctx, args...)
	if err != nil || out == "HEAD" {
		return ""
	}
	return out
}

// lines returns the lines of a command's output; nil if it fails.
func (g git) lines(ctx context.Context, args ...string) []string {
	out, err := g.ask(ctx, args...)
	if err != nil || out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

func (g git) root(ctx context.Context) string { return g.one(ctx, "rev-parse", "--show-toplevel") }

// repository returns owner/name of the remote origin, or "".
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
// changes.
func (g git) changed(ctx context.Context, base string) []string {
	if base != "" {
		return g.lines(ctx, "diff", "--name-only", base+"...HEAD", "--")
	}
	return g.lines(ctx, "diff", "--name-only", "HEAD^", "HEAD", "--")
}

// hasAncestor reports whether a commit is an ancestor of HEAD, and whether that is known, which it
// is not in a shallow clone.
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
