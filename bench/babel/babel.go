// Package babel makes vaults in twelve languages to test with, and says what is true of them: what
// each reference leads to, and which words each note has. It knows that because it wrote the notes,
// and asks no index.
//
// A vault depends on its seed alone. Nothing in it is anybody's text: the words are put together from
// syllables of the script of each language, and mean nothing.
package babel

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Vault is the files of a vault, and what is true of them.
type Vault struct {
	Schema string // the text of schema.yaml
	Notes  []Note
}

// A Note is one note, and what is true of it.
type Note struct {
	Path, ID, Text string
	Language       string      // a code of ISO 639
	References     []Reference // by line
	Words          []string    // as they are written, in its text and in its path; each once

	// Identifiers are words that are put together from others, which are Words too.
	Identifiers []string
}

// A Reference is one of a note, and what it leads to.
type Reference struct {
	Target  string // as it is written
	Line    int
	ID      string   // of the one thing that it leads to; "": of nothing, or of several things
	Matches []string // the ids of several things, sorted

	// Elsewhere is what it leads to where no note is known that it is in, as an argument of a tool.
	Elsewhere Leading
}

// A Leading is what a reference leads to.
type Leading struct {
	ID      string
	Matches []string
}

// schema has a type whose objects go by a name, and fields that refer.
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

// each is how many notes a language has.
const each = 7

// New makes the vault of a seed.
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

// A world is what all notes of a vault share: by which words what goes.
type world struct {
	rand  *rand.Rand
	slugs map[string]bool    // of all names, so that no two are taken for one
	goes  map[string][]going // a name to what goes by it
	plans []*plan
}

// A going is a note that goes by a name: as its file's, as its own, or as an alias, in this order.
type going struct {
	plan *plan
	tier int
}

// A plan is what is settled of a note before any is written: references lead to it by that.
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

// share gives some names to several notes, and then enters who goes by which.
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

// days adds daily notes, which go by their date.
func (w *world) days() {
	for i := range 3 {
		day := fmt.Sprintf("2026-03-%02d", i+1)
		p := &plan{
			language: languages()[i], id: "daily/" + day, folder: "daily", short: day, day: true, number: i,
		}
		w.plans = append(w.plans, p)
	}
}

// fresh is a word that nothing has as its name so far, however it is written.
func (w *world) fresh(l language) string {
	for {
		word := w.word(l) + w.syllable(l)
		if s := slug(word); s != "" && !w.slugs[s] && !w.slugs[section(word)] {
			w.slugs[s], w.slugs[section(word)] = true, true
			return word
		}
	}
}

// word is any word of a language.
func (w *world) word(l language) string { return w.syllable(l) + w.syllable(l) }

func (w *world) syllable(l language) string { return l.syllables[w.rand.IntN(len(l.syllables))] }

// one is any of a list that is not empty.
func one[T any](w *world, list []T) T { return list[w.rand.IntN(len(list))] }

// capital is a word as a sentence begins.
func capital(word string) string {
	r := []rune(word)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}
