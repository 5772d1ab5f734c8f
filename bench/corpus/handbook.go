package corpus

import (
	"fmt"
	"strings"
)

// HandbookPath is the path of the Handbook.
const HandbookPath = "notes/handbook.md"

// HandbookRevision is what the line of the Handbook says that is there to be edited: it stands once
// in the text.
func HandbookRevision(n int) string { return fmt.Sprintf("Edition %d.", n) }

// Handbook is a note with n headings behind its title, on three levels, with a line below each: no
// note that a person wrote has as many. Half of them are of a few words that come again and again, so
// that what tells them apart is their number; with every second line goes a reference to an object.
func Handbook(n int, refers string) File {
	words := strings.Fields(english)
	var b strings.Builder
	fmt.Fprintf(&b, "# Handbook\n\n%s\n\n", HandbookRevision(0))
	for i := range n {
		heading := fmt.Sprintf("%s %d", words[i%len(words)], i)
		if i%2 == 0 {
			heading = words[i/2%7]
		}
		fmt.Fprintf(&b, "%s %s\n\nWhat is to be known of %s.", strings.Repeat("#", 2+i%3), heading,
			words[i/7%len(words)])
		if i%2 == 1 {
			fmt.Fprintf(&b, " See [[%s]].", refers)
		}
		b.WriteString("\n\n")
	}
	return File{HandbookPath, b.String()}
}
