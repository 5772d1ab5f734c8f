package vault

import (
	"strings"

	"github.com/git-pkgs/gitignore"
)

// excludedNames are gitignore patterns that NewExclusion applies in every vault. Names that begin
// with a dot are not among them, because a pattern must not be able to include those again.
var excludedNames = []string{
	"node_modules/", "Thumbs.db", "__pycache__/", "dist/", "build/", "target/", "out/",
}

// An Exclusion is a set of gitignore patterns that excludes files. It is immutable and safe for
// concurrent use. Each vault has two: that of NewExclusion applies to orientation only, that of
// Config.Hiding to everything.
//
// The patterns have the meaning that gitignore gives them in a file at the root of the vault, as if
// a git repository contained it: the last pattern that matches decides, `!` includes again, and
// nothing in an excluded folder can be included again.
type Exclusion struct {
	rules []exclusionRule
	dots  bool   // exclude every path with a name that begins with a dot
	dir   string // an excluded folder, with a trailing slash; "": none
}

// An exclusionRule is one pattern. The last rule that matches a path decides.
type exclusionRule struct {
	matcher  *gitignore.Matcher
	includes bool // it begins with !
	folders  bool // it ends with a slash and matches only folders
}

// NewExclusion returns the exclusion for orientation: paths with a name that begins with a dot,
// folders of caches and builds, and the given patterns, which take precedence over those of caches
// and builds. Invalid patterns are ignored.
func NewExclusion(patterns []string) *Exclusion {
	e := &Exclusion{dots: true}
	e.add(excludedNames)
	e.add(patterns)
	return e
}

// Hiding returns the exclusion for notes that the vault treats as other files: those that match
// `exclude`, and those in Raven's trash folder if it differs from Rookery's own.
func (c Config) Hiding() *Exclusion {
	e := &Exclusion{}
	e.add(c.Exclude)
	if dir := strings.Trim(strings.TrimPrefix(c.Deletion.TrashDir, "./"), "/"); dir != "" && dir != "." {
		e.dir = dir + "/"
	}
	return e
}

// IsEmpty reports whether nothing is excluded.
func (e *Exclusion) IsEmpty() bool { return len(e.rules) == 0 && e.dir == "" && !e.dots }

// add appends patterns. Invalid patterns are ignored.
func (e *Exclusion) add(patterns []string) {
	for _, p := range patterns {
		if r, problem := newExclusionRule(p); problem == "" && r.matcher != nil {
			e.rules = append(e.rules, r)
		}
	}
}

// newExclusionRule parses one pattern. problem is "" for a valid pattern. A blank line or a comment
// is valid and returns a rule with a nil matcher.
//
// The leading `!` and the trailing slash are parsed here, and the rest is given to the matcher as a
// pattern of folders; see exclusionRule.matches.
func newExclusionRule(text string) (r exclusionRule, problem string) {
	if strings.ContainsAny(text, "\n\r\x00") {
		return r, "a pattern is one line"
	}
	if text = withoutSpaces(text); text == "" || text[0] == '#' {
		return r, ""
	}
	if r.includes = text[0] == '!'; r.includes {
		text = text[1:]
	}
	if strings.HasPrefix(text, "!") || strings.HasPrefix(text, "#") {
		text = `\` + text
	}
	text, r.folders = strings.CutSuffix(text, "/")
	if strings.HasSuffix(text, "/**") {
		text += "/*" // match the contents of the folder, not the folder itself
	}
	m := &gitignore.Matcher{}
	m.AddPatterns([]byte(text+"/"), "")
	if bad := m.Errors(); len(bad) > 0 {
		return r, bad[0].Message
	}
	r.matcher = m
	return r, ""
}

// withoutSpaces removes trailing spaces, except one that follows a backslash.
func withoutSpaces(s string) string {
	trimmed := strings.TrimRight(s, " ")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(s) {
		trimmed += " "
	}
	return trimmed
}

// Excludes reports whether the file at a path is excluded. If known is not nil, it caches the
// results for folders; pass the same map when testing many files. Without it, the cost is the
// number of rules times the depth of the path. The map must not be used by two goroutines at the
// same time.
func (e *Exclusion) Excludes(path string, known map[string]bool) bool {
	if e.dots && (path == "" || path[0] == '.' || strings.Contains(path, "/.")) {
		return true
	}
	if e.dir != "" && strings.HasPrefix(path, e.dir) {
		return true
	}
	return len(e.rules) > 0 && (e.folder(folderOf(path), known) || e.matches(path, false))
}

// folder reports whether a folder is excluded, by itself or through a parent. As in gitignore,
// files in an excluded folder cannot be included again.
func (e *Exclusion) folder(dir string, known map[string]bool) bool {
	if dir == "" {
		return false
	}
	if out, ok := known[dir]; ok {
		return out
	}
	out := e.folder(folderOf(dir), known) || e.matches(dir, true)
	if known != nil {
		known[dir] = out
	}
	return out
}

// folderOf returns the folder of a path without a trailing slash, "" at the root.
func folderOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// matches reports whether the last rule that matches the path itself excludes it. folder reports
// that the path is that of a folder.
func (e *Exclusion) matches(path string, folder bool) bool {
	for i := len(e.rules) - 1; i >= 0; i-- {
		if r := &e.rules[i]; (folder || !r.folders) && r.matches(path) {
			return !r.includes
		}
	}
	return false
}

// matches reports whether the pattern matches the path itself. The matcher contains it as a folder
// pattern, which matches a folder and everything below. A path that matches only as a folder is
// therefore the path itself.
func (r *exclusionRule) matches(path string) bool {
	return r.matcher.MatchPath(path, true) && !r.matcher.MatchPath(path, false)
}
