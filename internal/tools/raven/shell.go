package raven

import (
	"maps"
	"slices"
	"strings"
)

// command is the command line of a call that makes an object. A POSIX shell reads it as it is.
func (in newIn) command() string {
	words := []string{"rookery object create", word(in.Type), "--title", quoted(in.Title)}
	if in.Path != "" {
		words = append(words, "--path", quoted(in.Path))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
		words = append(words, "--field", word(name+"="))
	}
	if in.Content != "" {
		words = append(words, "--content", quoted(in.Content))
	}
	return strings.Join(append(words, "--json"), " ")
}

// word is a word of a command line: as it is if no shell could take it for anything else, else
// quoted.
func word(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("_-=./", r) && (r < '0' || r > '9' && r < 'A' ||
			r > 'Z' && r < 'a' || r > 'z')
	}) < 0
	if s != "" && plain && s[0] != '-' {
		return s
	}
	return quoted(s)
}

// quoted is a text in the quotes in which a shell keeps it as it is: in double ones, or in single
// ones where those would change it.
func quoted(s string) string {
	if !strings.ContainsAny(s, "$`!") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return `'` + strings.ReplaceAll(s, `'`, `'\''`) + `'`
}
