package vault

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
