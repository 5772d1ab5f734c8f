package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGoroutinesRunWithTheRaceDetector requires a line in tools/test/race.txt for each package of
// the product that starts goroutines.
func TestGoroutinesRunWithTheRaceDetector(t *testing.T) {
	listed := raceTable(t)
	for _, s := range sources(t) {
		_, ok := listed[s.folder]
		ours := strings.HasPrefix(s.folder, "internal/") || strings.HasPrefix(s.folder, "cmd/")
		if ok || !ours || strings.HasSuffix(s.file, "_test.go") || slices.Contains(forTests, s.folder) {
			continue
		}
		require.False(t, startsGoroutines(t, s.file), "%s: %s is not in race.txt", s.file, s.folder)
	}
}

// TestRaceTable requires that each word of a pattern in tools/test/race.txt matches a test of its
// package. Words behind a slash name parts of a test, which are not looked for.
func TestRaceTable(t *testing.T) {
	word, parts := regexp.MustCompile(`[\w.*]+`), regexp.MustCompile(`/\^\([\w|]+\)\$`)
	for folder, pattern := range raceTable(t) {
		names := testsIn(t, folder)
		require.NotEmpty(t, names, folder)
		pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "!"), "^Test")
		pattern = parts.ReplaceAllString(pattern, "")
		for _, part := range word.FindAllString(pattern, -1) {
			matches := regexp.MustCompile(part).MatchString
			require.True(t, slices.ContainsFunc(names, matches), "%s: no test matches %s", folder, part)
		}
	}
}

// raceTable returns the packages of tools/test/race.txt with their patterns, which may be empty.
func raceTable(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("../tools/test/race.txt")
	require.NoError(t, err)
	table := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			path, pattern, _ := strings.Cut(strings.TrimSpace(line), " ")
			table[strings.TrimPrefix(path, ownModule+"/")] = pattern
		}
	}
	require.NotEmpty(t, table)
	return table
}

// testsIn returns the names of the tests in a folder.
func testsIn(t *testing.T, folder string) []string {
	t.Helper()
	paths, err := filepath.Glob("../" + folder + "/*_test.go")
	require.NoError(t, err)
	var names []string
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}

// startsGoroutines reports whether a file has a go statement or calls a method with the name Go.
func startsGoroutines(t *testing.T, file string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../"+file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || n.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
