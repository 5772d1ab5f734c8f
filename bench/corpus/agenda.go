package corpus

import (
	"fmt"
	"strings"
)

// AgendaPath is the path of the Agenda.
const AgendaPath = "notes/agenda.md"

// AgendaRevision is what the line of the Agenda says that is there to be edited: it stands once in
// the text.
func AgendaRevision(n int) string { return fmt.Sprintf("Revision %d.", n) }

// Agenda is a note with n traits, two on a line: no note that a person wrote has as many. What is due
// is due on a day of the two years around the one that is named, on each of them in turn.
func Agenda(day string, n int) File {
	const around = 365
	words, levels := strings.Fields(english), []string{"low", "medium", "high"}
	var b strings.Builder
	fmt.Fprintf(&b, "# Agenda\n\n%s\n\n", AgendaRevision(0))
	for i := range n / 2 {
		fmt.Fprintf(&b, "- @due(%s) @priority(%s) %s %s %d\n", dayAfter(day, i%(2*around)-around),
			levels[i%len(levels)], words[i%len(words)], words[i/len(words)%len(words)], i)
	}
	return File{AgendaPath, b.String()}
}
