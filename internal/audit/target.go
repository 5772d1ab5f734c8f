package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// longest is the maximum length, in bytes, of a name, an id or a path in an entry.
const longest = 256

// nameArguments returns the arguments whose values are names, ids or paths: those with usual names, and
// those that the tool declares as targets. Some may not be arguments of the tool.
func nameArguments(t *tool.Tool) []string {
	all := []string{"path", "id", "name", "reference", "to", "source", "destination"}
	for _, a := range t.Args {
		if a.IsTarget {
			all = append(all, a.Name)
		}
	}
	return all
}

// targetsOf returns the targets of a call: the ids, names and paths in its arguments, without
// duplicates, at most maxTargets. A value that cannot be one of these is omitted, because it may
// be a text given by mistake. The result is not nil.
func targetsOf(c *tool.Call) []string {
	targets := []string{}
	for _, arg := range append([]string{c.Tool.Subject, c.Tool.PathArg()}, nameArguments(c.Tool)...) {
		a, known := c.Tool.Arg(arg)
		if !known || a.Shared || a.Name == "vault" {
			continue
		}
		for _, s := range textsOf(c, a.Name) {
			if isName(s) && !slices.Contains(targets, s) && len(targets) < maxTargets {
				targets = append(targets, s)
			}
		}
	}
	return targets
}

// textsOf returns the texts of an argument: the elements of a list, or a single one.
func textsOf(c *tool.Call, name string) []string {
	var list []string
	if json.Unmarshal(c.Args[name], &list) == nil {
		return list
	}
	return []string{c.Text(name)}
}

// isName reports whether a text can be a name, an id or a path: it is short, is a valid name in a
// vault, and does not look like a token. Ids of objects in notes and of traits, such as
// daily/2026-11-20#standup, count as names.
func isName(s string) bool {
	if len(s) > longest || mayBeSecret(s) {
		return false
	}
	note, _, _ := strings.Cut(s, "#") // without the name of an object in the note
	if vault.CheckName(s) == nil {
		return true
	}
	note, _, _ = strings.Cut(note, ".md:") // without the number of a trait in it
	_, err := vault.NotePath(note)
	return err == nil
}

// longestRun is the maximum number of consecutive letters and digits in a name. Longer runs may be
// part of a token.
const longestRun = 40

// mayBeSecret reports whether a text may be a token or a part of one: an API token, the beginning of a
// JSON Web Token, or a long run of letters and digits. It may be wrong for a long name, which is
// then left out of the entry.
func mayBeSecret(s string) bool {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
	for _, word := range words {
		api := auth.IsAPIToken(word) && strings.ContainsRune(word, '.')
		if api || strings.HasPrefix(word, "eyJ") {
			return true
		}
		for run := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '_' || r == '.' }) {
			if len(run) > longestRun {
				return true
			}
		}
	}
	return false
}

// clean returns a name or an id chosen by a caller in a form that is safe to log: at most longest
// bytes before replacement, valid UTF-8 on one line, and not a token. Characters that cannot be
// printed become U+FFFD, and a text with a token becomes "(a token)".
func clean(s string) string {
	if auth.ContainsToken(s) {
		return "(a token)"
	}
	if len(s) > longest {
		s = s[:longest]
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, auth.Unprintable) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if auth.Unprintable(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}
