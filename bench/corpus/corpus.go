// Package corpus makes vaults to measure and to test with: people, projects, books, meetings, daily
// notes and pages in many languages, with fields, traits and references as teams write them.
//
// A vault depends on its seed and its size alone. Nothing in it is anybody's text: the words come
// from the lists of this package and are put together at random.
package corpus

import (
	_ "embed"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
)

// Hot is the id of the object that a large share of the notes refers to: at least three of ten.
// Every vault with a note has it.
const Hot = "people/freya-holm"

// SchemaPath is the path of the one file that is no note. It comes first.
const SchemaPath = "schema.yaml"

// MaxSize is the number of bytes that no file exceeds.
const MaxSize = 40 << 10

// The sizes that notes are meant to have, in bytes: lognormal around the median, and cut off.
const (
	median   = 2048
	spread   = 0.9 // the standard deviation of the size's logarithm
	smallest = 256
	largest  = 32 << 10
)

//go:embed schema.yaml
var schema string

// A File is one file of a vault: its path in it, and its text.
type File struct{ Path, Text string }

// Vault yields a schema and n notes. The same seed and n give the same bytes, in the same order;
// no two paths are the same to a file system that folds case, and all of them are valid.
func Vault(seed uint64, n int) iter.Seq[File] {
	return func(yield func(File) bool) {
		if !yield(File{SchemaPath, schema}) {
			return
		}
		v := &vault{
			notes: n, languages: languages(),
			given: strings.Fields(givenNames), family: strings.Fields(familyNames),
			nouns: strings.Fields(english),
		}
		for i := range n {
			if !yield(v.file(seed, i)) {
				return
			}
		}
	}
}

// vault is what all notes of a vault share.
type vault struct {
	notes         int
	languages     []language
	given, family []string // names of people
	nouns         []string // that projects are called by
}

// file makes the note at position i. Each note has a source of randomness of its own: how one is
// made says nothing about the next.
func (v *vault) file(seed uint64, i int) File {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	k, ordinal := kindAt(i)
	d := &draft{
		vault: v, rand: r, kind: k, ordinal: ordinal,
		lang: pick(r, v.languages), size: size(r),
	}
	path := d.write()
	text := d.text.String()
	if d.chance(6) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return File{path, text}
}

// size is a size that a note is meant to have.
func size(r *rand.Rand) int {
	drawn := median * math.Exp(spread*r.NormFloat64())
	return int(min(max(drawn, smallest), largest))
}

// A kind of note.
type kind byte

const (
	person  kind = 'p'
	project kind = 'j'
	book    kind = 'b'
	meeting kind = 'm'
	daily   kind = 'd'
	page    kind = 'n'
)

// pattern is the order in which the kinds of notes follow each other, again and again. It begins
// with a person, who is the hot object.
const pattern = "pjbmdnndpnmddnnmdnnn"

// kindAt is the kind of the note at a position, and how many of its kind stand before it.
func kindAt(i int) (kind, int) {
	k := kind(pattern[i%len(pattern)])
	return k, countBefore(k, i)
}

// countBefore is how many of the first n notes are of a kind.
func countBefore(k kind, n int) int {
	letter := string(rune(k))
	whole := n / len(pattern) * strings.Count(pattern, letter)
	return whole + strings.Count(pattern[:n%len(pattern)], letter)
}

// pick takes one of a list that is not empty.
func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

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
