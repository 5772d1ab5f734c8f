package index

// mostNamesakes is the largest number of notes with a name for which Named returns any.
const mostNamesakes = 20

// Named returns the paths of the notes that have text as a name: that of the file, the title, the
// name field or an alias. Case and word separators do not matter. It returns nil if more than 20
// notes have the name.
func (x *Index) Named(text string) []string {
	text = trimRef(text)
	if text == "" || len(text) > maxRef {
		return nil
	}
	s := newLookup(x, text)
	var paths []string
	for n := range x.notesBy(byName.name(s.bucket), "") {
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

// isName reports whether the reference is the id or a name of the note as a whole.
func (s *lookup) isName(n *Note) bool {
	if s.compare(n.ID, s.base) != differs {
		return true
	}
	for c := range s.x.namesIn(n) {
		if c.object.Section == nil && s.compare(c.name, s.base) != differs {
			return true
		}
	}
	return false
}
