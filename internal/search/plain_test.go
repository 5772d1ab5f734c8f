package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A plain computes the scores of an index as its definitions state them: it reads all postings
// of each query, sorts whole lists, and keeps and skips nothing.
type plain struct {
	*Index
	plan
	occurrences []map[ref]map[uint32]float32 // by concept, document and slot
	idf         []float64
}

// A plainHit is a document with its score.
type plainHit struct {
	of    ref
	score float64
}

// newPlain reads the postings of all concepts of a query.
func newPlain(x *Index, q Query) *plain {
	g := x.gatherer()
	defer g.release()
	p := &plain{Index: x, plan: g.plan(q)}
	norms := x.norms()
	for _, c := range p.concepts {
		found := map[ref]map[uint32]float32{}
		for i := range x.layers {
			l := &x.layers[i]
			for _, f := range c.forms {
				for term := range l.terms() {
					name := l.name(term)
					if is := name == f.term || f.prefix && strings.HasPrefix(name, f.term); !is {
						continue
					}
					for r := l.list(term); r.read(); {
						of := ref{int32(i), int32(l.docOf[r.slot])}
						if !l.has(int(of.doc)) {
							continue
						}
						if found[of] == nil {
							found[of] = map[uint32]float32{}
						}
						found[of][r.slot] += float32(float32(f.weight) * float32(norms.count(&l.slots[r.slot], &r.counts)))
					}
				}
			}
		}
		n, df := float64(x.totals.notes), float64(len(found))
		p.occurrences = append(p.occurrences, found)
		p.idf = append(p.idf, c.weight*math.Log1p((n-df+.5)/(df+.5)))
	}
	return p
}

// gain returns the gain of a concept.
func (p *plain) gain(concept int, count float64) float64 {
	if count == 0 {
		return 0
	}
	return p.idf[concept] * (count / (count + p.profile.k1))
}

// head and passage return the occurrences of a concept in a document of memories.
func (p *plain) head(concept int, of ref) float32 {
	return p.occurrences[concept][of][p.layers[of.layer].docs[of.doc].head]
}

func (p *plain) passage(concept int, of ref) float32 {
	if of == noRef {
		return 0
	}
	return p.occurrences[concept][of][p.layers[of.layer].docs[of.doc].head+1]
}

// live returns all documents that are not deleted.
func (p *plain) live() []ref {
	var all []ref
	for i := range p.layers {
		for doc := range p.layers[i].docs {
			if p.layers[i].has(doc) {
				all = append(all, ref{int32(i), int32(doc)})
			}
		}
	}
	return all
}

func (p *plain) path(of ref) string { return p.layers[of.layer].path(int(of.doc)) }

// notes returns the notes that have a word of the query, with their scores.
func (p *plain) notes() []plainHit {
	var all []plainHit
	for _, of := range p.live() {
		l, common := &p.layers[of.layer], 0.
		head, gains, isFound := l.docs[of.doc].head, map[uint32]float64{}, false
		for i := range p.concepts {
			slots, inHead := p.occurrences[i][of], float64(p.head(i, of))
			common += p.gain(i, inHead)
			for slot, count := range slots {
				if isFound = true; slot != head {
					gains[slot] += p.gain(i, inHead+float64(count)) - p.gain(i, inHead)
				}
			}
		}
		if !isFound {
			continue
		}
		best, second := 0., 0.
		for _, slot := range slices.Sorted(maps.Keys(gains)) {
			switch gain := gains[slot]; {
			case gain > best:
				best, second = gain, best
			case gain > second:
				second = gain
			}
		}
		score := common + best
		if len(gains) > 1 {
			score += float64(p.profile.secondShare * (common + second))
		}
		all = append(all, plainHit{of, math.Round(score*1e4) / 1e4})
	}
	return all
}

// chains returns the documents in threads, in order, each with the next one unless a gap separates
// them.
func (p *plain) chains() (next, before map[ref]ref) {
	var all []ref
	for _, of := range p.live() {
		if p.member(of).inThread() {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, p.compareRefs)
	next, before = map[ref]ref{}, map[ref]ref{}
	for i := 1; i < len(all); i++ {
		a, b := p.member(all[i-1]), p.member(all[i])
		if a.thread == b.thread && b.at()-a.at() <= p.profile.thread.gap.Milliseconds() {
			next[all[i-1]], before[all[i]] = all[i], all[i-1]
		}
	}
	return next, before
}

// or returns the document that follows another one in a chain; noRef if there is none.
func or(chain map[ref]ref, of ref) ref {
	if next, ok := chain[of]; ok {
		return next
	}
	return noRef
}

// person returns the name of the one person that the query names; "" if there is none.
func (p *plain) person() string {
	names := map[string]map[string]bool{} // by name, the terms that documents have
	for i := range p.layers {
		l := &p.layers[i]
		for term := range l.terms() {
			if r := l.list(term); strings.HasPrefix(l.name(term), personWord) && l.read(&r) {
				name := nameOf(l.name(term))
				if names[name] == nil {
					names[name] = map[string]bool{}
				}
				names[name][l.name(term)] = true
			}
		}
	}
	words := p.correctedWords()
	possible := slices.Collect(maps.Keys(names))
	restricted := false
	restrict := func(matches func(name string) bool) {
		if slices.ContainsFunc(slices.Collect(maps.Keys(names)), matches) {
			restricted = true
			possible = slices.DeleteFunc(possible, func(name string) bool { return !matches(name) })
		}
	}
	for i, word := range words {
		if p.analyzer.stops[word] || utf8.RuneCountInString(word) < 2 || !strings.ContainsFunc(word, unicode.IsLetter) {
			continue
		}
		restrict(func(name string) bool { return names[name][personWord+word+" "+name] })
		for n := 2; n <= min(len(words)-i, maxNameWords); n++ {
			whole := strings.Join(words[i:i+n], " ")
			restrict(func(name string) bool { return name == whole && names[name][personName+whole] })
		}
	}
	if !restricted {
		return ""
	}
	if len(possible) > 1 {
		possible = slices.DeleteFunc(possible, func(name string) bool { return !hasAll(words, name) })
	}
	if len(possible) != 1 {
		return ""
	}
	return possible[0]
}

// memories returns the memories that the query finds: those that are scored in full, of which the
// first best are the candidates, and the others.
func (p *plain) memories() (full []plainHit, best int, others []plainHit) {
	t := &p.profile.thread
	own := map[ref]float64{}
	for i, c := range p.concepts {
		for of := range p.occurrences[i] {
			if !c.late {
				own[of] += p.gain(i, float64(p.head(i, of))+float64(p.passage(i, of)))
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(own), func(a, b ref) int {
		return cmp.Or(cmp.Compare(own[b], own[a]), p.member(a).compareMerit(p.member(b)), cmp.Compare(p.path(a), p.path(b)))
	})
	chosen := order[:min(len(order), t.candidates)]
	best = len(chosen)
	named := p.named(p.tokens)
	for of := range named {
		if !slices.Contains(chosen, of) {
			chosen = append(slices.Clip(chosen), of)
		}
	}
	next, before := p.chains()
	list := slices.Clone(chosen)
	for _, of := range chosen {
		b, n := or(before, of), or(next, of)
		for _, near := range []ref{b, or(before, b), n, or(next, n)} {
			if near != noRef && !slices.Contains(list, near) {
				list = append(list, near)
			}
		}
	}
	text := map[ref]float64{}
	for _, of := range list {
		b, n := or(before, of), or(next, of)
		for i := range p.concepts {
			others := p.passage(i, or(before, b)) + p.passage(i, n) + p.passage(i, or(next, n))
			text[of] += p.gain(i, float64(p.head(i, of)+p.passage(i, of))+
				float64(t.previous*float64(p.passage(i, b)))+float64(t.others*float64(others)))
		}
	}
	thread := p.shares(list, text)
	person, most := p.person(), 0.
	for _, idf := range p.idf {
		most += idf
	}
	bonus := func(of ref) float64 {
		if !named[of] {
			return 0
		}
		return float64(most * (1 + max(p.profile.secondShare, t.share)) * max(t.person, 1))
	}
	for _, of := range list {
		score := text[of] + 0 + thread[of]
		if person != "" && p.isOf(of, person) {
			score += float64((t.person - 1) * (text[of] + 0 + thread[of]))
		}
		full = append(full, plainHit{of, math.Round((score+bonus(of))*1e4) / 1e4})
	}
	for _, of := range order {
		if !slices.Contains(list, of) {
			others = append(others, plainHit{of, math.Round((float64((1+t.share)*own[of])+bonus(of))*1e4) / 1e4})
		}
	}
	return full, best, others
}

// shares returns the share of each document in the best score of its thread.
func (p *plain) shares(list []ref, text map[ref]float64) map[ref]float64 {
	t, thread := &p.profile.thread, map[ref]float64{}
	for _, of := range list {
		best := text[of]
		if p.member(of).inThread() {
			// The documents that are connected with it by others of the list.
			for _, forward := range []bool{false, true} {
				at := of
				for {
					near := p.nearest(list, at, forward)
					if near == noRef {
						break
					}
					best, at = max(best, text[near]), near
				}
			}
		}
		thread[of] = float64(t.share * best)
	}
	return thread
}

// nearest returns the document of a list that is directly before or after another one in its thread;
// noRef if there is none, or a gap separates them.
func (p *plain) nearest(list []ref, at ref, forward bool) ref {
	found, m := noRef, p.member(at)
	sign := -1
	if forward {
		sign = 1
	}
	for _, of := range list {
		if p.member(of).thread == m.thread && sign*p.compareRefs(of, at) > 0 &&
			(found == noRef || sign*p.compareRefs(of, found) < 0) {
			found = of
		}
	}
	if found != noRef && int64(sign)*(p.member(found).at()-m.at()) > p.profile.thread.gap.Milliseconds() {
		return noRef
	}
	return found
}

// isOf reports whether a document is of a person.
func (p *plain) isOf(of ref, name string) bool {
	l := &p.layers[of.layer]
	first, _, _ := strings.Cut(name, " ")
	for _, term := range []string{personName + name, personWord + first + " " + name} {
		if r, ok := l.postings(term); ok {
			for r.read() {
				if int32(l.docOf[r.slot]) == of.doc {
					return true
				}
			}
		}
	}
	return false
}

// page returns the paths and scores of a page of results, and their total.
func (p *plain) page(o Options) (items []string, total int) {
	var list []plainHit
	passes := func(h plainHit) bool { return o.Filter == nil || o.Filter(p.path(h.of)) }
	if p.profile.isThreaded() {
		full, best, others := p.memories()
		enough := 0
		for i, h := range full {
			if passes(h) && i < best {
				enough++
			}
		}
		list = full
		if o.After != nil || enough <= o.Limit {
			list = append(list, others...)
		} else {
			for _, h := range others {
				if passes(h) {
					total++
				}
			}
		}
	} else {
		list = p.notes()
	}
	list = slices.DeleteFunc(slices.Clone(list), func(h plainHit) bool { return !passes(h) })
	slices.SortFunc(list, func(a, b plainHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(p.path(a.of), p.path(b.of)))
	})
	for _, h := range list {
		isBefore := o.After != nil && (h.score > o.After.Score || h.score == o.After.Score && p.path(h.of) <= o.After.Doc)
		if !isBefore && len(items) < o.Limit {
			items = append(items, fmt.Sprint(p.path(h.of), " ", h.score))
		}
	}
	return items, total + len(list)
}

// samePage requires of a search the page that the plain index has, and returns its last hit.
func samePage(t require.TestingT, x *Index, text string, o Options) *Cursor {
	r, err := x.Search(PlainQuery(text), o)
	require.NoError(t, err)
	var items []string
	for _, h := range r.Items {
		items = append(items, fmt.Sprint(h.Doc, " ", h.Score))
	}
	want, total := newPlain(x, PlainQuery(text)).page(o)
	require.Equal(t, want, items, text)
	require.Equal(t, total, r.Total, text)
	if len(r.Items) == 0 {
		return nil
	}
	return r.Items[len(r.Items)-1].Cursor()
}

// A texter makes random texts and queries of few words, so that many documents have the same ones.
type texter struct{ *rand.Rand }

func (r texter) word() string {
	words := strings.Fields("ferry ferries lantern lanterns mends mending the and Ada Lovelace ann release-bot readFile " +
		"Größe größen 灯塔市场 naïve naive harbour may monday 2026 x")
	return words[int(float64(len(words))*r.Float64()*r.Float64())]
}

func (r texter) text(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = r.word()
		if r.IntN(60) == 0 {
			words[i] += "s"
		}
	}
	return strings.Join(words, " ")
}

// memory returns a random memory.
func (r texter) memory(i int) *Note {
	who := []string{"", "ann", "Ada", "Ada Lovelace", "release bot"}[r.IntN(5)]
	m := &MemoryFields{
		Author: who, Merit: float64(r.IntN(3)) / 2, Seq: uint64(i), Record: r.IntN(2) == 0,
		Date: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(200)) * time.Hour),
	}
	if who != "" {
		m.Persons = []Person{{Name: who, Whole: strings.HasPrefix(who, "release")}}
	}
	if thread := r.IntN(12); thread > 0 {
		m.Thread = fmt.Sprint("thread ", thread)
	}
	if r.IntN(3) == 0 {
		m.Facts = []string{r.text(3)}
	}
	text := r.text(1 + r.IntN(1+r.IntN(40)))
	if m.Name = text; r.IntN(2) == 0 {
		m.Name = ""
	}
	return &Note{Text: []byte(text), Keywords: []string{r.word()}, Memory: m}
}

// note returns a random note of some sections.
func (r texter) note() *Note {
	n := &Note{Title: r.text(2), Keywords: []string{r.word()}}
	for range 1 + r.IntN(4) {
		heading := r.text(1 + r.IntN(3))
		n.Sections = append(n.Sections, Section{heading, len(n.Text)})
		n.Text = append(n.Text, "# "+heading+"\n"+r.text(1+r.IntN(60))+"\n"...)
	}
	return n
}

// plainIndex returns an index of a random history of documents.
func plainIndex(r texter, p Profile, n int) *Index {
	x := New(p, "english")
	for from := 0; from < n; {
		var batch []Change
		for range min(1+r.IntN(n), n-from) {
			doc := fmt.Sprintf("d%d.md", from*7%n)
			c := Change{Doc: doc, Note: r.note()}
			if p.isThreaded() {
				c.Note = r.memory(from)
			}
			batch = append(batch, c)
			if from++; r.IntN(9) == 0 {
				batch = append(batch, Change{Doc: fmt.Sprintf("d%d.md", r.IntN(n)), Deleted: true})
			}
		}
		x = x.With(batch)
	}
	return x
}

// TestRankingIsThatOfThePlainWay: hits, order, scores and totals are those of an index that reads, scores
// and sorts everything.
func TestRankingIsThatOfThePlainWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := texter{rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))}
		p := []Profile{Notes(), Memories()}[r.IntN(2)]
		x := plainIndex(r, p, 1+r.IntN(1+r.IntN(700)))
		for range 4 {
			o := Options{Limit: []int{1, 5, 20, 1 << 20}[r.IntN(4)]}
			if r.IntN(3) == 0 {
				o.Filter = func(doc string) bool { return strings.Contains(doc, "3") }
			}
			query := r.text(1 + r.IntN(9))
			o.After = samePage(t, x, query, o)
			samePage(t, x, query, o)
		}
	})
}
