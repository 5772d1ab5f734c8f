package index

import (
	"sort"
)

// A baseList is an immutable sorted list of entries. It takes about a tenth of the memory of a
// tree, and is used directly from the bytes of an image. Each name is stored once, followed by the
// numbers of its files; a path is stored once for all names.
type baseList struct {
	names texts   // distinct, sorted
	ends  numbers // by position of the name: the end of its files in files
	files numbers // positions in paths
	paths texts   // distinct, sorted
}

// len returns the number of entries.
func (f *baseList) len() int { return f.files.len() }

// newBaseList returns the list of these entries, which must be sorted and distinct.
func newBaseList(all []entry) *baseList {
	each := make([]string, len(all))
	for i := range all {
		each[i] = all[i].path
	}
	paths, position := numbered(each)
	l := newBaseListBuilder(0, len(all))
	for _, e := range all {
		l.add(e.name, position[e.path])
	}
	return &baseList{listOf(l.names), numbers(l.ends()), numbers(l.files), paths}
}

// A baseListBuilder builds the parts of a baseList, except for its paths. An imageWriter uses it
// too, because an image contains the same parts.
type baseListBuilder struct {
	names []string
	files []byte
	done  []byte // the ends of all names except the last one
}

// newBaseListBuilder returns a builder with memory for that many names and entries. It takes more of
// them, too.
func newBaseListBuilder(names, entries int) baseListBuilder {
	return baseListBuilder{
		names: make([]string, 0, names), files: make([]byte, 0, 4*entries), done: make([]byte, 0, 4*names),
	}
}

// add appends the next entry, given the position of its path. Entries must come in order.
func (l *baseListBuilder) add(name string, file int) {
	if n := len(l.names); n == 0 || l.names[n-1] != name {
		l.done = l.ends()
		l.names = append(l.names, name)
	}
	l.files = appendNumber(l.files, file)
}

// ends returns the ends of the files of all names so far, as numbers.
func (l *baseListBuilder) ends() []byte {
	if len(l.names) == 0 {
		return nil
	}
	return appendNumber(l.done, len(l.files)/4)
}

// isValid reports whether the list is valid: one that newBaseList could have returned. It is used
// on lists from images.
func (f *baseList) isValid() bool {
	return f.names.ascend() && (f.names.len() == 0 || f.names.at(0) != "") && f.paths.ascend() &&
		f.ends.len() == f.names.len() && f.ends.spans(f.files.len()) && f.ascends()
}

// ascends reports whether each name has at least one file, and valid positions of paths in
// ascending order.
func (f *baseList) ascends() bool {
	for i := range f.ends.len() {
		begin, end := f.ends.span(i)
		last := -1
		for at := begin; at < end; at++ {
			file := f.files.at(at)
			if file <= last || file >= f.paths.len() {
				return false
			}
			last = file
		}
		if begin == end {
			return false
		}
	}
	return true
}

// A baseCursor is at an entry of a baseList, or after the last one. It keeps the present name, so
// that the entries of one name do not read it again.
type baseCursor struct {
	*baseList
	number int    // position of the name
	name   string // the name at that position
	at     int    // position in files
	end    int    // end of the files of the name
}

// seek returns a cursor at the first entry that is not less than first. It is a binary search for
// the name, and one for the path among the files of the name.
func (f *baseList) seek(first entry) baseCursor {
	c := baseCursor{baseList: f}
	number, known := f.names.find(first.name)
	c.moveTo(number)
	if !known || first.path == "" {
		return c
	}
	from := f.paths.search(first.path)
	c.at += sort.Search(c.end-c.at, func(i int) bool { return f.files.at(c.at+i) >= from })
	if c.at == c.end {
		c.moveTo(number + 1)
	}
	return c
}

// moveTo moves the cursor to the first entry of the name at a position, or after the last entry if
// there is no such name.
func (c *baseCursor) moveTo(number int) {
	if c.number = number; c.valid() {
		c.name = c.names.at(number)
		c.at, c.end = c.ends.span(number)
	}
}

// valid reports whether the cursor is at an entry.
func (c *baseCursor) valid() bool { return c.number < c.names.len() }

// entry returns the entry at the cursor, which must be at one.
func (c *baseCursor) entry() entry { return entry{c.name, c.paths.at(c.files.at(c.at))} }

// next moves the cursor to the next entry, or after the last one.
func (c *baseCursor) next() {
	if c.at++; c.at == c.end {
		c.moveTo(c.number + 1)
	}
}
