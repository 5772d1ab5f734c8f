package index

import (
	"sort"
)

// A baseList is a sorted list of entries that is never changed. It is about a tenth of a tree of them, and
// stands in an image as it is used.
type baseList struct {
	names texts
	ends  numbers // of each name, where its files end
	files numbers // positions of paths
	paths texts
}

func (f *baseList) len() int { return f.files.len() }

// newFlat is the list of sorted entries, of which each is there once.
func newFlat(all []entry) *baseList {
	each := make([]string, len(all))
	for i := range all {
		each[i] = all[i].path
	}
	paths, position := numbered(each)
	var l flatLister
	for _, e := range all {
		l.add(e.name, position[e.path])
	}
	return &baseList{listOf(l.names), numbers(l.ends()), numbers(l.files), paths}
}

// A flatLister collects the parts of a flat.
type flatLister struct {
	names []string
	files []byte
	done  []byte // the ends, but for the one of the last name
}

// add takes the next entry, by the position of its path.
func (l *flatLister) add(name string, file int) {
	if n := len(l.names); n == 0 || l.names[n-1] != name {
		l.done = l.ends()
		l.names = append(l.names, name)
	}
	l.files = appendNumber(l.files, file)
}

// ends are the ends of the files of all names so far.
func (l *flatLister) ends() []byte {
	if len(l.names) == 0 {
		return nil
	}
	return appendNumber(l.done, len(l.files)/4)
}

// sound reports whether the list is one that newFlat could have made.
func (f *baseList) sound() bool {
	return f.names.ascend() && (f.names.len() == 0 || f.names.at(0) != "") && f.paths.ascend() &&
		f.ends.len() == f.names.len() && f.ends.spans(f.files.len()) && f.ascends()
}

// ascends reports whether each name has files, each once and in order, of those that there are.
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

// A baseCursor stands at an entry of a flat, or behind all.
type baseCursor struct {
	*baseList
	number int    // of the name
	name   string // of the number
	at     int    // position in files
	end    int    // of the files of the name
}

// seek is a cursor at the first entry that is not before another.
func (f *baseList) seek(first entry) baseCursor {
	c := baseCursor{baseList: f}
	number, known := f.names.find(first.name)
	c.turn(number)
	if !known || first.path == "" {
		return c
	}
	from := f.paths.search(first.path)
	c.at += sort.Search(c.end-c.at, func(i int) bool { return f.files.at(c.at+i) >= from })
	if c.at == c.end {
		c.turn(number + 1)
	}
	return c
}

// turn goes to the first entry of a name.
func (c *baseCursor) turn(number int) {
	if c.number = number; c.there() {
		c.name = c.names.at(number)
		c.at, c.end = c.ends.span(number)
	}
}

func (c *baseCursor) there() bool { return c.number < c.names.len() }

func (c *baseCursor) entry() entry { return entry{c.name, c.paths.at(c.files.at(c.at))} }

func (c *baseCursor) next() {
	if c.at++; c.at == c.end {
		c.turn(c.number + 1)
	}
}
