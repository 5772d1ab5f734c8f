package search

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Terms from which it follows that a note has a word in its body as it is, in whichever case; see Proven.
const (
	unsure = "!unsure" // of units of which nothing follows
	merged = "+"       // before words that stand in the text with joiners in them: read-file is readfile
)

// Proven yields the paths of notes whose body has a word in it, whatever its case and whatever is around it, where
// that follows from the words of the index. Others may have it too; Containing says which. Of a text that is not only
// ASCII letters and digits nothing follows.
func (x *Index) Proven(word string) iter.Seq[string] {
	plain := word != ""
	for i := range len(word) {
		c := word[i]
		plain = plain && c < utf8.RuneSelf && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)))
	}
	return func(yield func(string) bool) {
		if !plain {
			return
		}
		lowered := string(bytes.ToLower([]byte(word)))
		for i := range x.layers {
			l := &x.layers[i]
			docs := l.proven(lowered)
			for doc := range l.docs {
				if docs.has(doc) && l.has(doc) && !yield(l.path(doc)) {
					return
				}
			}
		}
	}
}

// proven are the notes of which a unit of the body has a word that contains another one.
func (s *segment) proven(word string) set {
	docs := s.set()
	not := make(set, (len(s.slots)+63)/64)
	if r, ok := s.postings(unsure); ok {
		for r.read() {
			not.add(int(r.slot))
		}
	}
	s.termsAround(asWritten, word, func(term int) {
		with := map[uint32]uint32{}
		if r, ok := s.postings(merged + s.name(term)[len(asWritten):]); ok {
			for r.read() {
				with[r.slot] = r.counts[fieldBody]
			}
		}
		for r := s.list(term); r.read(); {
			if !s.slots[r.slot].isHead() && r.counts[fieldBody] > with[r.slot] && !not.has(int(r.slot)) {
				docs.add(int(s.docOf[r.slot]))
			}
		}
	})
	return docs
}

// postings reads the postings of a term, if there is one of the name.
func (s *segment) postings(name string) (postingReader, bool) {
	i := s.from(name)
	if i == s.terms() || s.name(i) != name {
		return postingReader{}, false
	}
	return s.list(i), true
}

// mergedBody counts a run whose atoms are a word together, for a unit.
func (b *builder) mergedBody(r *run) {
	if r.whole != nil {
		b.merged = append(append(b.merged[:0], merged...), r.whole...)
		b.count(fieldBody, b.id(b.merged))
	}
}

// changes reports whether an atom of a run is other than in the text, its case aside.
func (r *run) changes(text []byte) bool {
	return slices.ContainsFunc(r.atoms, func(a atom) bool { return !isLowered(text[a.start:a.end], a.text) })
}

// isLowered reports whether a text is another one in lower case, so that what is in it is in that one too.
func isLowered(from, text []byte) bool {
	if len(from) == len(text) && isASCIIOf(from, text) {
		return true
	}
	return bytes.Equal(bytes.ToLower(from), text) && !bytes.ContainsRune(from, 'İ')
}

// isASCIIOf reports whether two texts of a length are the same but for the case of ASCII letters in the first.
func isASCIIOf(from, text []byte) bool {
	for i, c := range from {
		if 'A' <= c && c <= 'Z' {
			c |= ' '
		}
		if c >= utf8.RuneSelf || c != text[i] {
			return false
		}
	}
	return true
}
