package index

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/imagecode"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A coder encodes or decodes the records of an image. Exactly one of w and r is set. Each method
// describes a record for both directions: the order of its calls is the order of the members in the
// image, which is part of the format; see ImageFormat. The minimum sizes of elements bound the
// memory that a damaged number of elements can allocate.
//
// The blocks of an image are decoded by several goroutines. Each has a coder of its own, and they
// share the lists of times, mentions and values, which are complete by then. Everything else that
// is decoded, texts included, belongs to one file, with no memory shared between files: a file that
// is replaced later is garbage then, although the other files of the image are in use.
type coder struct {
	imagecode.Coder
	w     *imageWriter
	r     *imageReader
	pools *pools

	declaration declaration // of the section that is coded; a new one for each would be garbage
}

// word codes texts as their numbers. It is for texts that occur often: types, tags, names of fields
// and of entries. Texts that rarely occur twice are coded by Text.
func (c *coder) word(all ...*string) {
	for _, s := range all {
		if c.w != nil {
			n := c.w.textNumber(*s)
			c.Natural(&n)
		} else {
			*s = c.r.text(&c.Coder)
		}
	}
}

// words codes a list of such texts.
func (c *coder) words(lists ...*[]string) {
	for _, all := range lists {
		for i := range imagecode.List(&c.Coder, all, 1) {
			c.word(&(*all)[i])
		}
	}
}

// days codes a list of dates.
func (c *coder) days(all *[]vault.Date) {
	for i := range imagecode.List(&c.Coder, all, 1) {
		c.word((*string)(&(*all)[i]))
	}
}

// scope codes the position of a section, less than sections, or -1 for the note. A decoder fails
// for any other number, because the position is used as an index without another check.
func (c *coder) scope(v *int, sections int) {
	if c.Int(v); c.Decodes() && (*v < -1 || *v >= sections) {
		c.Fail()
		*v = -1
	}
}

// scope16 codes the same as scope.
func (c *coder) scope16(v *int16, sections int) {
	n := int(*v)
	c.scope(&n, sections)
	setSmall(c, v, n)
}

// natural32 codes numbers that must not be negative.
func (c *coder) natural32(all ...*int32) {
	for _, v := range all {
		n := int(*v)
		c.Natural(&n)
		setSmall(c, v, n)
	}
}

// signed32 codes numbers that can be negative.
func (c *coder) signed32(all ...*int32) {
	for _, v := range all {
		n := int(*v)
		c.Int(&n)
		setSmall(c, v, n)
	}
}

// delta32 codes a number as the difference to the one before it, and sets last to the number.
func (c *coder) delta32(v *int32, last *int) {
	n := int(*v)
	c.Delta(&n, last)
	setSmall(c, v, n)
}

// setSmall sets a decoded number. It fails if the number does not fit.
func setSmall[T int8 | int16 | int32](c *coder, v *T, n int) {
	if !c.Decodes() {
		return
	}
	if *v = T(n); int(*v) != n {
		*v = 0
		c.Fail()
	}
}

// file codes a file, except for its path: its size, digest, place in the log and version, a byte of
// flags, and then the folder and the note in it, if it has one. A hidden note is coded like any
// other, but is not the Note of its file.
func (c *coder) file(f *File) {
	c.Natural(&f.Size)
	c.Raw(f.Digest[:])
	c.Uint(&f.Body.Run)
	c.Int(&f.Body.Part)
	c.Uint(&f.Version)
	n := f.parsed()
	isNote, isFolder, isHidden := n != nil, f.Folder != nil, f.Hidden != nil
	isCrowded, isExcluded := isNote && n.Unindexed() > 0, isNote && n.Excluded
	c.Flags(&isNote, &isCrowded, &isExcluded, &isFolder, &isHidden)
	if isFolder {
		if c.Decodes() {
			f.Folder = &Folder{}
		}
		c.folder(f.Folder)
	}
	if !isNote {
		return
	}
	if c.Decodes() {
		n = &Note{File: f, ID: strings.TrimSuffix(f.Path, ".md"), Excluded: isExcluded}
		if f.Note = n; isHidden {
			f.Hidden, f.Note = n, nil
		}
	}
	if isCrowded {
		c.natural32(&n.unindexed)
	}
	c.natural32(&n.units)
	c.note(n)
}

// note codes a note. Values that follow from others are not in the image: the ID follows from the
// path, and the marks from the types. Values that depend on the schema are, because a decoder does
// not have the texts from which they could be computed.
func (c *coder) note(n *Note) {
	c.node(&n.NodePart)
	c.word(&n.DeclaredType, &n.Type)
	c.Text(&n.Title, &n.TitleSlug)
	c.natural32(&n.lineCount, &n.bodyStart, &n.bodyLine)
	c.Time(&n.Created, &n.Modified)
	c.problem(&n.problem)
	isQuarantined := n.Quarantine() != nil
	if c.Flags(&isQuarantined); c.Decodes() {
		n.quarantined = isQuarantined
	}
	c.fields(&n.Fields)
	c.facets(&n.facets)
	c.card(&n.card)
	c.sections(n)
	c.pins(n)
	c.annotations(n)
	// After a failure, the lengths that markTypes relies on may not fit each other.
	if c.Decodes() && !c.Failed() {
		n.markTypes(make([]byte, n.markCount()))
	}
	c.refs(n)
	c.links(n)
	c.tags(&n.Tags, len(n.Sections))
	imagecode.Map(&c.Coder, &n.Blocks, 2, func(id *string, line *int) {
		c.Text(id)
		c.Int(line)
	})
	c.words(&n.names, &n.fieldNames)
	fieldDays := n.fieldDays.all()
	if c.days(&fieldDays); c.Decodes() {
		n.fieldDays = newDayList(fieldDays)
	}
}

// node codes the parts of a note, a section or a folder that belong to its node.
func (c *coder) node(p *NodePart) {
	c.Raw(p.UID[:])
	c.natural32(&p.BodyBytes)
	c.Flags(&p.Embeds)
}

// folder codes the description of a folder from its own file.
func (c *coder) folder(f *Folder) {
	c.node(&f.NodePart)
	c.word(&f.DeclaredType)
	c.Text(&f.Title)
	c.fields(&f.Fields)
	c.tags(&f.Tags, 0)
	c.Time(&f.Created, &f.Modified)
	c.problem(&f.Problem)
}

// problem codes a parse error, which can be nil.
func (c *coder) problem(p **markdown.Problem) {
	if imagecode.Set(&c.Coder, p) {
		c.Int(&(*p).Line)
		c.Text(&(*p).Message)
	}
}

// fields codes a list of fields.
func (c *coder) fields(all *[]Field) {
	for i := range imagecode.List(&c.Coder, all, 3) {
		f := &(*all)[i]
		c.word(&f.Name)
		c.value(&f.Value, maxNesting)
		c.Int(&f.Line)
	}
}

// facets codes facets, which can be nil.
func (c *coder) facets(p **Facets) {
	if imagecode.Set(&c.Coder, p) {
		f := *p
		c.words(&f.Fields, &f.Tags, &f.Types, &f.Statuses)
	}
}

// card codes a card, which can be nil. Title, date and words are unique texts in most notes; the
// other texts are shared.
func (c *coder) card(p **Card) {
	card := *p
	set := card != nil
	ownProject, isRare := set && card.ownProject, set && card.rare != nil
	if c.Flags(&set, &ownProject, &isRare); !set {
		return
	}
	if c.Decodes() {
		card = &Card{ownProject: ownProject}
		if *p = card; isRare {
			card.rare = &rareCard{}
		}
	}
	c.Text(&card.Title, &card.Date)
	c.word(&card.project)
	c.words(&card.Tags)
	for i := range imagecode.List(&c.Coder, &card.Words, 1) {
		c.Text(&card.Words[i])
	}
	if isRare {
		c.word(card.rare.texts()...)
		c.words(&card.rare.entities)
	}
}

// sections codes the sections of a note. A decoder fails if their number does not fit in 16 bits.
func (c *coder) sections(n *Note) {
	for i := range imagecode.List(&c.Coder, &n.Sections, 30) {
		s := &n.Sections[i]
		setSmall(c, &s.number, i)
		c.section(s)
	}
}

// section codes a section, whose number is known. The values of a node follow only if the section
// is one: then the flag Top is set. The position of a parent must be less than the number, so
// damaged parents cannot form a circle.
func (c *coder) section(s *Section) {
	c.Text(&s.Slug, &s.Title)
	level := int(s.level)
	c.Int(&level)
	setSmall(c, &s.level, level)
	d := &c.declaration
	if *d = (declaration{typ: vault.Section}); s.declaration != nil {
		*d = *s.declaration
	}
	c.word(&d.declared, &d.typ)
	c.fields(&d.fields)
	c.scope16(&s.parent, int(s.number))
	c.signed32(&s.line, &s.lineEnd, &s.subtreeEnd, &d.first, &d.last)
	if c.Decodes() {
		s.setDeclared(*d)
	}
	c.times(&s.Times)
	c.Raw(s.ownDigest[:])
	if c.Flags(&s.Top, &s.pinned); !s.Top {
		return
	}
	c.node(&s.NodePart)
	c.scope16(&s.TopParent, int(s.number))
	c.Uint(&s.body)
}

// setDeclared sets a decoded declaration, unless it has the values of a section without one.
func (s *Section) setDeclared(d declaration) {
	if d.declared != "" || d.typ != vault.Section || len(d.fields) > 0 || d.first != 0 || d.last != 0 {
		own := d
		s.declaration = &own
	}
}

// pins codes the pins of a note by line.
func (c *coder) pins(n *Note) {
	var pins map[int]string
	if n.rare != nil {
		pins = n.rare.pins
	}
	imagecode.Map(&c.Coder, &pins, 2, func(line *int, pin *string) {
		c.Int(line)
		c.Text(pin)
	})
	if c.Decodes() && len(pins) > 0 {
		n.rareTexts().pins = pins
	}
}

// refs codes the references of a note. Each line is the difference to the previous one, which is a
// small number and takes one byte.
func (c *coder) refs(n *Note) {
	line := 0
	for i := range imagecode.List(&c.Coder, &n.Refs, 6) {
		r := &n.Refs[i]
		embeds, isMarkdown := r.Form == markdown.Embed, r.Form == markdown.MarkdownLink
		c.Flags(&r.InField, &r.Bare, &embeds, &isMarkdown)
		switch {
		case !c.Decodes():
		case embeds:
			r.Form = markdown.Embed
		case isMarkdown:
			r.Form = markdown.MarkdownLink
		}
		c.mention(&r.Mention)
		field := r.Field()
		if c.word(&field); c.Decodes() {
			r.field = fieldNameOf(field)
		}
		c.delta32(&r.line, &line)
		c.signed32(&r.position)
		c.scope16(&r.scope, len(n.Sections))
	}
}

// schemes lists the schemes of links by the numbers that they have in images.
var schemes = []string{markdown.SchemeFile, markdown.SchemeURL, markdown.SchemeOther}

// links codes the links of a note, with each line as in refs. A decoder fails for an unknown
// scheme.
func (c *coder) links(n *Note) {
	line := 0
	for i := range imagecode.List(&c.Coder, &n.Links, 8) {
		l := &n.Links[i]
		flags := byte(slices.Index(schemes, l.Scheme)) << 1
		if l.Image {
			flags |= 1
		}
		if c.Byte(&flags); int(flags>>1) >= len(schemes) {
			c.Fail()
			return
		}
		if c.Decodes() {
			l.Image, l.Scheme = flags&1 != 0, schemes[flags>>1]
		}
		c.Text(&l.Target, &l.Display, &l.Ext)
		c.Delta(&l.Line, &line)
		size := l.Span.End - l.Span.Start
		if c.Int(&l.Span.Start, &size); c.Decodes() {
			l.Span.End = l.Span.Start + size
		}
		c.scope(&l.Scope, len(n.Sections))
	}
}

// tags codes the tags of a file that has this number of sections.
func (c *coder) tags(all *[]Tag, sections int) {
	for i := range imagecode.List(&c.Coder, all, 3) {
		t := &(*all)[i]
		c.word(&t.Name)
		c.Int(&t.Line)
		c.scope(&t.Scope, sections)
	}
}
