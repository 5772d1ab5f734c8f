package vault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gosimple/slug"

	"rookery/internal/control"
)

// Slug is the name of a new note made from its title: lower-case ASCII, other letters transliterated
// (reference/raven.md §1.2). It can be a segment of a path, and is never longer than one may be. A
// title without letters and digits keeps the signs that a path may hold; it is "" if there are none.
func Slug(title string) string {
	if s := strings.ReplaceAll(strings.ToLower(title), " ", "-"); isSlug(s) && isASCII(title) {
		return s
	}
	title = strings.TrimSuffix(CleanPath(title), ".md")
	s := slug.Make(strings.NewReplacer("/", "-", `\`, "-").Replace(title))
	if s == "" {
		s = signs(title)
	}
	if most := MaxSegment - len(".md"); len(s) > most {
		s = strings.TrimRight(cut(s, most), "-_")
	}
	if device.MatchString(s) {
		s += "-note"
	}
	return s
}

// FileName is the name of the file of a new note, without its ending, made from the title: the Slug of a title in
// Latin letters. Of a title in another script all letters stay, in lower case, with dashes for blanks, and only what a
// file system refuses is replaced. It is "" if nothing is left.
func FileName(title string) string {
	title = Stem(CleanPath(title))
	if !strings.ContainsFunc(title, otherScript) {
		return strings.Map(func(r rune) rune {
			if control.Reorders(r) {
				return -1
			}
			return r
		}, Slug(title))
	}
	name := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("/.-", r) || r == utf8.RuneError || control.Reorders(r) ||
			checkCharacters(string(r)) != nil {
			return '-'
		}
		return unicode.ToLower(r)
	}, title)
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if name = CleanPath(name); len(name) > MaxSegment-len(".md") {
		name = cut(name, MaxSegment-len(".md"))
	}
	return strings.Trim(name, "-_ ")
}

// otherScript reports whether a character is a letter of a script other than Latin.
func otherScript(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }

// SlugPath is the form in which references find what is written otherwise: the slug of each folder
// and of the name (reference/raven.md §1.9).
func SlugPath(id string) string {
	segments := strings.Split(id, "/")
	for i, segment := range segments {
		segments[i] = Slug(segment)
	}
	return strings.Join(segments, "/")
}

// isSlug reports whether a text is plainly its own slug: words of lower-case letters and digits with
// single dashes between them, too long to be the name of a device.
func isSlug(s string) bool {
	const longestDevice = len("conout$")
	if len(s) <= longestDevice || len(s) > MaxSegment-len(".md") || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !letter && (c != '-' || s[i-1] == '-') {
			return false
		}
	}
	return true
}

// signs is the slug of a title without letters and digits.
func signs(title string) string {
	return CleanPath(strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(` /\`, r):
			return '-'
		case r == '.', r == utf8.RuneError, checkCharacters(string(r)) != nil, unicode.IsSpace(r):
			return -1
		}
		return unicode.ToLower(r)
	}, title))
}

// cut is the beginning of a text that has at most n bytes and ends with a whole character.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
