package search

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Limits of the correction of spelling. A word that is not in the vault is replaced by up to
// maxSimilar similar words. Words from shortestRepaired letters on can have one typing error,
// those from longRepaired on two.
const (
	shortestRepaired = 4
	longRepaired     = 8
	maxSimilar       = 3
	slipCost         = .25 // subtracted from the weight for each typing error
)

// A similarWord is a word of the vault that is similar to a word of a query.
type similarWord struct {
	word     string
	distance int // number of typing errors
	docs     int // number of notes that have it
}

// correctSpelling returns a concept of the words that are most similar to a word that is not in
// the vault: the nearest first, then the most frequent. It returns nil if there is no similar
// word.
//
// A form weighs less for each typing error. The concept is scored like one word, so that several
// similar words do not count more than one.
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
			p.corrections[word] = s.word
		}
		weight := 1 - slipCost*float64(s.distance)
		forms = append(forms, form{term: p.x.analyzer.mainTerm(s.word), weight: weight})
	}
	if forms == nil {
		return nil
	}
	return []*concept{{forms: forms, weight: 1}}
}

// mainTerm returns the term that most notes with a word have.
func (a *analyzer) mainTerm(word string) string {
	if a.stops[word] {
		return asWritten + word
	}
	return a.stemOf(word)
}

// similar returns the words of the vault within a number of typing errors of a word, the best
// first.
func (g *gatherer) similar(letters []rune, slips int) []similarWord {
	found := map[string]similarWord{}
	d := distance{from: letters, most: slips, bag: bagOf(string(letters))}
	for i := range g.x.layers {
		l := &g.x.layers[i]
		sketches := l.sketches()
		for i, bag := range sketches.bags {
			// This excludes almost all words, without decoding them.
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
				found[word] = similarWord{word, n, docs}
			}
		}
	}
	list := make([]similarWord, 0, len(found))
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b similarWord) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.docs, a.docs),
			cmp.Compare(a.word, b.word))
	})
	return list[:min(maxSimilar, len(list))]
}

// A distance computes the number of typing errors between a word and others: a letter too many,
// missing or wrong, or two neighbouring letters exchanged (optimal string alignment). It must be
// used by one goroutine.
type distance struct {
	from []rune
	most int      // maximum; greater distances are not computed exactly
	bag  uint64   // bagOf from
	word []rune   // runes of the word that is compared
	rows [3][]int // of the matrix: the current one, and the one and two before it
}

// near reports whether a word with a number of letters and a bag can have a distance of at most
// d.most.
func (d *distance) near(letters int, bag uint64) bool {
	n := min(len(d.from), manyLetters) - letters
	return n <= d.most && -n <= d.most &&
		bits.OnesCount64(bag&^d.bag) <= d.most && bits.OnesCount64(d.bag&^bag) <= d.most
}

// to returns the distance to a word; any number greater than d.most if it is greater than d.most.
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

// bagOf returns the set of letters of a word, as a bit set of hashes. One typing error adds at
// most one bit and removes at most one.
func bagOf(word string) (bag uint64) {
	for _, r := range word {
		bag |= 1 << (r % 64)
	}
	return bag
}

// align fills the matrix row by row and returns the distance. It stops as soon as the distance
// must be greater than d.most.
func (d *distance) align() int {
	for i := range d.rows {
		d.rows[i] = slices.Grow(d.rows[i][:0], len(d.word)+1)[:len(d.word)+1]
	}
	for j := range d.rows[0] {
		d.rows[0][j] = j
	}
	for i := range d.from {
		// The oldest row is reused as the new one.
		d.rows[0], d.rows[1], d.rows[2] = d.rows[2], d.rows[0], d.rows[1]
		if d.row(i) > d.most {
			return d.most + 1
		}
	}
	return d.rows[0][len(d.word)]
}

// row fills row i+1 of the matrix and returns its minimum.
func (d *distance) row(i int) int {
	now, last, before := d.rows[0], d.rows[1], d.rows[2]
	now[0] = i + 1
	lowest := now[0]
	for j, r := range d.word {
		cost := 1
		if r == d.from[i] {
			cost = 0
		}
		// The last letter is replaced, missing or too many.
		n := min(last[j]+cost, last[j+1]+1, now[j]+1)
		// The last two letters are exchanged.
		if i > 0 && j > 0 && r == d.from[i-1] && d.word[j-1] == d.from[i] {
			n = min(n, before[j-1]+1)
		}
		now[j+1] = n
		lowest = min(lowest, n)
	}
	return lowest
}

// sketches contain the length and the bag of each word of a segment, as written. They exclude
// most words from a comparison without reading them.
type sketches struct {
	first int // number of the first term of a word as written
	bags  []uint64
	runes []uint8 // lengths, at most manyLetters
}

// manyLetters is the greatest length in a sketch; longer words have the same.
const manyLetters = 255

// sketches returns the sketches of the segment. They are computed on first use. Concurrent
// callers can compute them at the same time, with the same result.
func (s *segment) sketches() *sketches {
	if known := s.sketchCache.Load(); known != nil {
		return known
	}
	first, end := s.prefixed(asWritten)
	k := &sketches{first, make([]uint64, end-first), make([]uint8, end-first)}
	for i := range k.bags {
		word := s.name(first + i)[len(asWritten):]
		k.bags[i] = bagOf(word)
		k.runes[i] = uint8(min(utf8.RuneCountInString(word), manyLetters))
	}
	s.sketchCache.Store(k)
	return k
}
