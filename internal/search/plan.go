package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a query. They are far above the length of typed queries; of a long pasted text, only
// the first words count.
const (
	maxWords       = 128 // plain words
	maxPhrases     = 16  // phrases, prefixes and exclusions
	maxCorrections = 4   // unknown words whose spelling is corrected
)

// The weights of the forms of a word, besides its stem, which has weight 1.
const (
	writtenWeight = .3 // as written; added to the weight of the stem
	bareWeight    = .5 // without its accents
	prefixWeight  = .5 // a longer word that begins with a prefix
)

// A form is a term that matches a word, and the weight of an occurrence of the term.
type form struct {
	term   string
	prefix bool // match all terms with this prefix
	weight float64
}

// A concept is a unit of scoring: the occurrences of all its forms are counted together.
//
// docs, idf, lists and stats are set by a gatherer.
type concept struct {
	forms  []form
	weight float64
	lists  [][]weighted // by layer: occurrences by slot
	docs   int          // number of notes that have it
	idf    float64      // inverse document frequency, times weight

	k1 float64 // k1 of BM25

	// late reports that the concept counts only for documents that are scored in full, and that
	// its postings are read when these are known.
	late bool

	// beside is, for a word as written, the concept of the stem of the same word, which comes directly
	// before it and is not late. Else nil.
	beside *concept

	// repeats reports that a late concept has the same occurrences as the one beside it, in all
	// layers.
	repeats bool

	stats []layerStats // by layer
}

// A layerStats reports how a layer has a concept: the number of documents, and the number of the term
// if all occurrences are of one term with weight 1, else -1.
type layerStats struct{ docs, only int }

// A queryWord is a word of the query.
type queryWord struct {
	text       string
	stop       bool
	repairable bool // its spelling is corrected if it is unknown
	joined     bool // all words of an identifier in one; each is also a word of its own
	isLike     bool // matches only similar words: a prefix, or a corrected spelling
	concepts   []*concept
}

// A plan is a query prepared for one index.
type plan struct {
	concepts    []*concept
	words       []queryWord       // that count, without joined ones
	tokens      []string          // all words, in order
	corrections map[string]string // an unknown word to the most similar word in the index
	must        []*requirement    // a note must meet all of them
	mustNot     []*requirement    // a note must meet none of them
	quoted      []*requirement    // an Exact match meets all of them
	all         bool              // the query only excludes: all other notes are found
}

// A planner prepares a plan.
//
// It parses the clauses of a query into words and requirements, reads the postings of the words,
// and corrects the spelling of those that no note has.
type planner struct {
	x          *Index
	gather     *gatherer
	scan       *scanner
	filter     phraseFilter
	queryWords []queryWord
	seen       map[string]bool

	excluded []form // of all excluded words
	plan
}

// plan returns the plan of a query. It ignores duplicate clauses, and those beyond the limits.
func (g *gatherer) plan(q Query) plan {
	p := &planner{x: g.x, gather: g, scan: g.x.analyzer.scanner(), seen: map[string]bool{}}
	p.corrections = map[string]string{}
	seen, signed := map[Clause]bool{}, 0
	for _, c := range q.Clauses {
		plain := c.Kind == Word && !c.Not
		// Plain words and other clauses have separate limits.
		if seen[c] || plain && len(p.queryWords) == maxWords || !plain && signed == maxPhrases {
			continue
		}
		seen[c] = true
		if !plain {
			signed++
		}
		p.clause(c)
	}
	// All excluded words form one requirement, any form of which excludes a note.
	if p.excluded != nil {
		appendSearchable(&p.mustNot, &requirement{parts: [][]form{p.excluded}})
	}
	for _, text := range q.quoted {
		if r := p.phrase(text); len(r.parts) > 0 {
			p.quoted = append(p.quoted, r)
		}
	}
	p.all = len(p.queryWords) == 0 && len(p.must) == 0 && len(p.mustNot) > 0
	p.choose()
	p.lookUp(p.must)
	p.lookUp(p.mustNot)
	return p.plan
}

// clause adds a clause of the query.
func (p *planner) clause(c Clause) {
	switch {
	case c.Not:
		p.exclude(c)
	case c.Kind == Phrase:
		appendSearchable(&p.must, p.phrase(c.Text))
		p.text(c.Text)
	case c.Kind == Prefix:
		p.prefix(c.Text)
	default:
		p.text(c.Text)
	}
}

// addWord adds a word, unless it is a duplicate or there are maxWords already.
func (p *planner) addWord(w queryWord) {
	if p.seen[w.text] || len(p.queryWords) == maxWords {
		return
	}
	p.seen[w.text] = true
	p.queryWords = append(p.queryWords, w)
}

// text adds the words of a text.
func (p *planner) text(text string) {
	for r := range p.scan.runs([]byte(text)) {
		for _, a := range r.atoms {
			p.atom(r, a)
			if len(p.tokens) < maxWords {
				p.tokens = append(p.tokens, string(a.text))
			}
		}
		if r.whole != nil {
			p.word(queryWord{text: string(r.whole), joined: true, repairable: mayBeTransposed(r)})
		}
	}
}

// mayBeTransposed reports whether an identifier can be a word with its first two letters exchanged, such
// as "hSow" for "Show".
func mayBeTransposed(r *run) bool { return len(r.atoms) == 2 && utf8.RuneCount(r.atoms[0].text) == 1 }

// atom adds the words of an atom. It skips a single letter of an identifier, which is in too many
// texts.
func (p *planner) atom(r *run, a atom) {
	switch {
	case a.spaceless:
		for _, term := range queryGrams(a.text) {
			f := form{term: term, weight: 1}
			p.addWord(queryWord{text: term, concepts: []*concept{{forms: []form{f}, weight: 1}}})
		}
	case r.whole == nil || utf8.RuneCount(a.text) > 1:
		p.word(queryWord{text: string(a.text), repairable: true})
	}
}

// queryGrams returns the terms of a spaceless stretch that a query looks up: the pairs of
// neighbouring characters or, of a single character, the character.
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

// word adds a word whose text, joined and repairable are set.
//
// A stop word has one concept: the word as written, or without accents. Another word has two: its
// stem, and the word as written, which adds to the score of notes with exactly this form.
func (p *planner) word(w queryWord) {
	a := p.x.analyzer
	// Terms are derived from the shortened word, as in the index; the text of the word is kept
	// for explanations and for the correction of spelling.
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
	p.addWord(w)
}

// wordForms returns the forms of a word, except the word as written.
func (a *analyzer) wordForms(word string) []form {
	return append(a.bareForms(word), form{term: a.stemOf(word), weight: 1})
}

// bareForms returns the forms that match a word if the query or the note omits its accents.
func (a *analyzer) bareForms(word string) []form {
	bare := stripAccents(word)
	stem := a.stemOf(bare)
	forms := []form{{term: unaccented + bare, weight: bareWeight}}
	if stem != bare {
		forms = append(forms, form{term: unaccented + stem, weight: bareWeight})
	}
	// The query has accents, which the note can omit.
	if bare != word {
		forms = append(forms, form{term: asWritten + bare, weight: bareWeight})
	}
	// The note can contain another form of the word without accents.
	if stem != a.stemOf(word) {
		forms = append(forms, form{term: stem, weight: bareWeight})
	}
	return forms
}

// prefix adds a prefix. In a spaceless script, where text is indexed by characters, it is added
// as plain text.
func (p *planner) prefix(text string) {
	forms := p.prefixForms(text)
	if forms == nil {
		p.text(text)
		return
	}
	p.addWord(queryWord{text: text + "*", isLike: true, concepts: []*concept{{forms: forms, weight: 1}}})
}

// prefixForms returns the forms of a prefix; nil if the text is not one word of a script with
// spaces.
//
// The word that is equal to the prefix has full weight: it matches the first two forms.
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
	// A term that long contains a digest, so only the beginning of the prefix can match it.
	if len(word) > longestTerm-16 {
		word = strings.ToValidUTF8(word[:longestTerm-19], "")
	}
	return []form{
		{term: asWritten + word, weight: 1 - prefixWeight},
		{term: asWritten + word, prefix: true, weight: prefixWeight},
		{term: unaccented + stripAccents(word), prefix: true, weight: prefixWeight * bareWeight},
	}
}

// choose selects the words that count and corrects the spelling of unknown ones. Stop words count
// only if the query has no other words.
//
// A word is corrected only if no note has any form of it. At most maxCorrections words are corrected,
// because the comparison with all words of the index is slow.
func (p *planner) choose() {
	stopsOnly := true
	for _, w := range p.queryWords {
		stopsOnly = stopsOnly && w.stop
	}
	repairs := 0
	for _, w := range p.queryWords {
		if w.stop && !stopsOnly {
			continue
		}
		// measure also reads the postings of the concepts, which the search needs.
		if p.measure(w.concepts) == 0 && w.repairable && repairs < maxCorrections {
			repairs++
			w.concepts, w.isLike = p.correctSpelling(w.text), true
			p.measure(w.concepts)
		}
		if !w.joined {
			p.words = append(p.words, w)
		}
		// Joined words are searched, but they are not listed as words of the query.
		p.concepts = append(p.concepts, w.concepts...)
	}
}

// measure reads the postings of some concepts. It returns the number of notes that have the first
// one; 0 if there is none.
func (p *planner) measure(concepts []*concept) int {
	for _, c := range concepts {
		p.gather.gather(c)
	}
	if len(concepts) == 0 {
		return 0
	}
	return concepts[0].docs
}

// lettersOnly reports whether a word consists of letters and marks.
func lettersOnly(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r)
	}) < 0
}
