package search

import (
	"bytes"
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Terms that Proven needs to conclude that the body of a note contains a word, ignoring case.
const (
	unsure = "!unsure" // of passages that allow no conclusion
	merged = "+"       // prefix of words written with joiners in the text: readfile for read-file
)

// Proven yields the paths of notes whose body certainly contains a word, ignoring case and
// whatever is around the word. Other notes can contain it too; Containing yields all candidates.
// If word does not consist of ASCII letters and digits, it yields nothing.
//
// A term as written shows that the text has these letters, unless the scanner changed them: then
// the passage has the term unsure. A term that joins an identifier, such as readfile for read-file,
// shows nothing, because the letters are not adjacent; such occurrences are counted in the term
// with prefix merged, and must not be all there are.
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

// proven returns the documents with a passage in the body in which a word contains the text word.
// They include deleted documents.
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

// postings returns a reader of the postings of a term; false if there is no such term.
func (s *segment) postings(name string) (postingReader, bool) {
	i := s.from(name)
	if i == s.terms() || s.name(i) != name {
		return postingReader{}, false
	}
	return s.list(i), true
}

// mergedBody counts a run that has a whole in the term of the whole with prefix merged.
func (b *builder) mergedBody(r *run) {
	if r.whole != nil {
		b.merged = append(append(b.merged[:0], merged...), r.whole...)
		b.count(fieldBody, b.id(b.merged))
	}
}

// changes reports whether normalization changed an atom of a run otherwise than by lowering its
// case.
func (r *run) changes(text []byte) bool {
	return slices.ContainsFunc(r.atoms, func(a atom) bool { return !isLowered(text[a.start:a.end], a.text) })
}

// isLowered reports whether text is from in lower case, so that a part of text, ignoring case, is
// a part of from.
func isLowered(from, text []byte) bool {
	if len(from) == len(text) && isASCIIOf(from, text) {
		return true
	}
	return bytes.Equal(bytes.ToLower(from), text) && !bytes.ContainsRune(from, 'İ')
}

// isASCIIOf reports whether two texts of the same length are ASCII and equal except for capital
// letters in from.
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
