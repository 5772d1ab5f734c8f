package tool

import "strings"

// ShellWord writes a text as one word of a command line: as it is if no POSIX shell could take it
// for anything else, else quoted.
func ShellWord(s string) string {
	plain := strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("_-=./:", r) && (r < '0' || r > '9' && r < 'A' ||
			r > 'Z' && r < 'a' || r > 'z')
	}) < 0
	if s != "" && plain && s[0] != '-' {
		return s
	}
	return ShellQuote(s)
}

// ShellQuote writes a text in quotes that a POSIX shell reads as it is: double ones, or single ones
// where double ones would need more than themselves.
func ShellQuote(s string) string {
	inSingle := strings.ContainsAny(s, "$`!") ||
		strings.ContainsAny(s, `\"`) && !strings.Contains(s, `'`)
	if inSingle {
		return `'` + strings.ReplaceAll(s, `'`, `'\''`) + `'`
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
