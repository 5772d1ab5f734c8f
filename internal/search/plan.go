package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a query may ask for. What a person types is far below; of a page that somebody pastes the
// first words count.
const (
	mostWords   = 128
	mostSigned  = 16 // phrases, words typed in part, and what is excluded
	mostRepairs = 4  // words that are not in the vault, for which similar ones are looked for
)

// The weights of what a word is found by, beside its stem.
const (
	writtenWeight = .3 // as written, which counts on top
	bareWeight    = .5 // without its accents
	prefixWeight  = .5 // another word that begins so
)

// A form is a term that stands for a word, and how much of an occurrence one of it is worth.
type form struct {
	term   string
	prefix bool // all terms that begin so
	weight float64
}

// A concept is what is scored as one: in whichever form it stands, it counts once.
type concept struct {
	forms  []form
	weight float64
	lists  [][]weighted // by layer
	docs   int          // notes that have it
	idf    float64      // with the weight

	saturation float64

	// late says that it counts only for what is scored in full, and is gathered when that is known. Then beside is the
	// concept of the same word that is not.
	late   bool
	beside *concept

	held []held // by layer
}

// A held is how a layer has a concept: in so many notes, and as it is of one term, if that is not negative.
type held struct{ docs, only int }

// A wanted is a word of the query.
type wanted struct {
	text       string
	stop       bool
	repairable bool
	joined     bool // several words of the query in one, which are words of their own
	isLike     bool // its concepts are of words that are only like it
	concepts   []*concept
}

// A plan is a query as the index answers it.
type plan struct {
	concepts []*concept
	words    []wanted          // that count, but for joined ones
	tokens   []string          // all words in their order
	meant    map[string]string // of words that are in no note, which is most like them
	must     []*requirement
	never    []*requirement
	quoted   []*requirement // that make an exact match
	all      bool           // nothing is looked for, only excluded: all other notes are found
}

// A planner makes a plan.
type planner struct {
	x      *Index
	gather *gatherer
	scan   *scanner
	signer phraseFilter
	asked  []wanted
	seen   map[string]bool

	excluded []form // of all words that are excluded
	plan
}

func (g *gatherer) plan(q Query) plan {
	p := &planner{x: g.x, gather: g, scan: g.x.analyzer.scanner(), seen: map[string]bool{}}
	p.meant = map[string]string{}
	seen, signed := map[Clause]bool{}, 0
	for _, c := range q.Clauses {
		plain := c.Kind == Word && !c.Not
		if seen[c] || plain && len(p.asked) == mostWords || !plain && signed == mostSigned {
			continue
		}
		seen[c] = true
		if !plain {
			signed++
		}
		p.clause(c)
	}
	if p.excluded != nil {
		p.require(&p.never, &requirement{parts: [][]form{p.excluded}})
	}
	for _, text := range q.quoted {
		if r := p.phrase(text); len(r.parts) > 0 {
			p.quoted = append(p.quoted, r)
		}
	}
	p.all = len(p.asked) == 0 && len(p.must) == 0 && len(p.never) > 0
	p.choose()
	return p.plan
}

func (p *planner) clause(c Clause) {
	switch {
	case c.Not:
		p.exclude(c)
	case c.Kind == Phrase:
		p.require(&p.must, p.phrase(c.Text))
		p.text(c.Text)
	case c.Kind == Prefix:
		p.prefix(c.Text)
	default:
		p.text(c.Text)
	}
}

// want adds a word, unless it is there or there are enough.
func (p *planner) want(w wanted) {
	if p.seen[w.text] || len(p.asked) == mostWords {
		return
	}
	p.seen[w.text] = true
	p.asked = append(p.asked, w)
}

// text adds the words of a text.
func (p *planner) text(text string) {
	for r := range p.scan.runs([]byte(text)) {
		for _, a := range r.atoms {
			p.atom(r, a)
			if len(p.tokens) < mostWords {
				p.tokens = append(p.tokens, string(a.text))
			}
		}
		if r.whole != nil {
			p.word(wanted{text: string(r.whole), joined: true, repairable: slipped(r)})
		}
	}
}

// slipped reports whether an identifier may be a word whose first two letters were exchanged: "hSow" for "Show".
func slipped(r *run) bool { return len(r.atoms) == 2 && utf8.RuneCount(r.atoms[0].text) == 1 }

// atom adds an atom: but for a single letter of an identifier, which says nothing.
func (p *planner) atom(r *run, a atom) {
	switch {
	case a.spaceless:
		for _, term := range queryGrams(a.text) {
			f := form{term: term, weight: 1}
			p.want(wanted{text: term, concepts: []*concept{{forms: []form{f}, weight: 1}}})
		}
	case r.whole == nil || utf8.RuneCount(a.text) > 1:
		p.word(wanted{text: string(a.text), repairable: true})
	}
}

// queryGrams are the terms of a spaceless stretch that a query asks for: the pairs of neighbours,
// and of a single character itself.
func queryGrams(text []byte) []string {
	single := utf8.RuneCount(text) == 1
	var terms []string
	for _, term := range grams(text) {
		if single || utf8.RuneCount(term) == 2 {
			terms = append(terms, string(term))
		}
	}
	return terms
}

// word adds a word, of which the text is known, and what may be done with it.
func (p *planner) word(w wanted) {
	a := p.x.analyzer
	key := shorten(w.text)
	w.stop, w.repairable = a.stops[w.text], w.repairable && lettersOnly(w.text)
	asIs := form{term: asWritten + key, weight: 1}
	if w.stop {
		w.concepts = []*concept{{forms: append(a.bareForms(key), asIs), weight: 1}}
	} else {
		stem := &concept{forms: a.wordForms(key), weight: 1}
		w.concepts = []*concept{
			stem, {forms: []form{asIs}, weight: writtenWeight, late: p.x.profile.isThreaded(), beside: stem},
		}
	}
	p.want(w)
}

// wordForms are the forms of a word, but for the one that it is written in.
func (a *analyzer) wordForms(word string) []form {
	return append(a.bareForms(word), form{term: a.stemOf(word), weight: 1})
}

// bareForms find a word whose accents the query or the note leaves out.
func (a *analyzer) bareForms(word string) []form {
	bare := bareOf(word)
	stem := a.stemOf(bare)
	forms := []form{{term: unaccented + bare, weight: bareWeight}}
	if stem != bare {
		forms = append(forms, form{term: unaccented + stem, weight: bareWeight})
	}
	if bare != word {
		forms = append(forms, form{term: asWritten + bare, weight: bareWeight})
	}
	if stem != a.stemOf(word) {
		forms = append(forms, form{term: stem, weight: bareWeight})
	}
	return forms
}

// prefix adds a word that is typed in part. In a script without spaces it is text like other text.
func (p *planner) prefix(text string) {
	forms := p.prefixForms(text)
	if forms == nil {
		p.text(text)
		return
	}
	p.want(wanted{text: text + "*", isLike: true, concepts: []*concept{{forms: forms, weight: 1}}})
}

// prefixForms are the forms of a word that is typed in part; nil if the text is not one word.
func (p *planner) prefixForms(text string) []form {
	word, runs := "", 0
	for r := range p.scan.runs([]byte(text)) {
		runs++
		word = string(r.whole)
		if len(r.atoms) == 1 && !r.atoms[0].spaceless {
			word = string(r.atoms[0].text)
		}
	}
	if runs != 1 || word == "" {
		return nil
	}
	if len(word) > longestTerm-16 {
		word = strings.ToValidUTF8(word[:longestTerm-19], "")
	}
	return []form{
		{term: asWritten + word, weight: 1 - prefixWeight},
		{term: asWritten + word, prefix: true, weight: prefixWeight},
		{term: unaccented + bareOf(word), prefix: true, weight: prefixWeight * bareWeight},
	}
}

// choose takes the words that count: all but stop words, unless there are no others.
func (p *planner) choose() {
	stopsOnly := true
	for _, w := range p.asked {
		stopsOnly = stopsOnly && w.stop
	}
	repairs := 0
	for _, w := range p.asked {
		if w.stop && !stopsOnly {
			continue
		}
		if p.measure(w.concepts) == 0 && w.repairable && repairs < mostRepairs {
			repairs++
			w.concepts, w.isLike = p.correctSpelling(w.text), true
			p.measure(w.concepts)
		}
		if !w.joined {
			p.words = append(p.words, w)
		}
		p.concepts = append(p.concepts, w.concepts...)
	}
}

// measure reads the postings of some concepts, and returns how many notes have the first.
func (p *planner) measure(concepts []*concept) int {
	for _, c := range concepts {
		p.gather.gather(c)
	}
	if len(concepts) == 0 {
		return 0
	}
	return concepts[0].docs
}

func lettersOnly(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r)
	}) < 0
}
