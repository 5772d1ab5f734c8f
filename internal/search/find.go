package search

import (
	"cmp"
	"fmt"
	"slices"
)

// DefaultLimit is how many hits a page has if Options does not say it.
const DefaultLimit = 20

// lookEvery is after how many notes it is asked whether the search is to end.
const lookEvery = 256

// mostRead is how many notes are read at most to see whether they hold a phrase.
const mostRead = 1000

// Options say what part of the results is wanted, and give access to the texts.
type Options struct {
	Limit  int                   // hits on a page; 0: DefaultLimit
	After  *Cursor               // the page behind this one; nil: the first
	Filter func(doc string) bool // which notes may be found; nil: all

	// Text is the text that the index has of a note. Without it hits have no snippets, and a phrase
	// is found wherever all its words stand in one unit. An error of it ends the search.
	Text func(doc string) ([]byte, error)

	// Snippet is how many bytes of a text a snippet shows at most; 0: 240; less: hits have none.
	Snippet int

	// Ended is asked from time to time why to stop. An error of it ends the search. Nil: nothing stops it.
	Ended func() error

	// Exact are the notes whose name is the query: they come first, if they are found.
	Exact []string

	// Tie orders two things of one score; nil: by path. What it compares as equal is ordered by path.
	Tie func(a, b string) int

	// Explain says to say of each hit why it was found. Constrained says that the filter holds what the caller asked for
	// beside the words, such as a kind or a tag.
	Explain, Constrained bool

	// Ahead is told of the notes whose texts are about to be asked for, some at a time. Nil: it is not.
	Ahead func(docs []string)
}

// A Cursor is a place in the results.
type Cursor struct {
	Score float64
	Doc   string
}

// Results are a page of what was found, the best first; of equal scores in the order of the paths,
// bytewise.
type Results struct {
	Items []Hit
	Total int // notes on all pages

	// Partial says that more notes might hold a phrase than were looked at: the best 1,000 are.
	Partial bool
}

// A Hit is a note that was found.
type Hit struct {
	Doc     string
	Unit    Passage  // the best of the note, or the field of its frontmatter
	Score   float64  // with four digits behind the point; 0 if the query only excludes
	Snippet string   // of the unit, in one line
	Ranges  [][2]int // what of the snippet was looked for: bytes from, up to
	Why     *Why     // if Options.Explain asks for it
}

// A Passage is the part of a note that a hit is about.
type Passage struct {
	LineStart int    // of the file, from 1
	Heading   string // that it stands under; empty before the first
}

// Cursor is the place of the hit.
func (h Hit) Cursor() *Cursor { return &Cursor{h.Score, h.Doc} }

// Search finds notes. The only errors are those of o.Text and o.Ended. A bounded number of searches run at once;
// the others wait for their turn. So o.Text, o.Filter and o.Ended must not search.
func (x *Index) Search(q Query, o Options) (Results, error) {
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Snippet == 0 {
		o.Snippet = snippetLength
	}
	x.analyzer.turns <- struct{}{}
	defer func() { <-x.analyzer.turns }()
	if o.Ended != nil { // while it waited
		if err := o.Ended(); err != nil {
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
	if o.Text == nil || !s.narrow() {
		page := ranking{most: o.Limit + 1, after: o.After, tie: o.Tie}
		if err := s.each(o.Filter, page.add); err != nil {
			return Results{}, err
		}
		return s.results(&page, page.total, false)
	}
	best := ranking{most: mostRead, tie: o.Tie}
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
	return s.results(&page, len(found), best.total > mostRead)
}

// A searcher answers one query.
type searcher struct {
	x *Index
	plan
	Options
	named  map[ref]bool // what has the query as its name
	ranker *ranker      // of a threaded profile
}

// name finds what has the query as its name.
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

// bonus is what a thing that has the query as its name scores on top: so much that all others are behind it.
func (s *searcher) bonus(layer, doc int) float64 {
	if len(s.named) == 0 || !s.named[ref{int32(layer), int32(doc)}] {
		return 0
	}
	p, most := &s.x.profile, 0.
	for _, c := range s.concepts {
		most += c.idf
	}
	return float64(most * (1 + max(p.secondShare, p.thread.share)) * max(p.thread.person, 1))
}

// narrow reports whether texts have to be read to know what is found. If so, as few as can be are
// left.
func (s *searcher) narrow() (reads bool) {
	scan := s.x.analyzer.scanner()
	for _, list := range [][]*requirement{s.must, s.never} {
		for _, r := range list {
			if r.phrase != nil {
				r.narrow(s.x, scan)
				reads = true
			}
		}
	}
	return reads
}

// each calls a function with the notes that have what the postings can tell, and which a filter admits.
func (s *searcher) each(filter func(string) bool, f func(scored)) error {
	step := 0
	for i := range s.x.layers {
		w := newWalker(s.x, i, s.concepts)
		for doc, ok := s.next(w, -1); ok; doc, ok = s.next(w, doc) {
			if step++; step%lookEvery == 0 && s.Ended != nil {
				if err := s.Ended(); err != nil {
					return err
				}
			}
			found := w.score(doc)
			if s.admits(i, doc) && (filter == nil || filter(found.path)) {
				if len(s.named) > 0 && !s.x.profile.isThreaded() {
					found.score += s.bonus(i, doc)
				}
				f(found)
			}
		}
	}
	return nil
}

// next is the note of a layer behind one: with any of the words, or, where the query only excludes,
// any at all.
func (s *searcher) next(w *walker, doc int) (int, bool) {
	if !s.all {
		return w.next()
	}
	for doc++; doc < len(w.docs); doc++ {
		if w.has(doc) {
			return doc, true
		}
	}
	return 0, false
}

// admits reports whether the postings allow a note.
func (s *searcher) admits(layer, doc int) bool {
	l := &s.x.layers[layer]
	head, end := l.docs[doc].head, l.end(doc)
	for _, r := range s.must {
		if len(r.within(layer, head, end)) == 0 {
			return false
		}
	}
	for _, r := range s.never {
		certain := r.phrase == nil || s.Text == nil
		if certain && len(r.within(layer, head, end)) > 0 {
			return false
		}
	}
	return true
}

// verified are the notes that hold the phrases that they must, and none that they must not.
func (s *searcher) verified(list []scored) ([]scored, error) {
	scan := s.x.analyzer.scanner()
	var kept []scored
	for i, f := range list {
		if s.Ended != nil {
			if err := s.Ended(); err != nil {
				return nil, err
			}
		}
		if i%manyAhead == 0 {
			s.ahead(list[i:min(i+manyAhead, len(list))])
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

// manyAhead is of how many notes Options.Ahead is told at once that may hold a phrase.
const manyAhead = 64

// ahead tells of notes whose texts are asked for next.
func (s *searcher) ahead(list []scored) {
	if s.Ahead == nil || len(list) == 0 {
		return
	}
	docs := make([]string, len(list))
	for i, f := range list {
		docs[i] = f.path
	}
	s.Ahead(docs)
}

// verify looks into a text. The unit that holds the phrase becomes the note's best.
func (s *searcher) verify(f *scored, r *reader) bool {
	for _, never := range s.never {
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
		if slot != r.docs[f.doc].head {
			unit = slot
		}
	}
	f.slot = unit
	return true
}

// A reader looks for phrases in the text of a note, which it reads when it must.
type reader struct {
	scan *scanner
	*liveSegment
	textOf func(doc string) ([]byte, error)
	text   []byte
	read   bool
	err    error // why the text could not be read: nothing is found then
}

// find is a slot that holds a phrase: the best unit if it does, else the first one.
func (r *reader) find(q *requirement, f *scored) (uint32, bool) {
	slots := q.within(f.layer, r.docs[f.doc].head, r.end(f.doc))
	if slices.Contains(slots, f.slot) && r.holds(f, f.slot, q.phrase) {
		return f.slot, true
	}
	for _, slot := range slots {
		if slot != f.slot && r.holds(f, slot, q.phrase) {
			return slot, true
		}
	}
	return 0, false
}

// holds reports whether a slot holds a phrase. Of a head that can only be told of the path; what
// else a note is called stands in its text.
func (r *reader) holds(f *scored, slot uint32, phrase []atom) bool {
	if slot == r.docs[f.doc].head {
		return r.scan.holds([]byte(f.path), phrase)
	}
	if !r.read {
		r.text, r.err = r.textOf(f.path)
		r.read = true
	}
	return r.err == nil && r.scan.holds(r.slots[slot].of(r.text), phrase)
}

// of is the part of the text that is of the span.
func (s span) of(text []byte) []byte {
	end := min(uint(s.end), uint(len(text)))
	return text[min(uint(s.start), end):end]
}

// results are a page.
func (s *searcher) results(page *ranking, total int, partial bool) (Results, error) {
	list, behind := page.list(), 0.
	if len(list) > s.Limit {
		list, behind = list[:s.Limit], list[s.Limit].score
	}
	r := Results{Items: make([]Hit, 0, len(list)), Total: total, Partial: partial}
	marker := newMarker(s.x.analyzer, s.concepts)
	marker.length = s.Snippet
	shows := s.Text != nil && s.Snippet > 0
	if shows {
		s.ahead(list)
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
			h.Snippet, h.Ranges = marker.snippet(shown.text)
		}
		r.Items = append(r.Items, h)
	}
	if s.Explain {
		s.explain(r.Items, list, page.first, behind)
	}
	return r, nil
}

// A ranking keeps the best notes behind a place.
type ranking struct {
	most  int
	after *Cursor
	tie   func(a, b string) int
	total int     // notes, before the place too
	first float64 // the best score of all
	kept  []scored
	last  *scored // of the best so far, when there are enough: what is behind it is not kept
}

func (r *ranking) add(f scored) {
	r.total++
	r.first = max(r.first, f.score)
	if r.after != nil && r.better(f, r.after.scored()) <= 0 {
		return
	}
	if r.last != nil && r.better(*r.last, f) < 0 {
		return
	}
	r.kept = append(r.kept, f)
	if len(r.kept) >= 2*r.most+64 {
		r.kept = r.list()
		r.last = &r.kept[len(r.kept)-1]
	}
}

// isBehind reports whether something with a score is behind as many as are wanted.
func (r *ranking) isBehind(score float64) bool {
	const rounding = 1e-4
	return r.last != nil && score < r.last.score-rounding
}

// list are the best, in order.
func (r *ranking) list() []scored {
	slices.SortFunc(r.kept, r.better)
	return r.kept[:min(r.most, len(r.kept))]
}

// scored is a note that would be there.
func (c *Cursor) scored() scored { return scored{layer: -1, score: c.Score, path: c.Doc} }

// better orders the best first, equals by the tie, and then by path.
func (r *ranking) better(a, b scored) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	if r.tie != nil {
		if c := r.tie(a.path, b.path); c != 0 {
			return c
		}
	}
	if a.layer == b.layer {
		return cmp.Compare(a.order, b.order)
	}
	return cmp.Compare(a.path, b.path)
}
