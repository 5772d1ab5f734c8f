package vault

import "strings"

// DefaultLanguage is the language of a vault that names none.
const DefaultLanguage = "english"

// languages are those that a vault can be written in: of each the English name, then the codes of
// ISO 639 that it goes by, the one that people write first.
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

// Languages are the English names of the languages that ParseLanguage knows.
func Languages() []string {
	names := make([]string, len(languages))
	for i, l := range languages {
		names[i], _, _ = strings.Cut(l, " ")
	}
	return names
}

// ParseLanguage is the English name of a language that search knows the forms of words of. It goes
// by that name or by a code, behind which a country may stand as in BCP 47: "german", "de", "de-AT".
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

// badLanguage says what a language can be.
func badLanguage() string {
	list := make([]string, len(languages))
	for i, l := range languages {
		words := strings.Fields(l)
		list[i] = words[0] + " (" + words[1] + ")"
	}
	return "language must be one of " + strings.Join(list, ", ")
}
