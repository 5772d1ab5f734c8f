package imagecode

import "strings"

// An owned gives the texts of a record one piece of memory that is not the image's.
type owned struct {
	mode   ownMode
	data   []byte // the texts so far, one after the other
	texts  []ownedText
	values []ownedValue
}

// An ownMode says in which memory the texts are that a Coder decodes.
type ownMode int

const (
	inImage  ownMode = iota // a part of the image
	inRecord                // one piece for all texts until EndOwn
	inPieces                // one piece for each text
)

// An ownedText is a text that gets its memory at EndOwn.
type ownedText struct {
	text *string
	at   int // its offset in data
}

// An ownedValue is a value that is made of its text at EndOwn.
type ownedValue struct {
	value    *any
	of       func(string) any
	at, size int // the range of the text in data
}

// Own begins a record: the texts that a decoder decodes until EndOwn do not keep the image in memory.
// Their addresses must be valid until then. An encoder ignores it.
func (c *Coder) Own() {
	if c.decodes {
		c.owned.mode = inRecord
	}
}

// EndOwn ends a record. Its texts get one piece of memory, which has the size of all of them; those of
// a large record get several.
func (c *Coder) EndOwn() {
	c.owned.settle()
	c.owned.mode = inImage
}

// mostUnsettled is the largest number of texts in a piece of memory. It bounds what a decoder needs for
// a record with many short texts.
const mostUnsettled = 1024

// settle gives the texts so far their memory.
func (o *owned) settle() {
	all := string(o.data)
	for _, t := range o.texts {
		*t.text = all[t.at : t.at+len(*t.text)]
	}
	for _, v := range o.values {
		*v.value = v.of(all[v.at : v.at+v.size])
	}
	clear(o.texts)
	clear(o.values)
	o.data, o.texts, o.values = o.data[:0], o.texts[:0], o.values[:0]
}

// store adds bytes of an image to the data and returns their offset.
func (o *owned) store(s string) int {
	if len(o.texts)+len(o.values) >= mostUnsettled {
		o.settle()
	}
	o.data = append(o.data, s...)
	return len(o.data) - len(s)
}

// add adds a text that was decoded and is a part of the image.
func (o *owned) add(s *string) {
	switch {
	case *s == "":
		*s = "" // an empty part of the image keeps it in memory too
	case o.mode == inRecord:
		at := o.store(*s)
		o.texts = append(o.texts, ownedText{text: s, at: at})
	case o.mode == inPieces:
		*s = strings.Clone(*s)
	}
}

// split gives each of the next texts of a record a piece of memory, because their addresses are not
// valid until EndOwn. It returns the mode before.
func (o *owned) split() ownMode {
	mode := o.mode
	if mode == inRecord {
		o.mode = inPieces
	}
	return mode
}

// Value codes a value that is made of a text. text is that of an encoder; a decoder sets the value to
// of of the text, at EndOwn if it decodes a record.
func (c *Coder) Value(value *any, text string, of func(string) any) {
	n := len(text)
	c.Natural(&n)
	if !c.decodes {
		c.Out = append(c.Out, text...)
		return
	}
	o := &c.owned
	text = c.take(n)
	switch o.mode {
	case inRecord:
		at := o.store(text)
		o.values = append(o.values, ownedValue{value, of, at, len(text)})
	case inPieces:
		*value = of(strings.Clone(text))
	default:
		*value = of(text)
	}
}

// Passing codes a text that the caller does not keep. A decoded one is a part of the image, also in a
// record.
func (c *Coder) Passing(s *string) {
	n := len(*s)
	c.Natural(&n)
	if c.decodes {
		*s = c.take(n)
	} else {
		c.Out = append(c.Out, *s...)
	}
}
