package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownCommands are the files under internal whose texts may have command lines, and why. In all others
// a fix is a call, which each projection writes in its own words: no tool knows how it was called.
var ownCommands = map[string]string{
	"awsops/":               "it examines a stack for the operator",
	"doctor/":               "its findings are for the operator",
	"credential/":           "it keeps what a person logged in with",
	"vaultdir/":             "it refuses a folder when a server starts",
	"localapp/":             "it starts the server, and examines it for the operator",
	"tooltest/":             "it has tools for tests, with examples",
	"fault/fault.go":        "it addresses the operator of the server",
	"httptool/client.go":    "it is a client, which the command line uses",
	"repo/examine.go":       "it examines a vault for the operator",
	"repo/examine_files.go": "it examines a vault for the operator",
	"tools/raven/shell.go":  "it writes create_command, which a document demands",
}

// commandLine is a command of the program in a text.
var commandLine = regexp.MustCompile(`\brookery (%s|[a-z]+)`)

// TestNoCommandLines covers that nothing a caller may see over HTTP or MCP is a command line.
func TestNoCommandLines(t *testing.T) {
	used := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		path = filepath.ToSlash(path)
		for _, text := range texts(t, path) {
			if !commandLine.MatchString(text) {
				continue
			}
			owner := path
			if _, ok := ownCommands[path]; !ok {
				owner, _, _ = strings.Cut(path, "/")
				owner += "/"
			}
			require.Contains(t, ownCommands, owner, "%s has the command line %q; a fix is a call: "+
				"f.Try(tool, args)", path, text)
			used[owner] = true
		}
		return nil
	}))
	for owner := range ownCommands {
		require.True(t, used[owner], "%s has no command line any more", owner)
	}
}

// texts are the string literals of a Go file.
func texts(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if tag, ok := n.(*ast.Field); ok {
			tag.Tag = nil
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			require.NoError(t, err)
			all = append(all, text)
		}
		return true
	})
	return all
}
