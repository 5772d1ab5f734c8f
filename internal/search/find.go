package search

import (
	"cmp"
	"fmt"
	"slices"
)

// DefaultLimit is the number of hits on a page if Options.Limit is not positive.
const DefaultLimit = 20

// checkEvery is the number of notes after which the search calls Options.Canceled again.
const checkEvery = 256

// maxVerified is the maximum number of notes whose texts are read to verify phrases.
const maxVerified = 1000

// Options select a page of the results and give the search access to the texts. The zero value
// returns the first page, without snippets.
//
// Text, Filter, Canceled, Tie and Prefetch are called by the goroutine that calls Search.
type Options struct {
	Limit  int                   // hits on a page; 0: DefaultLimit
	After  *Cursor               // return the page after this cursor; nil: the first page
	Filter func(doc string) bool // reports whether a note can be found; nil: all notes

	// Text returns the indexed text of a note. If it is nil, hits have no snippets, and a phrase
	// matches every passage that has all its words, in any order. The search stops at its first
	// error and returns it.
	Text func(doc string) ([]byte, error)

	// Snippet is the maximum length of a snippet in bytes; 0: 240; negative: no snippets.
	Snippet int

	// Canceled is called from time to time. If it returns an error, the search stops and returns
	// that error. Nil: the search is never stopped.
	Canceled func() error

	// Exact are the paths of notes whose name is the query. They come first if they are found.
	Exact []string

	// Tie compares two documents with equal scores. Nil, or a result of 0: they are ordered by
	// path.
	Tie func(a, b string) int

	// Explain sets Hit.Why. Constrained says that Filter contains conditions that the caller
	// stated besides the words, such as a kind or a tag; see Structural.
	Explain, Constrained bool

	// Prefetch is called with batches of notes whose texts Text will be asked for next, so that the
	// caller can prefetch them. Nil: it is not called.
	Prefetch func(docs []string)
}

// A Cursor is a position in the results: that of the last hit of a page.
type Cursor struct {
	Score float64
	Doc   string
}

// Results are one page of the hits, ordered by descending score, then by Options.Tie, then by
// path (bytewise).
//
// Total counts all hits, not only those of the page; with Partial it is a lower bound.
type Results struct {
	Items []Hit
	Total int // notes on all pages

	// Partial reports that only the best 1,000 candidates were checked for a phrase, and that
	// more notes can contain it.
	Partial bool
}

// A Hit is a note, or a memory, that was found.
type Hit struct {
	Doc     string   // its path
	Unit    Passage  // the best passage of the note, or the field of its frontmatter
	Score   float64  // rounded to four decimal places; 0 if the query only excludes
	Snippet string   // an excerpt of the passage, in one line
	Ranges  [][2]int // the matches in the snippet: start and end offsets in bytes
	Why     *Why     // nil without Options.Explain
}

// A Passage identifies the part of a note that a hit is about.
type Passage struct {
	LineStart int    // first line in the file, from 1
	Heading   string // heading of the passage's section; empty before the first heading
}

// Cursor returns the position of the hit. Options.After with it selects the page that begins
// after the hit.
func (h Hit) Cursor() *Cursor { return &Cursor{h.Score, h.Doc} }

// Search returns the notes that match a query. It returns only errors of o.Text and o.Canceled. A
// limited number of searches run at once and the others wait, so o.Text, o.Filter and o.Canceled
// must not call Search: that can deadlock.
//
// The hits are those with any of the words of the query, all of its phrases, and nothing that it
// excludes. If the query only excludes, all other notes are hits, with score 0.
func (x *Index) Search(q Query, o Options) (Results, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	o.Snippet = cmp.Or(o.Snippet, snippetLength)
	x.analyzer.slots <- struct{}{}
	defer func() { <-x.analyzer.slots }()
	if o.Canceled != nil { // it can have changed during the wait
		if err := o.Canceled(); err != nil {
			return Results{}, err
		}
	}
	g := x.gatherer()
	defer g.release()
	s := &searcher{x: x, plan: g.plan(q), Options: o}
	s.name()
	if x.profile.isThreaded() {
		return s.threaded(g)
	}
	// Without phrases, or without texts to verify them, the postings decide which notes match, so
	// the page can be ranked in one pass.
	reads := o.Text != nil
	if reads {
		var err error
		if reads, err = s.narrow(); err != nil {
			return Results{}, err
		}
	}
	if !reads {
		page := ranking{most: o.Limit + 1, after: o.After, tie: o.Tie}
		if err := s.each(o.Filter, page.add); err != nil {
			return Results{}, err
		}
		return s.results(&page, page.total, false)
	}
	// Phrases must be verified in the texts, which is slow, so only the best candidates are read.
	// They are ranked without the cursor, so that all pages are parts of the same list.
	best := ranking{most: maxVerified, tie: o.Tie}
	if err := s.each(o.Filter, best.add); err != nil {
		return Results{}, err
	}
	found, err := s.verified(best.list())
	if err != nil {
		return Results{}, err
	}
	page := ranking{most: o.Limit + 1, after: o.After, tie: o.Tie}
	for _, f := range found {
		page.add(f)
	}
	return s.results(&page, len(found), best.total > maxVerified)
}

// A searcher runs one query.
//
// It must be used by one goroutine.
type searcher struct {
	x *Index
	plan
	Options
	named  map[ref]bool // documents whose name is the query
	ranker *ranker      // nil unless the profile is threaded
}

// name sets named to the documents whose name is the query, including those of Options.Exact.
func (s *searcher) name() {
	s.named = s.x.named(s.tokens)
	for _, path := range s.Exact {
		for i := range s.x.layers {
			l := &s.x.layers[i]
			if doc, ok := l.find(path); ok && l.has(doc) {
				s.named[ref{int32(i), int32(doc)}] = true
			}
		}
	}
}

// bonus returns the addition to the score of a document whose name is the query, which is greater
// than any score without it; 0 for other documents.
func (s *searcher) bonus(layer, doc int) float64 {
	if len(s.named) == 0 || !s.named[ref{int32(layer), int32(doc)}] {
		return 0
	}
	// A concept gains less than its idf, and the other parts of a score are shares of it.
	p, most := &s.x.profile, 0.
	for _, c := range s.concepts {
		most += c.idf
	}
	return float64(most * (1 + max(p.secondShare, p.thread.share)) * max(p.thread.person, 1))
}

// narrow reports whether texts must be read to verify phrases. If so, it first removes the slots
// that cannot contain the phrases. It returns an error of Options.Canceled.
func (s *searcher) narrow() (reads bool, err error) {
	scan := s.x.analyzer.scanner()
	for _, list := range [][]*requirement{s.must, s.mustNot} {
		for _, r := range list {
			if r.phrase == nil {
				continue
			}
			if err := r.narrow(s, scan); err != nil {
				return false, err
			}
			reads = true
		}
	}
	return reads, nil
}

// canceled returns an error of Options.Canceled, which it calls at each checkEvery-th step.
func (s *searcher) canceled(step int) error {
	if step%checkEvery != 0 || s.Canceled == nil {
		return nil
	}
	return s.Canceled()
}

// each calls f with each note that passes the filter and that, as far as the postings show,
// matches the query. It returns an error of Options.Canceled.
//
// Notes come in the order of layers, and in a layer in the order of their numbers.
func (s *searcher) each(filter func(string) bool, f func(scored)) error {
	step := 0
	for i := range s.x.layers {
		w := newWalker(s.x, i, s.concepts)
		w.required = s.rarest(i)
		for doc, ok := s.next(w, -1); ok; doc, ok = s.next(w, doc) {
			step++
			if err := s.canceled(step); err != nil {
				return err
			}
			if !s.admits(i, doc) || filter != nil && !filter(w.path(doc)) {
				w.skip(doc)
				continue
			}
			found := w.score(doc)
			if len(s.named) > 0 && !s.x.profile.isThreaded() {
				found.score = rounded(found.score + s.bonus(i, doc))
			}
			f(found)
		}
	}
	return nil
}

// rarest returns the slots of the required phrase with the fewest slots in a layer; nil if no phrase is
// required.
func (s *searcher) rarest(layer int) (slots []uint32) {
	for i, r := range s.must {
		if list := r.lists[layer]; i == 0 || len(list) < len(slots) {
			slots = list
		}
	}
	return slots
}

// next returns the next note of a layer after doc: one with any of the words and a slot of each required
// phrase or, if the query only excludes, any note that is not deleted.
func (s *searcher) next(w *walker, doc int) (int, bool) {
	switch {
	case len(s.must) > 0:
		return w.nextRequired()
	case !s.all:
		return w.next()
	}
	for doc++; doc < len(w.docs); doc++ {
		if w.has(doc) {
			return doc, true
		}
	}
	return 0, false
}

// admits reports whether a note meets the requirements, as far as the postings show.
func (s *searcher) admits(layer, doc int) bool {
	l := &s.x.layers[layer]
	head, end := l.docs[doc].head, l.end(doc)
	for _, r := range s.must {
		if len(r.within(layer, head, end)) == 0 {
			return false
		}
	}
	for _, r := range s.mustNot {
		// The postings of an excluded phrase do not show that the note contains the phrase.
		certain := r.phrase == nil || s.Text == nil
		if certain && len(r.within(layer, head, end)) > 0 {
			return false
		}
	}
	return true
}

// verified returns the notes of a list that contain all required phrases and no excluded one. It
// reads their texts.
//
// The order of the list is kept, and its memory is used for the result. The score of a note does not
// change, but its best passage can.
func (s *searcher) verified(list []scored) ([]scored, error) {
	scan := s.x.analyzer.scanner()
	kept := list[:0]
	for i, f := range list {
		if s.Canceled != nil {
			if err := s.Canceled(); err != nil {
				return nil, err
			}
		}
		if i%prefetchBatch == 0 {
			s.prefetch(list[i:min(i+prefetchBatch, len(list))])
		}
		r := reader{scan: scan, liveSegment: &s.x.layers[f.layer], textOf: s.Text}
		if s.verify(&f, &r) {
			kept = append(kept, f)
		}
		if r.err != nil {
			return nil, fmt.Errorf("read the text of a note found: %w", r.err)
		}
	}
	return kept, nil
}

// prefetchBatch is the number of notes in one call of Options.Prefetch while phrases are verified.
const prefetchBatch = 64

// prefetch passes notes to Options.Prefetch whose texts are read next.
func (s *searcher) prefetch(list []scored) {
	if s.Prefetch == nil || len(list) == 0 {
		return
	}
	docs := make([]string, len(list))
	for i, f := range list {
		docs[i] = f.path
	}
	s.Prefetch(docs)
}

// verify reports whether the text of a note meets the requirements that are phrases. The passage
// that contains a required phrase becomes the best passage of f. On an error of the reader its
// result is meaningless.
func (s *searcher) verify(f *scored, r *reader) bool {
	for _, never := range s.mustNot {
		if never.phrase == nil {
			continue
		}
		if _, ok := r.find(never, f); ok {
			return false
		}
	}
	unit := f.slot
	for _, must := range s.must {
		if must.phrase == nil {
			continue
		}
		slot, ok := r.find(must, f)
		if !ok {
			return false
		}
		// A phrase in the path has no passage.
		if slot != r.docs[f.doc].head {
			unit = slot
		}
	}
	f.slot = unit
	return true
}

// A reader looks for phrases in a note, and reads the text of the note on first use.
type reader struct {
	scan *scanner
	*liveSegment
	textOf func(doc string) ([]byte, error)
	text   []byte
	read   bool
	err    error // of textOf; then no phrase is found
}

// find returns a slot of a note that contains a phrase: the best passage if it does, else the
// first such slot. ok is false if there is none.
func (r *reader) find(q *requirement, f *scored) (uint32, bool) {
	slots := q.within(f.layer, r.docs[f.doc].head, r.end(f.doc))
	if slices.Contains(slots, f.slot) && r.contains(f, f.slot, q.phrase) {
		return f.slot, true
	}
	for _, slot := range slots {
		if slot != f.slot && r.contains(f, slot, q.phrase) {
			return slot, true
		}
	}
	return 0, false
}

// contains reports whether a slot contains a phrase. Of a head only the path is examined, because
// the title and the keywords of a note are in its text too.
func (r *reader) contains(f *scored, slot uint32, phrase []atom) bool {
	if slot == r.docs[f.doc].head {
		return r.scan.contains([]byte(f.path), phrase)
	}
	if !r.read {
		r.text, r.err = r.textOf(f.path)
		r.read = true
	}
	return r.err == nil && r.scan.contains(r.slots[slot].of(r.text), phrase)
}

// of returns the part of a text that a span covers. Offsets after the end of the text are
// clamped.
func (s span) of(text []byte) []byte {
	end := min(uint(s.end), uint(len(text)))
	return text[min(uint(s.start), end):end]
}

// results returns a page with its snippets and, with Options.Explain, its explanations.
func (s *searcher) results(page *ranking, total int, partial bool) (Results, error) {
	list, behind := page.list(), 0.
	if len(list) > s.Limit {
		list, behind = list[:s.Limit], list[s.Limit].score
	}
	r := Results{Items: make([]Hit, 0, len(list)), Total: total, Partial: partial}
	shows := s.Text != nil && s.Snippet > 0
	var marker *marker
	var has []bool
	if shows {
		marker = newMarker(s.x.analyzer, s.concepts)
		marker.length = s.Snippet
		s.prefetch(list)
	}
	for _, f := range list {
		l := &s.x.layers[f.layer]
		u := l.slots[f.slot].span
		h := Hit{Doc: f.path, Unit: Passage{int(u.line), l.heading(f.slot)}, Score: f.score}
		if shows {
			text, err := s.Text(f.path)
			if err != nil {
				return Results{}, fmt.Errorf("read the text of a note found: %w", err)
			}
			shown := s.passage(marker, f, text)
			h.Unit = shown.unit
			has = s.conceptsIn(has, f, shown)
			h.Snippet, h.Ranges = marker.snippet(shown.text, has)
		}
		r.Items = append(r.Items, h)
	}
	if s.Explain {
		s.explain(r.Items, list, page.first, behind)
	}
	return r, nil
}

// A ranking collects the best notes after a cursor.
type ranking struct {
	most  int // maximum number of notes
	after *Cursor
	tie   func(a, b string) int
	total int     // number of notes, including those before the cursor
	first float64 // best score, including those before the cursor
	kept  []scored
	last  *scored // the last of the best so far, once there are enough; notes after it are dropped
}

// add adds a note, unless it is before the cursor or cannot be among the best.
//
// It keeps at most twice as many notes as the page needs, and some more.
func (r *ranking) add(f scored) {
	r.total++
	r.first = max(r.first, f.score)
	if r.after != nil && r.better(f, r.after.scored()) <= 0 {
		return
	}
	// As many better notes are known already.
	if r.last != nil && r.better(*r.last, f) < 0 {
		return
	}
	r.kept = append(r.kept, f)
	// Sorting only when the list has doubled keeps the average cost of a note low.
	if len(r.kept) >= 2*r.most+64 {
		r.kept = r.list()
		r.last = &r.kept[len(r.kept)-1]
	}
}

// list returns the best notes in order. The ranking keeps the slice.
func (r *ranking) list() []scored {
	slices.SortFunc(r.kept, r.better)
	return r.kept[:min(r.most, len(r.kept))]
}

// scored returns a note that compares like the position of the cursor.
func (c *Cursor) scored() scored { return scored{layer: -1, score: c.Score, path: c.Doc} }

// better compares two notes by descending score, then by tie, then by path.
func (r *ranking) better(a, b scored) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if r.tie != nil {
		if c := r.tie(a.path, b.path); c != 0 {
			return c
		}
	}
	// In one layer, the order of the paths is known without comparing them.
	if a.layer == b.layer {
		return cmp.Compare(a.order, b.order)
	}
	return cmp.Compare(a.path, b.path)
}
