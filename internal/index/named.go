package index

// mostNamesakes is how many notes may have a name that is said to name them.
const mostNamesakes = 20

// Named returns the paths of the notes of which a text is a name: that of the file, the title, the name field or an
// alias, whatever its case and what parts its words. There are none if very many have the name.
func (x *Index) Named(text string) []string {
	text = trimRef(text)
	if text == "" || len(text) > maxRef {
		return nil
	}
	s := newLookup(x, text)
	var paths []string
	for n := range x.notesBy(byCalled.name(s.bucket), "") {
		if !s.isName(n) {
			continue
		}
		if len(paths) == mostNamesakes {
			return nil
		}
		paths = append(paths, n.Path)
	}
	return paths
}

// isName reports whether what is looked up is a name of a note as a whole, or its id.
func (s *lookup) isName(n *Note) bool {
	if s.compare(n.ID, s.base) != differs {
		return true
	}
	for c := range s.x.callings(n) {
		if c.object.Section == nil && s.compare(c.name, s.base) != differs {
			return true
		}
	}
	return false
}
