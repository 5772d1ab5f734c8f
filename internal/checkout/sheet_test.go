package checkout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// A writer changes texts by lines that no other writer writes.
type writer struct {
	name   string
	rand   *rand.Rand
	shared bool // it also changes a line that all others change
	n      int
}

// A ledger records every line that was written, and its fate.
type ledger struct {
	mu    sync.Mutex
	added map[string]told
	taken map[string]bool // removed by a writer that had seen it; true: by a client
}

// A told is a line that was added to a note.
type told struct {
	note   string
	saved  time.Time
	client bool // by a client, else by an editor
}

func newLedger() *ledger { return &ledger{added: map[string]told{}, taken: map[string]bool{}} }

// A draft is one change of a note by a writer.
type draft struct {
	note        string
	text        string
	adds, takes []string // lines
}

// note records that a draft was written, or saved. The removal of a line may be recorded before its
// addition.
func (l *ledger) note(d draft, client bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range d.adds {
		l.added[line] = told{note: d.note, saved: time.Now(), client: client}
	}
	for _, line := range d.takes {
		l.taken[line] = l.taken[line] || client
	}
}

// words make lines less similar to each other.
var words = strings.Fields("amber birch cedar dune ember fern grove heath iris jade kelp lark moss north opal " +
	"pine quartz reed sage thorn umber vale willow yarrow zephyr")

// line returns a line that was never written before.
func (w *writer) line(kind string) string {
	w.n++
	text := fmt.Sprintf("%s %s-%d", kind, w.name, w.n)
	for range 1 + w.rand.IntN(5) {
		text += " " + words[w.rand.IntN(len(words))]
	}
	return text
}

const sharedLine = "shared "

// draft changes a text: it adds a line, and often removes or changes a line of its own.
func (w *writer) draft(note, text string) draft {
	d := draft{note: note}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	body := bodyAt(lines)
	add := func(at int, line string) {
		lines = slices.Insert(lines, at, line)
		d.adds = append(d.adds, line)
	}
	mine := w.own(lines, body)
	switch w.rand.IntN(6) {
	case 0: // adds a line at the end
		add(len(lines), w.line("-"))
	case 1: // in between
		add(min(len(lines), body+1+w.rand.IntN(len(lines)-body+1)), w.line("-"))
	case 2: // changes its line
		if len(mine) > 0 {
			at := mine[w.rand.IntN(len(mine))]
			d.takes = append(d.takes, lines[at])
			lines[at] = w.line("-")
			d.adds = append(d.adds, lines[at])
		}
	case 3: // removes its line
		if len(mine) > 0 {
			at := mine[w.rand.IntN(len(mine))]
			d.takes = append(d.takes, lines[at])
			lines = slices.Delete(lines, at, at+1)
		}
		add(len(lines), w.line("-"))
	case 4: // writes to the frontmatter
		w.field(&d, lines, body, add)
	case 5: // writes to the shared line
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, sharedLine) })
		if w.shared && at >= 0 {
			d.takes = append(d.takes, lines[at])
			lines[at] = w.amend(lines[at])
			d.adds = append(d.adds, lines[at])
		}
	}
	if len(d.adds) == 0 {
		add(len(lines), w.line("-"))
	}
	d.text = strings.Join(lines, "\n") + "\n"
	return d
}

// amend adds words to a line, and removes its oldest words when it is long.
func (w *writer) amend(line string) string {
	w.n++
	parts := strings.Fields(line)
	if len(parts) > 8 {
		parts = slices.Delete(parts, 1, 3)
	}
	return strings.Join(append(parts, fmt.Sprintf("%s-%d", w.name, w.n)), " ")
}

// field adds a key to the frontmatter, or changes one of the writer's own.
func (w *writer) field(d *draft, lines []string, body int, add func(int, string)) {
	if body < 2 {
		return
	}
	w.n++
	for at, line := range lines[:body] {
		if strings.HasPrefix(line, "by_"+w.name+"_") && w.rand.IntN(2) == 0 {
			key, _, _ := strings.Cut(line, ":")
			d.takes = append(d.takes, line)
			lines[at] = fmt.Sprintf("%s: %d", key, w.n)
			d.adds = append(d.adds, lines[at])
			return
		}
	}
	add(body-1, fmt.Sprintf("by_%s_%d: %d", w.name, w.n, w.n))
}

// own returns the lines of the body that the writer wrote.
func (w *writer) own(lines []string, body int) []int {
	var mine []int
	for at, line := range lines {
		if at >= body && strings.HasPrefix(line, "- "+w.name+"-") {
			mine = append(mine, at)
		}
	}
	return mine
}

// bodyAt returns the index of the first line after the frontmatter, or 0 without frontmatter.
func bodyAt(lines []string) int {
	if len(lines) == 0 || lines[0] != "---" {
		return 0
	}
	return 2 + slices.Index(lines[1:], "---")
}
