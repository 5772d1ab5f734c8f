package vault

import (
	"strings"

	"github.com/git-pkgs/gitignore"
)

// excludedNames are the patterns that are in force in every vault. Names that begin with a dot are not among
// them: nothing includes those again.
var excludedNames = []string{
	"node_modules/", "Thumbs.db", "__pycache__/", "dist/", "build/", "target/", "out/",
}

// An Exclusion says which files are left out, by patterns in the syntax of gitignore. It never changes. There are
// two for each vault: that of NewExclusion, for orientation, and that of Config.Hiding, for everything.
type Exclusion struct {
	rules []exclusionRule
	dots  bool   // leaves out what has a name on its path that begins with a dot
	dir   string // a folder that is left out, with a slash at the end; "": none
}

// An exclusionRule is one pattern. Of all that match a path the last one decides.
type exclusionRule struct {
	matcher  *gitignore.Matcher
	includes bool // it begins with !
	folders  bool // it ends with a slash, and matches folders only
}

// NewExclusion returns what orientation leaves out: files with a name on their path that begins with a dot, those of
// caches and builds, and those that patterns name, which come after those of every vault. Patterns that mean nothing
// are left out.
func NewExclusion(patterns []string) *Exclusion {
	e := &Exclusion{dots: true}
	e.add(excludedNames)
	e.add(patterns)
	return e
}

// Hiding returns which notes are files of the vault and no notes: those that the patterns of exclude name, and what
// is in the trash of a Raven, where that is another folder than Rookery's own.
func (c Config) Hiding() *Exclusion {
	e := &Exclusion{}
	e.add(c.Exclude)
	if dir := strings.Trim(strings.TrimPrefix(c.Deletion.TrashDir, "./"), "/"); dir != "" && dir != "." {
		e.dir = dir + "/"
	}
	return e
}

// IsEmpty reports whether nothing is left out.
func (e *Exclusion) IsEmpty() bool { return len(e.rules) == 0 && e.dir == "" && !e.dots }

// add adds patterns, behind those that are there.
func (e *Exclusion) add(patterns []string) {
	for _, p := range patterns {
		if r, problem := newExclusionRule(p); problem == "" && r.matcher != nil {
			e.rules = append(e.rules, r)
		}
	}
}

// newExclusionRule reads a pattern. A blank one and a comment are no rule.
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
		text += "/*" // what is in the folder, and not the folder
	}
	m := &gitignore.Matcher{}
	m.AddPatterns([]byte(text+"/"), "")
	if bad := m.Errors(); len(bad) > 0 {
		return r, bad[0].Message
	}
	r.matcher = m
	return r, ""
}

// withoutSpaces cuts the spaces at the end off, but for one behind a backslash.
func withoutSpaces(s string) string {
	trimmed := strings.TrimRight(s, " ")
	if strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(s) {
		trimmed += " "
	}
	return trimmed
}

// Excludes reports whether the file at a path is left out. What it finds of folders is kept in known, if that
// is not nil: an Exclusion is asked about many files of each.
func (e *Exclusion) Excludes(path string, known map[string]bool) bool {
	if e.dots && (path == "" || path[0] == '.' || strings.Contains(path, "/.")) {
		return true
	}
	if e.dir != "" && strings.HasPrefix(path, e.dir) {
		return true
	}
	return len(e.rules) > 0 && (e.folder(folderOf(path), known) || e.matches(path, false))
}

// folder reports whether a folder is left out, itself or with one above it: nothing in it is included again.
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

func folderOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// matches reports whether the last rule that matches a path itself excludes it.
func (e *Exclusion) matches(path string, folder bool) bool {
	for i := len(e.rules) - 1; i >= 0; i-- {
		if r := &e.rules[i]; (folder || !r.folders) && r.matches(path) {
			return !r.includes
		}
	}
	return false
}

// matches reports whether the pattern matches a path itself. The matcher has it as one of folders, which matches
// also all that is below a folder: this it does of a file, too, and the folder itself only of a folder.
func (r *exclusionRule) matches(path string) bool {
	return r.matcher.MatchPath(path, true) && !r.matcher.MatchPath(path, false)
}
