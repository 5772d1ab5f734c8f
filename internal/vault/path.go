package vault

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"rookery/internal/control"
	"rookery/internal/fault"
)

// Limits of a path and of each name in it, in bytes.
const (
	MaxPath    = 512
	MaxSegment = 240
)

// A Path names a file of a vault: `people/freya.md`. One that ParsePath or ParseFile made can be a
// file on every system, Windows included, and names nothing outside the vault.
type Path string

// The files of a vault that are no notes.
const (
	SchemaFile    = "schema.yaml"
	ConfigRaven   = "raven.yaml"
	ConfigRookery = "rookery.yaml"
	AuditLog      = ".raven/audit.log"
	FolderFile    = "_folder.md" // in any folder: the folder's own fields and text

	// Settings of Obsidian that say where its daily notes and its templates are.
	ObsidianDaily     = ".obsidian/daily-notes.json"
	ObsidianTemplates = ".obsidian/templates.json"
)

// ObsidianFolder is the folder of Obsidian's settings, of which a vault has the two files above.
const ObsidianFolder = ".obsidian"

// A Kind says what a file of a vault is for.
type Kind string

// The kinds of files.
const (
	KindNote   Kind = "note"
	KindSchema Kind = "schema"
	KindConfig Kind = "config"
	KindAudit  Kind = "audit"
	KindFolder Kind = "folder"
	KindNone   Kind = "" // not a file of a vault
)

// ParsePath reads the path of a note. What cannot be one is INVALID_PATH, and the message says which
// rule it breaks.
func ParsePath(s string) (Path, error) {
	if problem := checkPath(s); problem != nil {
		return "", problem
	}
	p := Path(s)
	switch {
	case p.Kind() == KindFolder:
		return "", refuse("%s is the folder's own file; a note needs another name", FolderFile)
	case p.Kind() != KindNote:
		return "", refuse("the path of a note ends in .md").Fix("use %s.md", s)
	}
	return p, nil
}

// ParseFile reads the path of a note or of one of the other files that a vault has. What can be
// neither is INVALID_PATH.
func ParseFile(s string) (Path, error) {
	if k := Path(s).Kind(); k == KindAudit || k == KindSchema || k == KindConfig {
		return Path(s), nil
	}
	problem := checkPath(s)
	switch {
	case problem != nil:
		return "", problem
	case Path(s).Kind() == KindNone:
		return "", refuse("a vault has notes, whose paths end in .md, and the files %s, %s, %s and %s",
			SchemaFile, ConfigRaven, ConfigRookery, AuditLog)
	}
	return Path(s), nil
}

// NewPath is NotePath for a note that is to be made: the path has no character that reorders the text
// around it, so that no name looks like another one. Notes that have such a name are read all the same.
func NewPath(id string) (Path, error) {
	p, err := NotePath(id)
	if err == nil {
		err = CheckNew(p)
	}
	return p, err
}

// CheckNew is INVALID_PATH if no new file may have the path, of which ParseFile allows those that are there.
func CheckNew(p Path) error {
	if HasNoteEnding(string(p)) && !strings.HasSuffix(string(p), ".md") {
		return refuse("the path of a new note ends in .md, in lower case").Fix("write the ending as .md")
	}
	if strings.ContainsFunc(string(p), control.Reorders) {
		return refuse("a new path holds no characters that change the direction of text (U+202A to "+
			"U+202E, U+2066 to U+2069)").Fix("use the path %s", strings.Map(func(r rune) rune {
			if control.Reorders(r) {
				return -1
			}
			return r
		}, string(p)))
	}
	return nil
}

// NotePath is the path of the note with this id. The ending may be there already.
func NotePath(id string) (Path, error) {
	if HasNoteEnding(id) {
		return ParsePath(id)
	}
	return ParsePath(strings.TrimSuffix(id, ".md") + ".md")
}

// HasNoteEnding reports whether a name ends as those of notes do: in .md, or as other programs name Markdown, in
// .markdown, both in any case.
func HasNoteEnding(name string) bool { return len(Stem(name)) < len(name) }

// Stem returns a name without the ending of a note.
func Stem(name string) string {
	for _, ending := range []string{".md", ".markdown"} {
		if n := len(name) - len(ending); n >= 0 && strings.EqualFold(name[n:], ending) {
			return name[:n]
		}
	}
	return name
}

// CleanPath is the path with its characters composed (NFC), as all paths of a vault are. Files that
// come from macOS may have names that are not.
func CleanPath(s string) string { return norm.NFC.String(s) }

// ID is the id of the note: its path without .md.
func (p Path) ID() string { return strings.TrimSuffix(string(p), ".md") }

// Dir is the folder of the file, with a slash at the end; "" for a file at the root.
func (p Path) Dir() string { return string(p[:strings.LastIndexByte(string(p), '/')+1]) }

// Kind says what the file is for. It looks at the name only; a path that was not parsed may break
// other rules.
func (p Path) Kind() Kind {
	switch {
	case p == SchemaFile:
		return KindSchema
	case p == ConfigRaven || p == ConfigRookery || p == ObsidianDaily || p == ObsidianTemplates:
		return KindConfig
	case p == AuditLog, p.ClosedMonth() != "":
		return KindAudit
	case string(p[len(p.Dir()):]) == FolderFile:
		return KindFolder
	case HasNoteEnding(string(p)):
		return KindNote
	}
	return KindNone
}

// Fold is the key under which names collide that a file system may take for one: it is the same for
// names that differ only by case or by normalization.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// checkPath is the first rule for all paths that this one breaks.
func checkPath(s string) *fault.Fault {
	switch {
	case s == "":
		return refuse("a path cannot be empty")
	case len(s) > MaxPath:
		return refuse("a path has at most %d bytes, not %d", MaxPath, len(s))
	case !utf8.ValidString(s):
		return refuse("a path is UTF-8")
	case strings.HasPrefix(s, "/"):
		return refuse("a path is relative to the vault; it does not begin with /")
	case drive.MatchString(s):
		return refuse("a path is relative to the vault; it does not name a drive")
	}
	if problem := checkCharacters(s); problem != nil {
		return problem
	}
	if !norm.NFC.IsNormalString(s) {
		return refuse("the characters of a path are composed (Unicode NFC)").
			Fix("use the path %s", CleanPath(s))
	}
	segments := strings.Split(s, "/")
	for i, segment := range segments {
		if problem := checkSegment(segment, i == len(segments)-1); problem != nil {
			return problem
		}
	}
	return nil
}

// refuse makes a fault of a path. It does not quote the path, which may hold anything.
func refuse(format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidPath, format, args...)
}
