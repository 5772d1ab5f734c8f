// Package corpus makes vaults to measure and to test with: people, projects, books, meetings, daily
// notes and pages in many languages, with fields, traits and references as teams write them.
//
// A vault depends on its seed and its size alone. Nothing in it is anybody's text: the words come
// from the lists of this package and are put together at random.
package corpus

import (
	_ "embed"
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
