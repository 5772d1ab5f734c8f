package search

import "slices"

// PlainQuery is a query of a text as it is: no sign in it means anything. A thing is found that has any of its words.
func PlainQuery(text string) Query {
	if text = clean(text); text == "" {
		return Query{}
	}
	return Query{Clauses: []Clause{{Kind: Word, Text: text}}}
}

// Coverage says which words of a query a note has, in whichever form, and which it has not. Words that say nothing,
// such as `the`, do not count, unless there are no others.
func (x *Index) Coverage(q Query, n *Note) (matched, missing []string) {
	has := x.analyzer.termsIn(n)
	words := x.wordsOf(q)
	for _, w := range words {
		if slices.ContainsFunc(w.concepts, func(c *concept) bool {
			return slices.ContainsFunc(c.forms, func(f form) bool { return has[f.term] })
		}) {
			matched = append(matched, w.text)
		} else {
			missing = append(missing, w.text)
		}
	}
	return matched, missing
}

// wordsOf are the words of a query that count.
func (x *Index) wordsOf(q Query) []wanted {
	p := &planner{x: x, scan: x.analyzer.scanner(), seen: map[string]bool{}}
	for _, c := range q.Clauses {
		if !c.Not {
			p.text(c.Text)
		}
	}
	isStop := func(w wanted) bool { return w.stop }
	if slices.ContainsFunc(p.words, func(w wanted) bool { return !w.stop }) {
		return slices.DeleteFunc(p.words, isStop)
	}
	return p.words
}

// termsIn are the terms of all that is searched of a note, but for its path.
func (a *analyzer) termsIn(n *Note) map[string]bool {
	all := map[string]bool{}
	scan := a.scanner()
	read := func(text []byte) {
		for r := range scan.runs(text) {
			for _, t := range r.atoms {
				if t.spaceless {
					for _, gram := range grams(t.text) {
						all[string(gram)] = true
					}
					continue
				}
				a.addTerms(all, string(t.text))
			}
			if r.whole != nil {
				a.addTerms(all, string(r.whole))
			}
		}
	}
	read([]byte(n.Title))
	for _, text := range n.Also {
		read([]byte(text))
	}
	read(n.Text)
	return all
}

func (a *analyzer) addTerms(to map[string]bool, word string) {
	for _, term := range a.terms(word) {
		to[term] = true
	}
}
