package internal

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// notOurs are folders at the root that hold nothing that we wrote.
var notOurs = []string{".git", ".aws-sam", ".localstack", "bin", "data"}

// A link is one link of a page of the documentation.
type link struct{ page, target string }

func TestRelativeLinksResolve(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		for _, l := range linksOf(t, page) {
			u, err := url.Parse(l.target)
			require.NoError(t, err, "%s links to %q", l.page, l.target)
			if u.IsAbs() || u.Host != "" {
				continue
			}
			links++
			resolves(t, l, u)
		}
	}
	require.NotZero(t, links)
}

// resolves requires that a relative link leads to a file of the repository, and its fragment to a
// heading there.
func resolves(t *testing.T, l link, u *url.URL) {
	t.Helper()
	to := l.page
	if u.Path != "" {
		to = path.Join(path.Dir(l.page), u.Path)
	}
	info, err := os.Stat(filepath.Join("..", filepath.FromSlash(to)))
	require.NoError(t, err, "%s links to %q, which is not there", l.page, l.target)
	if u.Fragment == "" {
		return
	}
	require.False(t, info.IsDir(), "%s links to %q: a folder has no headings", l.page, l.target)
	require.Contains(t, anchorsOf(t, to), u.Fragment,
		"%s links to %q, and there is no such heading", l.page, l.target)
}

// pages are the documents with links: those at the root, and all below docs.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, file := range files(t) {
		if strings.HasPrefix(file, "docs/") && strings.HasSuffix(file, ".md") {
			all = append(all, file)
		}
	}
	require.Greater(t, len(all), 3, "nothing was found below docs")
	return all
}

// linksOf are the links and images of a page, as a reader's program finds them: none in code.
func linksOf(t *testing.T, page string) []link {
	t.Helper()
	var all []link
	walk(t, page, func(n ast.Node, _ []byte) {
		switch n := n.(type) {
		case *ast.Link:
			all = append(all, link{page, string(n.Destination)})
		case *ast.Image:
			all = append(all, link{page, string(n.Destination)})
		}
	})
	return all
}

// notInAnchor is what the anchor of a heading leaves out.
var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchorsOf are the anchors of a page's headings, as hosts of repositories make them.
func anchorsOf(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	walk(t, page, func(n ast.Node, source []byte) {
		if h, ok := n.(*ast.Heading); ok {
			line := string(h.Lines().Value(source))
			anchor := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(line)), "")
			all = append(all, strings.ReplaceAll(anchor, " ", "-"))
		}
	})
	return all
}

// walk visits every node of a page once.
func walk(t *testing.T, page string, visit func(n ast.Node, source []byte)) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(page)))
	require.NoError(t, err)
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM))
	root := markdown.Parser().Parse(text.NewReader(source))
	require.NoError(t, ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n, source)
		}
		return ast.WalkContinue, nil
	}))
}

// foreign are words that mean something only on the machine where this was written. They are put
// together here so that this file does not hold them.
func foreign() []string {
	return []string{
		"/" + "work/", "/" + "tmp/brief", "iss" + "ues show", "shared" + "/STYLE",
		".." + "/shared/tools", "/" + "root/",
	}
}

func TestNothingNamesTheWorkplace(t *testing.T) {
	all := files(t)
	require.Contains(t, all, "internal/docs_test.go")
	for _, file := range all {
		data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
		require.NoError(t, err)
		if bytes.IndexByte(data, 0) >= 0 {
			continue // it is no text
		}
		for _, word := range foreign() {
			require.NotContains(t, string(data), word, "%s names the workplace", file)
		}
	}
}

// files are the files of the repository, by path from its root.
func files(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if filepath.Dir(name) == ".." && slices.Contains(notOurs, d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // in a worktree .git is a file
		}
		if d.Type().IsRegular() {
			all = append(all, strings.TrimPrefix(filepath.ToSlash(name), "../"))
		}
		return nil
	})
	require.NoError(t, err)
	return all
}
