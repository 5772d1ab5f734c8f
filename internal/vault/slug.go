package vault

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gosimple/slug"

	"github.com/rookeryhq/rookery/internal/control"
)

// slashes replaces the characters of a title that would divide a path.
var slashes = strings.NewReplacer("/", "-", `\`, "-")

// Slug returns the name of a new note for a title: lower-case ASCII, other letters transliterated
// (reference/raven.md §1.2). It is a valid path segment of at most MaxSegment bytes with its
// extension. For a title without letters and digits it keeps the characters that a path may
// contain; it is "" if there are none. A slug is its own slug.
func Slug(title string) string {
	if s := strings.ReplaceAll(strings.ToLower(title), " ", "-"); isSlug(s) && isASCII(title) {
		return s
	}
	title = strings.TrimSuffix(CleanPath(title), ".md")
	s := slug.Make(slashes.Replace(title))
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

// FileName returns the name of the file of a new note, without extension, for a title. For a title
// in Latin letters it is the Slug. For other scripts it keeps all letters in lower case, and
// replaces blanks and characters that file systems refuse by dashes, because a transliteration of
// Chinese or Cyrillic is hard to read for the people who write it. It is "" if nothing is left.
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

// otherScript reports whether a character is a letter of a non-Latin script.
func otherScript(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }

// SlugPath returns the id with each segment replaced by its Slug. References that are spelled
// differently are resolved by it (reference/raven.md §1.9).
func SlugPath(id string) string {
	segments := strings.Split(id, "/")
	for i, segment := range segments {
		segments[i] = Slug(segment)
	}
	return strings.Join(segments, "/")
}

// isSlug reports whether s is certainly its own slug: lower-case letters and digits with single
// dashes between them, and longer than any device name. It is a fast path for Slug, which resolves
// every reference; false means that Slug must compute it.
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

// signs returns the slug of a title without letters and digits: its characters that a path may
// contain, so that the title "?! ©" still has a file name. Blanks and slashes become dashes.
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

// cut returns the longest prefix of s with at most n bytes that ends between characters. n must be
// less than len(s).
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
