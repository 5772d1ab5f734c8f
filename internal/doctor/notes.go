package doctor

import (
	"fmt"
	"strings"
)

// The findings of this file are those of a vault on disk and of one that a server has open: the
// first counts itself, the other asks the server for the same numbers.

// Conflicts returns the finding about conflict copies: count of them, of which first are the paths
// of some.
func Conflicts(count int, first []string) Finding {
	const check = "conflicts"
	if count == 0 {
		return Good(check, "all outside edits are merged")
	}
	return Warning(check, fmt.Sprintf("%s of a text that could not be merged: %s",
		Number(count, "copy", "copies"), List(first, count)),
		"merge it into the note beside it by hand; then: rookery delete the copy")
}

// Notes is the check of the notes of a vault.
const Notes = "notes"

// UntilParsed is the remedy for a note that does not parse.
const UntilParsed = "fix it with rookery edit; until it parses, it has no fields"

// Unparsed returns the finding about notes that do not parse: count of them, of which first are the
// paths of some.
func Unparsed(count int, first []string) Finding {
	if count == 0 {
		return Good(Notes, "every note parses")
	}
	return Warning(Notes, fmt.Sprintf("%s not parse: %s",
		Number(count, "note does", "notes do"), List(first, count)), UntilParsed)
}

// UntilIndexed is the remedy for a note with more parts than are indexed.
const UntilIndexed = "split it into several notes"

// Unindexed returns the finding about notes with more than `most` parts, which are not indexed:
// count of them, of which first are the paths of some.
func Unindexed(count, most int, first []string) Finding {
	return Warning(Notes, fmt.Sprintf("%s more than %d headings, traits, references and tags, of which "+
		"none is indexed: %s", Number(count, "note has", "notes have"), most,
		List(first, count)), UntilIndexed)
}

// DisabledIssuer returns the finding of a tenant's rule for an issuer that is disabled.
func DisabledIssuer(rule string) Finding {
	return Warning("issuers", fmt.Sprintf("the rule %s is disabled: its issuer is one of the server "+
		"itself, and the rule gives other keys", rule),
		"rookery issuer remove "+rule+", or set it again without --jwks-url")
}

// MaxListed is the maximum number of names in one finding, and of findings that are about one note
// or file each.
const MaxListed = 20

// List returns the first MaxListed names, separated by commas, and how many of the count names are
// not listed.
func List(names []string, count int) string {
	names = names[:min(len(names), MaxListed)]
	text := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Count returns a number with a noun: "1 note", "2 notes".
func Count(n int, noun string) string { return Number(n, noun, noun+"s") }

// Number returns a number with the singular or plural form of a noun.
func Number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
