package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// page returns the help of a command.
func page(t *testing.T, words ...string) string {
	t.Helper()
	code, out, errs := rookery(t, append(words, "--help")...)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	return out
}

// shown returns the flags that a page of help shows.
func shown(page string) []string {
	var all []string
	for _, part := range []string{"\nFlags:\n", "\nCommon flags:\n"} {
		_, rest, _ := strings.Cut(page, part)
		block, _, _ := strings.Cut(rest, "\n\n")
		for _, m := range regexp.MustCompile(`(?:^|\s)--([a-z-]+)`).FindAllStringSubmatch(block, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// effects returns the flags that have an effect on a tool, by its Spec.
func effects(made *tool.Tool) []string {
	all := []string{"server", "token", "data", "vault", "agent", "json", "bare", "envelope", "input",
		"input-file", "stdin"}
	if made.Kind.Changes() {
		all = append(all, "readonly")
	}
	if made.Input != nil && made.Input.Before != nil {
		all = append(all, made.Input.Before.Flag)
	}
	if len(made.Asks) > 0 {
		all = append(all, "yes")
	}
	if made.Input != nil && !made.Input.Any {
		all = append(all, "strict")
	}
	for _, p := range made.Presets {
		all = append(all, p.Flag)
	}
	for _, n := range made.Nested {
		all = append(all, n.Name)
	}
	changing := map[string]bool{"dry_run": true, "if_version": true, "idempotency_key": true}
	for _, a := range made.Args {
		if made.MayMutate() || !changing[a.Name] {
			all = append(all, a.Flag)
		}
	}
	return append(all, "wide")
}

// TestPagesOfHelp checks that a page of help shows no flag without an effect, and that examples for
// people come first.
func TestPagesOfHelp(t *testing.T) {
	for _, made := range localapp.Tools(nil) {
		has := effects(made)
		for _, way := range made.Commands {
			words := strings.Fields(way.Words)
			text := page(t, words...)
			peopleFirst(t, way.Words, text)
			flags := shown(text)
			require.NotEmpty(t, flags, way.Words)
			for _, flag := range flags {
				require.Contains(t, has, flag, way.Words)
			}
		}
	}
	for words, want := range map[string][]string{
		"version":         nil,
		"completion bash": {"no-descriptions"},
		"serve": {"cache-bytes", "config", "demo", "listen", "log-format", "mcp", "memory", "port", "shared-data", "data", "vault",
			"readonly"},
		"rebuild": {"data", "vault", "json", "bare", "envelope"},
		"logout":  {"all", "server", "json", "bare", "envelope"},
	} {
		require.Equal(t, want, shown(page(t, strings.Fields(words)...)), words)
	}
}

// TestHelpOfTheWhole checks that the everyday commands come first, and that each group has a
// summary that is not a list of its commands.
func TestHelpOfTheWhole(t *testing.T) {
	code, out, errs := rookery(t)
	require.Zero(t, code, errs)
	require.Less(t, strings.Index(out, "Everyday commands:\n  new "), strings.Index(out, "Other commands:\n"))
	require.NotContains(t, out, "--server")
	require.Contains(t, out, "rookery help flags explains the common flags.")
	var app bytes.Buffer
	root := newApp(strings.NewReader(""), &app, &app, func(string) string { return "" })
	for _, made := range root.Tools {
		for _, way := range made.Commands {
			group, below, _ := strings.Cut(way.Words, " ")
			if below == "" {
				continue
			}
			line := regexp.MustCompile(`(?m)^  ` + group + ` +(.*)$`).FindStringSubmatch(out)
			require.Len(t, line, 2, group)
			require.Regexp(t, `^[A-Z]`, line[1], "%s has a line that says what it is for", group)
		}
	}
}

// peopleFirst requires that the example for a program, if there is one, is the last on a page.
func peopleFirst(t *testing.T, name, page string) {
	t.Helper()
	_, rest, _ := strings.Cut(page, "\nExamples:\n")
	examples, _, _ := strings.Cut(rest, "\n\n")
	lines := strings.Split(examples, "\n")
	require.NotContains(t, lines[0], "--json", name)
	if at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "--json") }); at >= 0 {
		require.Equal(t, len(lines)-1, at, name)
	}
}

// TestNoArgumentByItsNameInJSON checks that the error for missing arguments uses the terms of the
// command line.
func TestNoArgumentByItsNameInJSON(t *testing.T) {
	dir := t.TempDir()
	code, _, errs := rookery(t, "vault", "create", "v", "--data", dir)
	require.Zero(t, code, errs)
	missing := 0
	for _, made := range localapp.Tools(nil) {
		if !slices.ContainsFunc(made.Args, func(a tool.Arg) bool { return a.Required }) {
			continue
		}
		for _, way := range made.Commands {
			line := append(strings.Fields(way.Words), "--data", dir, "--vault", "v", "--dry-run")
			if !made.Kind.Mutates() {
				line = line[:len(line)-1]
			}
			_, _, errs := rookery(t, line...)
			require.NotContains(t, errs, `argument "`, "%v", line)
			require.NotContains(t, errs, "argument: ", "%v", line)
			if strings.Contains(errs, "is missing") {
				missing++
			}
		}
	}
	require.Greater(t, missing, 20)
}
