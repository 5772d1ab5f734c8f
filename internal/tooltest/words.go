package tooltest

import "strings"

// Words are those of a command line, as a shell reads them: blanks part them, and quotes keep them
// together. Of the rest that a shell can do, nothing is known.
func Words(line string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && c == ' ':
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}
