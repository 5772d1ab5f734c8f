// Package babel_test generates vaults in twelve languages for tests, with the expected results: the
// target of each reference, and the words of each note. It knows them because it wrote the notes,
// without an index.
//
// A vault depends only on its seed. No text is by a person: the words are built from syllables of
// the script of each language, and have no meaning.
package babel_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Vault contains the files of a vault, with the expected results.
type Vault struct {
	Schema string // the text of schema.yaml
	Notes  []Note
}

// A Note is one note with the expected results.
type Note struct {
	Path, ID, Text string
	Language       string      // a code of ISO 639
	References     []Reference // by line
	Words          []string    // as they are written, in its text and in its path; each once

	// Identifiers are words that are put together from others, which are Words too.
	Identifiers []string
}

// A Reference is a reference in a note, with its target.
type Reference struct {
	Target  string // as it is written
	Line    int
	ID      string   // of the one thing that it leads to; "": of nothing, or of several things
	Matches []string // the ids of several things, sorted

	// Elsewhere is what it leads to where no note is known that it is in, as an argument of a tool.
	Elsewhere Leading
}

// A Leading is the target of a reference.
type Leading struct {
	ID      string
	Matches []string
}

// schema has a type with a name field, and fields that are references.
const schema = `version: 1
types:
  person:
    default_path: people/
    name_field: name
    fields:
      name: { type: string }
      friend: { type: ref }
      mentor: { type: ref }
traits:
  due: { type: date }
  owner: { type: ref }
  urgent: { type: bool }
`

// each is the number of notes of a language.
const each = 7

// New generates the vault of a seed.
func New(seed uint64) Vault {
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 0)), slugs: map[string]bool{}, goes: map[string][]going{},
	}
	for _, l := range languages() {
		w.settle(l)
	}
	w.share()
	w.days()
	v := Vault{Schema: schema}
	for _, p := range w.plans {
		v.Notes = append(v.Notes, w.write(p))
	}
	return v
}

// A world contains the state that all notes of a vault share: the notes by their names.
type world struct {
	rand  *rand.Rand
	slugs map[string]bool    // of all names, so that no two are taken for one
	goes  map[string][]going // a name to what goes by it
	plans []*plan
}

// A going is a note with a name: the name of its file, its own name, or an alias, in this order.
type going struct {
	plan *plan
	tier int
}

// A plan contains the properties of a note that are fixed before any note is written, because
// references depend on them.
type plan struct {
	language
	id, folder, short    string
	name, alias, heading string // "": it has none
	number               int    // among the notes of its language
	day                  bool   // it is a daily note
}

// beside reports whether two notes are in one folder.
func (p *plan) beside(q *plan) bool { return p.code == q.code && p.folder == q.folder }

// settle plans the notes of a language.
func (w *world) settle(l language) {
	folder := w.fresh(l)
	for i := range each {
		p := &plan{language: l, folder: folder, short: w.fresh(l), heading: w.fresh(l), number: i}
		p.id = l.code + "/" + folder + "/" + p.short
		if i%2 == 0 {
			p.name, p.alias = w.fresh(l)+" "+w.word(l), w.fresh(l)
		}
		w.plans = append(w.plans, p)
	}
}

// share gives some names to several notes, and then records the notes by name.
func (w *world) share() {
	for i, p := range w.plans {
		other := w.plans[(i+each)%len(w.plans)] // its neighbour in the next language
		switch p.number {
		case 1: // the file has the same name
			if other.short != p.short && i/each%2 == 0 {
				other.short = p.short
				other.id = other.code + "/" + other.folder + "/" + other.short
			}
		case 2:
			if i/each%2 == 1 {
				other.alias = p.alias
			}
		case 4: // somebody is called as a file
			p.name = w.plans[i-1].short
		}
	}
	for _, p := range w.plans {
		for tier, name := range []string{p.short, p.name, p.alias} {
			if name != "" {
				w.goes[name] = append(w.goes[name], going{p, tier})
			}
		}
	}
}

// days adds daily notes, which are named by their date.
func (w *world) days() {
	for i := range 3 {
		day := fmt.Sprintf("2026-03-%02d", i+1)
		p := &plan{
			language: languages()[i], id: "daily/" + day, folder: "daily", short: day, day: true, number: i,
		}
		w.plans = append(w.plans, p)
	}
}

// fresh returns a word that is not the name of a note yet, in any spelling.
func (w *world) fresh(l language) string {
	for {
		word := w.word(l) + w.syllable(l)
		if s := slug(word); s != "" && !w.slugs[s] && !w.slugs[section(word)] {
			w.slugs[s], w.slugs[section(word)] = true, true
			return word
		}
	}
}

// word returns a random word of a language.
func (w *world) word(l language) string { return w.syllable(l) + w.syllable(l) }

func (w *world) syllable(l language) string { return l.syllables[w.rand.IntN(len(l.syllables))] }

// one returns a random element of a list that is not empty.
func one[T any](w *world, list []T) T { return list[w.rand.IntN(len(list))] }

// capital returns a word with a capital first letter.
func capital(word string) string {
	r := []rune(word)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}
