package search

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// When a word is not in the vault, similar ones are looked for: from four letters on such as one
// slip away, from eight on two, and of these at most three.
const (
	shortestRepaired = 4
	longRepaired     = 8
	mostSimilar      = 3
	slipCost         = .25 // what one slip takes off the weight
)

// A similar is a word of the vault that somebody may have meant.
type similar struct {
	word     string
	distance int
	docs     int
}

// correctSpelling is a concept of the words that are most similar to one that is not in the vault: the
// nearest, then the most frequent. There is none where no word is similar.
func (p *planner) correctSpelling(word string) []*concept {
	letters := []rune(word)
	if len(letters) < shortestRepaired {
		return nil
	}
	slips := 1
	if len(letters) >= longRepaired {
		slips = 2
	}
	var forms []form
	for i, s := range p.gather.similar(letters, slips) {
		if i == 0 {
			p.meant[word] = s.word
		}
		weight := 1 - slipCost*float64(s.distance)
		forms = append(forms, form{term: p.x.analyzer.mainTerm(s.word), weight: weight})
	}
	if forms == nil {
		return nil
	}
	return []*concept{{forms: forms, weight: 1}}
}

// mainTerm is the term that lists most notes with a word.
func (a *analyzer) mainTerm(word string) string {
	if a.stops[word] {
		return asWritten + word
	}
	return a.stemOf(word)
}

// similar are the words of the vault that some slips make of another, the best first.
func (g *gatherer) similar(letters []rune, slips int) []similar {
	found := map[string]similar{}
	d := distance{from: letters, most: slips, bag: bagOf(string(letters))}
	for i := range g.x.layers {
		l := &g.x.layers[i]
		sketches := l.sketches()
		for i, bag := range sketches.bags {
			if !d.near(int(sketches.runes[i]), bag) {
				continue
			}
			term := sketches.first + i
			word := l.name(term)[len(asWritten):]
			n := d.to(word)
			if n > slips {
				continue
			}
			docs := found[word].docs + g.docsWith(l, term)
			if docs > 0 {
				found[word] = similar{word, n, docs}
			}
		}
	}
	list := make([]similar, 0, len(found))
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.docs, a.docs),
			cmp.Compare(a.word, b.word))
	})
	return list[:min(mostSimilar, len(list))]
}

// A distance measures how many slips lead from one word to others: a letter too many, missing, or
// wrong, or two neighbours exchanged (optimal string alignment).
type distance struct {
	from []rune
	most int // beyond which it does not matter how many
	bag  uint64
	word []rune
	rows [3][]int // of the table: the last, the one before, the new one
}

// near reports whether a word of so many letters, which are in a bag, may be no further away than d.most.
func (d *distance) near(letters int, bag uint64) bool {
	n := min(len(d.from), manyLetters) - letters
	return n <= d.most && -n <= d.most &&
		bits.OnesCount64(bag&^d.bag) <= d.most && bits.OnesCount64(d.bag&^bag) <= d.most
}

// to is the distance to a word; more than d.most if it is more than that.
func (d *distance) to(word string) int {
	if n := utf8.RuneCountInString(word) - len(d.from); n > d.most || -n > d.most {
		return d.most + 1
	}
	d.word = d.word[:0]
	for _, r := range word {
		d.word = append(d.word, r)
	}
	return d.align()
}

// bagOf are the letters of a word, as bits. One slip adds one at most, and takes one away.
func bagOf(word string) (bag uint64) {
	for _, r := range word {
		bag |= 1 << (r % 64)
	}
	return bag
}

// align fills the table row by row, and stops when no way through it is short enough.
func (d *distance) align() int {
	for i := range d.rows {
		d.rows[i] = slices.Grow(d.rows[i][:0], len(d.word)+1)[:len(d.word)+1]
	}
	for j := range d.rows[0] {
		d.rows[0][j] = j
	}
	for i := range d.from {
		d.rows[0], d.rows[1], d.rows[2] = d.rows[2], d.rows[0], d.rows[1]
		if d.row(i) > d.most {
			return d.most + 1
		}
	}
	return d.rows[0][len(d.word)]
}

// row fills row i+1, and returns the lowest number in it.
func (d *distance) row(i int) int {
	now, last, before := d.rows[0], d.rows[1], d.rows[2]
	now[0] = i + 1
	lowest := now[0]
	for j, r := range d.word {
		cost := 1
		if r == d.from[i] {
			cost = 0
		}
		n := min(last[j]+cost, last[j+1]+1, now[j]+1)
		if i > 0 && j > 0 && r == d.from[i-1] && d.word[j-1] == d.from[i] {
			n = min(n, before[j-1]+1)
		}
		now[j+1] = n
		lowest = min(lowest, n)
	}
	return lowest
}

// sketches are the numbers of letters and the bags of the words of a segment as they are written, by
// which most words are told not to be near another.
type sketches struct {
	first int // term
	bags  []uint64
	runes []uint8 // at most manyLetters
}

// manyLetters is the number of letters of words that have as many or more.
const manyLetters = 255

// sketches are made when they are first asked for. Several may make them at once; they are the same.
func (s *segment) sketches() *sketches {
	if known := s.known.Load(); known != nil {
		return known
	}
	first, end := s.prefixed(asWritten)
	k := &sketches{first, make([]uint64, end-first), make([]uint8, end-first)}
	for i := range k.bags {
		word := s.name(first + i)[len(asWritten):]
		k.bags[i] = bagOf(word)
		k.runes[i] = uint8(min(utf8.RuneCountInString(word), manyLetters))
	}
	s.known.Store(k)
	return k
}
