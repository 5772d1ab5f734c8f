package vault

import "strings"

// DefaultLanguage is the language of a vault that does not configure one.
const DefaultLanguage = "english"

// languages lists the supported languages: for each the English name, then its ISO 639 codes, the
// most usual one first.
var languages = []string{
	"english en eng",
	"arabic ar ara",
	"danish da dan",
	"dutch nl nld dut",
	"finnish fi fin",
	"french fr fra fre",
	"german de deu ger",
	"hungarian hu hun",
	"irish ga gle",
	"italian it ita",
	"norwegian no nb nn nor",
	"portuguese pt por",
	"romanian ro ron rum",
	"russian ru rus",
	"spanish es spa",
	"swedish sv swe",
	"tamil ta tam",
	"turkish tr tur",
}

// Languages returns the English names of the supported languages.
func Languages() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i], _, _ = strings.Cut(l, " ")
	}
	return names
}

// ParseLanguage returns the English name of a language that search can stem. s is that name or a
// code, with an optional region as in BCP 47: "german", "de", "de-AT", "de_AT". Case and
// surrounding space are ignored. It returns false for an unknown language.
func ParseLanguage(s string) (string, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	s, _, _ = strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	for _, l := range languages {
		words := strings.Fields(l)
		for _, w := range words {
			if w == s {
				return words[0], true
			}
		}
	}
	return "", false
}

// badLanguage returns the message of an invalid language, which lists all languages with their
// usual codes.
func badLanguage() string {
	list := make([]string, len(languages))
	for i, l := range languages {
		words := strings.Fields(l)
		list[i] = words[0] + " (" + words[1] + ")"
	}
	return "language must be one of " + strings.Join(list, ", ")
}
