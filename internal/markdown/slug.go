package markdown

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// emptySlug is the slug of a heading without letters and digits.
const emptySlug = "section"

// Slug returns the slug of a heading: its letters and digits in lower case, with one dash in place
// of each run of blanks, dashes, underscores and colons, and without other characters. It returns
// `section` if nothing is left. Letters are composed (NFC) first, so that they keep their accents.
func Slug(heading string) string {
	var b strings.Builder
	b.Grow(len(heading))
	dash := false
	for _, r := range norm.NFC.String(strings.ToLower(heading)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
		case r == ' ' || r == '-' || r == '_' || r == ':':
			dash = true
		}
	}
	if b.Len() == 0 {
		return emptySlug
	}
	return b.String()
}

// A slugger makes the slugs of one note unique. For each used slug it contains the next number to
// try after it.
type slugger map[string]int

// next returns the slug of the heading, with the first number from 2 on that makes it unique if it
// is used already, and records it as used. Because the next number to try is recorded too, many
// equal headings take linear time.
func (s slugger) next(heading string) string {
	base := Slug(heading)
	slug := base
	for n := max(2, s[base]); s[slug] > 0; n++ {
		slug = base + "-" + strconv.Itoa(n)
		s[base] = n + 1
	}
	s[slug] = max(2, s[slug])
	return slug
}

// hasLetters reports whether a heading contains a letter or a digit for a slug.
func hasLetters(heading string) bool {
	return strings.ContainsFunc(heading, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	})
}
