package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"rookery/internal/auth"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

// longest is how many bytes of a name, an id or a path are told at most.
const longest = 256

// naming are the arguments whose values are names, ids or paths in every tool that has them, and those
// that a tool says are targets.
func naming(t *tool.Tool) []string {
	all := []string{"path", "id", "name", "reference", "to", "source", "destination"}
	for _, a := range t.Args {
		if a.IsTarget {
			all = append(all, a.Name)
		}
	}
	return all
}

// targetsOf is what a call was about, as far as it is safe to tell: what it names by an id, a name or a
// path. What cannot be one of these is left out, for it may be a text that somebody put there by
// mistake.
func targetsOf(c *tool.Call) []string {
	targets := []string{}
	for _, arg := range append([]string{c.Tool.Subject, c.Tool.PathArg()}, naming(c.Tool)...) {
		a, known := c.Tool.Arg(arg)
		if !known || a.Shared || a.Name == "vault" {
			continue
		}
		for _, s := range textsOf(c, a.Name) {
			if named(s) && !slices.Contains(targets, s) && len(targets) < mostTargets {
				targets = append(targets, s)
			}
		}
	}
	return targets
}

// textsOf are the texts of an argument: one, or those of a list.
func textsOf(c *tool.Call, name string) []string {
	var list []string
	if json.Unmarshal(c.Args[name], &list) == nil {
		return list
	}
	return []string{c.Text(name)}
}

// named reports whether a text can be a name, an id or a path: short, of one line, what a file of a vault
// might be called, and no token.
func named(s string) bool {
	if len(s) > longest || secret(s) {
		return false
	}
	note, _, _ := strings.Cut(s, "#") // an object in a note
	if vault.CheckName(s) == nil {
		return true
	}
	note, _, _ = strings.Cut(note, ".md:") // a trait of one
	_, err := vault.NotePath(note)
	return err == nil
}

// longestRun is how many letters and digits stand one behind the other in what people and programs name.
const longestRun = 40

// secret reports whether a text may be a token, or a part of one.
func secret(s string) bool {
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

// clean is a name or id that a caller chose, as it may be told: short, valid and of one line, and no token.
func clean(s string) string {
	if auth.HoldsToken(s) {
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
