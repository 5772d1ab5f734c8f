package search

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Person is somebody by whom a memory is, or whom it is about.
type Person struct {
	Name  string
	Whole bool // only all of its words together name the person: release-bot is not named by "release"
}

// The signs before terms that list what is a person's: by each word of the name, and by all of them.
const (
	personWord = "@"
	personName = "@@"
)

// mostNameWords is how many words a name has at most that is asked for as a whole.
const mostNameWords = 4

// personTerms are the terms of some persons.
func personTerms(scan *scanner, persons []Person) []string {
	var terms []string
	for _, p := range persons {
		words := tokens(scan, p.Name)
		name := strings.Join(words, " ")
		if len(words) == 0 || len(name) > longestTerm {
			continue
		}
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

// A naming is the one person whom a query names, and the heads of what is theirs, by layer.
type naming struct{ heads [][]uint32 }

// naming returns whom a query names; nil if that is nobody, or more than one.
func (x *Index) naming(words []string) *naming {
	var common map[string]bool
	for i, word := range words {
		for _, terms := range x.personsAt(words[i:], word) {
			switch {
			case len(terms) == 0:
			case common == nil:
				common = terms
			default:
				maps.DeleteFunc(common, func(term string, _ bool) bool { return !terms[term] })
			}
		}
	}
	if len(common) == 0 {
		return nil
	}
	return x.theirs(common)
}

// personsAt are the names that begin with a word of a query, or of which it is one: those that have the word, and
// those that are some words of the query from there on.
func (x *Index) personsAt(words []string, word string) []map[string]bool {
	if x.analyzer.stops[word] || utf8.RuneCountInString(word) < 2 || strings.IndexFunc(word, unicode.IsLetter) < 0 {
		return nil
	}
	all := []map[string]bool{x.names(personWord+word+" ", true)}
	for n := 2; n <= min(len(words), mostNameWords); n++ {
		all = append(all, x.names(personName+strings.Join(words[:n], " "), false))
	}
	return all
}

// names are the names behind a sign and what follows it, of which there is something.
func (x *Index) names(front string, isPrefix bool) map[string]bool {
	all := map[string]bool{}
	for i := range x.layers {
		l := &x.layers[i]
		first, end := l.termsOf(form{term: front, prefix: isPrefix})
		for term := first; term < end; term++ {
			if r := l.list(term); l.read(&r) {
				all[nameOf(l.name(term))] = true
			}
		}
	}
	return all
}

// nameOf is the name that a term of a person is of.
func nameOf(term string) string {
	if name, ok := strings.CutPrefix(term, personName); ok {
		return name
	}
	_, name, _ := strings.Cut(term, " ")
	return name
}

// theirs are the heads of what is of a person, who has some names.
func (x *Index) theirs(names map[string]bool) *naming {
	var forms []form
	for name := range names {
		first, _, _ := strings.Cut(name, " ")
		forms = append(forms, form{term: personName + name}, form{term: personWord + first + " " + name})
	}
	n := &naming{make([][]uint32, len(x.layers))}
	for i := range x.layers {
		n.heads[i] = x.layers[i].slotsOf(forms)
	}
	return n
}

// has reports whether a thing is of the person.
func (n *naming) has(layer int, head uint32) bool {
	_, ok := slices.BinarySearch(n.heads[layer], head)
	return ok
}
