package search

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Person is a person or agent that a memory is by or about.
type Person struct {
	Name  string
	Whole bool // the name matches only as a whole: "release" does not match release-bot
}

// Prefixes of the terms for persons: of a single word of the name, followed by the name, and of
// the name alone.
const (
	personWord = "@"
	personName = "@@"
)

// maxNameWords is the maximum number of words of a name that is looked up as a whole.
const maxNameWords = 4

// personTerms returns the terms of some persons, sorted and unique.
//
// For "Ada Lovelace" they are "@ada ada lovelace" and "@lovelace ada lovelace" or, if the name
// matches only as a whole, "@@ada lovelace".
func personTerms(scan *scanner, persons []Person) []string {
	var terms []string
	for _, p := range persons {
		words := tokens(scan, p.Name)
		name := strings.Join(words, " ")
		if len(words) == 0 || len(name) > longestTerm {
			continue
		}
		// A single word of the name must not match.
		if p.Whole && len(words) > 1 {
			terms = append(terms, personName+name)
			continue
		}
		for _, word := range words {
			terms = append(terms, personWord+word+" "+name)
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// A personDocs contains, by layer, the sorted heads of the documents of the one person that a query
// names.
type personDocs struct{ heads [][]uint32 }

// docsOfPerson returns the documents of the one person that a query with these words names. It
// returns nil if the query names no person, or several: if no name matches all words that match a
// name, or if several names do (reference/retrieval.md §1). Of several names, one that the query
// contains as a whole counts: "ada" names the person ada and not ada lovelace.
//
// Each word, or sequence of words, that matches names restricts the names to those that match it
// too. So "Ada" and "Lovelace" together name a single person, even if there are other Adas.
func (x *Index) docsOfPerson(words []string) *personDocs {
	var common map[string]bool
	f := x.personFinder()
	for i, word := range words {
		for _, terms := range f.personsAt(words[i:], word) {
			switch {
			// The word is not part of a name, and does not matter.
			case len(terms) == 0:
			case common == nil:
				common = terms
			default:
				maps.DeleteFunc(common, func(term string, _ bool) bool { return !terms[term] })
			}
		}
	}
	if len(common) > 1 {
		maps.DeleteFunc(common, func(name string, _ bool) bool { return !hasAll(words, name) })
	}
	for name := range common {
		if len(common) == 1 {
			return x.docsOfName(name)
		}
	}
	return nil
}

// hasAll reports whether a query contains all words of a name.
func hasAll(words []string, name string) bool {
	for word := range strings.FieldsSeq(name) {
		if !slices.Contains(words, word) {
			return false
		}
	}
	return true
}

// A personFinder finds names of persons. It contains, by layer, the range of their terms: from first
// up to, not including, end.
type personFinder struct {
	x      *Index
	ranges [][2]int
}

// personFinder returns a personFinder for the index.
func (x *Index) personFinder() *personFinder {
	f := &personFinder{x, make([][2]int, len(x.layers))}
	for i := range x.layers {
		f.ranges[i][0], f.ranges[i][1] = x.layers[i].prefixed(personWord) // also those with personName
	}
	return f
}

// personsAt returns sets of names that match a query from one of its words on: the names that
// contain the word, and for each number of words the name that consists of them. It returns nil
// for stop words, single letters and numbers.
func (f *personFinder) personsAt(words []string, word string) []map[string]bool {
	if f.x.analyzer.stops[word] || utf8.RuneCountInString(word) < 2 || strings.IndexFunc(word, unicode.IsLetter) < 0 {
		return nil
	}
	all := []map[string]bool{f.names(personWord+word+" ", true)}
	if f.names(personName+word+" ", true) == nil {
		return all // no name of several words begins with the word
	}
	for n := 2; n <= min(len(words), maxNameWords); n++ {
		all = append(all, f.names(personName+strings.Join(words[:n], " "), false))
	}
	return all
}

// names returns the names in the terms that are equal to front, or begin with it, and that have
// postings in documents that are not deleted. It returns nil if there are none.
func (f *personFinder) names(front string, isPrefix bool) (all map[string]bool) {
	for i, within := range f.ranges {
		l := &f.x.layers[i]
		for term := l.search(within[0], within[1], front); term < within[1]; term++ {
			name := l.name(term)
			if is := name == front || isPrefix && strings.HasPrefix(name, front); !is {
				break
			}
			// A name counts only while a document has it.
			if r := l.list(term); l.read(&r) {
				if all == nil {
					all = map[string]bool{}
				}
				all[nameOf(name)] = true
			}
		}
	}
	return all
}

// nameOf returns the name that a term of a person is for.
func nameOf(term string) string {
	if name, ok := strings.CutPrefix(term, personName); ok {
		return name
	}
	_, name, _ := strings.Cut(term, " ")
	return name
}

// docsOfName returns the documents of a name.
func (x *Index) docsOfName(name string) *personDocs {
	// A document lists a name under terms of one kind. Both kinds are looked up.
	first, _, _ := strings.Cut(name, " ")
	forms := []form{{term: personName + name}, {term: personWord + first + " " + name}}
	n := &personDocs{make([][]uint32, len(x.layers))}
	for i := range x.layers {
		n.heads[i] = x.layers[i].slotsOf(forms)
	}
	return n
}

// has reports whether the document with this head is of the person.
func (n *personDocs) has(layer int, head uint32) bool {
	_, ok := slices.BinarySearch(n.heads[layer], head)
	return ok
}
