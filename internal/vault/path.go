package vault

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// Limits of a path and of each name in it, in bytes of UTF-8.
const (
	MaxPath    = 512
	MaxSegment = 240
)

// A Path is the path of a file in a vault, relative to its root: `people/freya.md`. A Path from
// ParsePath or ParseFile is a valid file name on every supported system, Windows included, and
// never leaves the vault. Its characters are composed (NFC), so that equal paths are equal strings.
// A Path that was converted from a string promises nothing; its methods do not fail for one.
type Path string

// The paths of files of a vault that are not notes.
const (
	SchemaFile    = "schema.yaml"
	ConfigRaven   = "raven.yaml"
	ConfigRookery = "rookery.yaml"
	AuditLog      = ".raven/audit.log"
	FolderFile    = "_folder.md" // in any folder: the fields and the text of the folder itself

	// Settings of Obsidian for the folders of daily notes and templates.
	ObsidianDaily     = ".obsidian/daily-notes.json"
	ObsidianTemplates = ".obsidian/templates.json"
)

// ObsidianFolder is the folder of Obsidian's settings. A vault contains only the two files above
// from it.
const ObsidianFolder = ".obsidian"

// A Kind is the purpose of a file in a vault. Only the path determines it, never the content.
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

// ParsePath parses the path of a note. It returns INVALID_PATH, with the violated rule in the
// message, if s cannot be one.
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

// ParseFile parses the path of a note or of another file that a vault may contain. It returns
// INVALID_PATH if s is neither.
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

// NewPath is like NotePath, for a note that the caller creates; see CheckNew.
func NewPath(id string) (Path, error) {
	p, err := NotePath(id)
	if err == nil {
		err = CheckNew(p)
	}
	return p, err
}

// CheckNew returns INVALID_PATH if no new file can have this path, although ParseFile accepts it
// for existing files: a note must end in .md in lower case, and the name must pass CheckAdded. It
// checks nothing else.
func CheckNew(p Path) error {
	if HasNoteEnding(string(p)) && !strings.HasSuffix(string(p), ".md") {
		return refuse("the path of a new note ends in .md, in lower case").Fix("write the ending as .md")
	}
	return CheckAdded(p)
}

// CheckAdded returns INVALID_PATH if no file with this path can be added to a vault, although
// ParseFile accepts it for existing files: the path must not contain characters that change the
// direction of text, which can make it look like another path. It checks nothing else.
//
// Unlike CheckNew, it accepts .markdown and .MD: imported notes keep their names.
func CheckAdded(p Path) error {
	if strings.ContainsFunc(string(p), control.Reorders) {
		return refuse("a new path must not contain characters that change the direction of text (U+202A to "+
			"U+202E, U+2066 to U+2069)").Fix("use the path %s", strings.Map(func(r rune) rune {
			if control.Reorders(r) {
				return -1
			}
			return r
		}, string(p)))
	}
	return nil
}

// NotePath returns the path of the note with this id. The id may already have the extension of a
// note. The error is that of ParsePath.
func NotePath(id string) (Path, error) {
	if HasNoteEnding(id) {
		return ParsePath(id)
	}
	return ParsePath(strings.TrimSuffix(id, ".md") + ".md")
}

// HasNoteEnding reports whether a name has the extension of a note: .md or .markdown, ignoring
// case.
func HasNoteEnding(name string) bool { return len(Stem(name)) < len(name) }

// Stem returns a name without the extension of a note, .md or .markdown in any case; a name without
// it is returned unchanged.
func Stem(name string) string {
	for _, ending := range []string{".md", ".markdown"} {
		if n := len(name) - len(ending); n >= 0 && strings.EqualFold(name[n:], ending) {
			return name[:n]
		}
	}
	return name
}

// CleanPath returns the path in Unicode NFC, the form of all paths of a vault. File names from
// macOS may be in another form. It does not validate the path.
func CleanPath(s string) string { return norm.NFC.String(s) }

// ID returns the id of the note: its path without .md. The id of a note with the extension
// .markdown, or .MD, contains the extension.
func (p Path) ID() string { return strings.TrimSuffix(string(p), ".md") }

// Dir returns the folder of the file with a trailing slash, or "" for a file at the root.
func (p Path) Dir() string { return string(p[:strings.LastIndexByte(string(p), '/')+1]) }

// Kind returns the purpose of the file, judged by its name only. It does not check that the path is
// valid.
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

// Fold returns a key that is equal for names which a file system may treat as the same: those that
// differ only in case or Unicode normalization. A vault has no two files with equal keys, so that
// it can be checked out on every system. The key is for comparison only; it is not a path.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

// isASCII reports whether s contains only ASCII characters.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// checkPath returns the fault of the first general rule that a path violates, or nil. The rules are
// those of all supported systems together, and of Obsidian, because one vault is checked out on
// several of them. The extension is not checked here.
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

// refuse returns an INVALID_PATH fault. It does not quote the path, which may contain anything.
func refuse(format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidPath, format, args...)
}

// Trash is the folder of deleted notes. Files in it are not notes.
const Trash = ".trash/"

// InTrash reports whether a path is in the trash.
func InTrash(path string) bool { return strings.HasPrefix(path, Trash) }

// ConflictCopy returns the path of the note that preserves a version of p which could not be
// merged: `people/freya.conflict-v42.md` (reference/log.md §5). n, from 1, numbers the copies of
// one version. The name is shortened if it would exceed MaxPath or MaxSegment, between characters,
// so that the path stays valid. The name is that of a note, so the copy is found, searched and
// edited like any other.
func ConflictCopy(p Path, version string, n int) Path {
	stem, mark := p.ID(), ".conflict-"+version
	if n > 1 {
		mark += fmt.Sprintf("-%d", n)
	}
	mark += ".md"
	dir := len(p.Dir())
	for len(stem)+len(mark) > MaxPath || len(stem)-dir+len(mark) > MaxSegment {
		stem = strings.ToValidUTF8(stem[:len(stem)-1], "")
	}
	return Path(strings.TrimRight(stem, " .") + mark)
}

// conflictCopy matches the suffix that ConflictCopy adds.
var conflictCopy = regexp.MustCompile(`\.conflict-v\d+(-\d+)?\.md$`)

// IsConflictCopy reports whether the path has the form that ConflictCopy returns. A person can give
// a note such a name too, so it is a hint, not a proof.
func (p Path) IsConflictCopy() bool { return conflictCopy.MatchString(string(p)) }

// monthLayout is the format of the month in the name of a closed audit log.
const monthLayout = "2006-01"

// ClosedAudits is the common prefix of the paths of closed audit logs.
const ClosedAudits = ".raven/audit."

// closedSuffix follows the month in the path of a closed audit log.
const closedSuffix = ".log"

// Month returns the UTC month of a time as it appears in the path of a closed audit log: 2026-10.
// Months compare as strings.
func Month(t time.Time) string { return t.UTC().Format(monthLayout) }

// ClosedAudit returns the path of the audit log of a past month: `.raven/audit.2026-10.log`. Sorted
// by path, the audit logs of a vault are in order of time, with AuditLog last.
func ClosedAudit(month string) string { return ClosedAudits + month + closedSuffix }

// ClosedMonth returns the month of the closed audit log with this path, or "" for any other path. A
// month that Month would write in another way, such as 2026-1, is not one.
func (p Path) ClosedMonth() string {
	rest, ours := strings.CutPrefix(string(p), ClosedAudits)
	month, closed := strings.CutSuffix(rest, closedSuffix)
	if !ours || !closed {
		return ""
	}
	if t, err := time.Parse(monthLayout, month); err != nil || Month(t) != month {
		return ""
	}
	return month
}

// Patterns of names with a special meaning on Windows.
var (
	drive = regexp.MustCompile(`^[A-Za-z]:`)

	// device matches the names that Windows reserves for devices, with any extension.
	device = regexp.MustCompile(`^(?i:con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])$`)
)

// separators are characters that no path may contain. Windows does not allow `< > : " | ? *` in
// names, and Obsidian refuses them too; in an id, # begins the name of a section.
const separators = `\:*?"<>|#`

// checkCharacters returns a fault if the path contains a forbidden character, else nil.
func checkCharacters(s string) *fault.Fault {
	for _, r := range s {
		switch {
		case r == 0:
			return refuse("a path must not contain NUL")
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return refuse("a path must not contain control characters or line breaks")
		case r == '\\':
			return refuse("the folders of a path are separated by /, not by \\").
				Fix("use the path %s", strings.ReplaceAll(s, `\`, "/"))
		case strings.ContainsRune(separators, r):
			return refuse("a path must not contain the characters %s: not every system allows them in a "+
				"name, and # begins a section", separators).
				Fix("use a name without %c", r)
		}
	}
	return nil
}

// checkSegment returns a fault if s is not a valid name of a folder or, if last is true, of a file;
// else nil. A device name is refused with any extension, because Windows opens the device for
// con.md too.
func checkSegment(s string, last bool) *fault.Fault {
	stem, _, _ := strings.Cut(s, ".")
	switch {
	case s == "":
		return refuse("a path has no empty folder: no // and no / at its end")
	case s == "." || s == "..":
		return refuse("a path has no folder %s", s)
	case s[0] == '.':
		return refuse("files and folders whose names begin with a dot are not part of a vault")
	case len(s) > MaxSegment:
		return refuse("a name in a path has at most %d bytes, not %d", MaxSegment, len(s))
	case strings.HasSuffix(s, ".") || strings.HasSuffix(s, " "):
		return refuse("a name in a path does not end in a dot or a blank")
	case device.MatchString(strings.TrimRight(stem, " ")):
		return refuse("%s is the name of a device on Windows", strings.ToUpper(stem)).
			Fix("use another name")
	case !last && strings.HasSuffix(strings.ToLower(s), ".md"):
		return refuse("the name of a folder does not end in .md")
	case last && isBlank(Stem(s)):
		return refuse("a note has a name before .md")
	}
	return nil
}

// isBlank reports whether s contains only white space.
func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
