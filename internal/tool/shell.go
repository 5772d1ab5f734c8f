package tool

import "strings"

// ShellWord returns a text as one word of a command line for a POSIX shell. It is quoted only if
// necessary.
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

// ShellQuote returns a text in quotes that a POSIX shell reads as that text: double quotes, or
// single ones if double quotes would need more escapes.
func ShellQuote(s string) string {
	inSingle := strings.ContainsAny(s, "$`!") ||
		strings.ContainsAny(s, `\"`) && !strings.Contains(s, `'`)
	if inSingle {
		return `'` + strings.ReplaceAll(s, `'`, `'\''`) + `'`
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
