package raven

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A finding is one problem in a vault.
//
// Findings are passed by value, and fault is never modified after it was reported: With and At
// return copies.
type finding struct {
	fault *fault.Fault // with its location
	code  string       // Raven's name of the issue
	// warning distinguishes a warning from an error.
	warning bool
	typ     string // the type that the finding concerns; empty: none
	trait   string // the trait that the finding concerns; empty: none
	inTrait bool   // the fix changes an annotation in the text
	// fix is an unambiguous fix; nil: none.
	fix     *noteFix
	missing *missingRef // the missing target of a reference; nil: none

	// more adds details that are expensive to compute. It is called only for findings that an
	// answer lists. Nil: there are no more details.
	more func(*fault.Fault) *fault.Fault
}

// A noteFix is a fix of a finding in a note. It has exactly one of ref, edit and to, which are
// applied in three different ways: references of a note are rewritten together, edits are applied
// to the text one by one, and moves are made for the whole vault at the end. See fixer.
type noteFix struct {
	// old and now are the values before and after, as the answer shows them.
	old, now string
	// ref is the reference, as it is written, that is replaced by its full id; empty: none.
	ref string
	// edit returns the fixed text of the note; nil: no such fix.
	edit func(text []byte) ([]byte, error)
	// to is the path to which the note is moved; empty: it is not moved.
	to vault.Path
}

// A noteCheck finds the problems of one note.
//
// It is created for each note and used once. It reads only the index, never a text, so that a check
// of a large vault needs no access to the store.
type noteCheck struct {
	// idx is the state that is checked; refs resolves references in it and caches the results.
	idx   *index.Index
	refs  *index.Resolver
	note  *index.Note
	clock vault.Clock
	// found receives each finding. It is not called concurrently.
	found func(finding)
	going func() bool // reports whether to continue; if not, the check is incomplete
	skip  noteParts   // not checked, because no finding of them is selected

	// passed reports whether a finding can be skipped before its fault is built, because it was
	// only counted or is not selected. f has no fault yet. Nil: no finding is skipped.
	passed func(f finding, code fault.Code, line int) bool
}

// noteParts are parts of the check of a note.
type noteParts struct{ objects, traits, references bool }

// run checks the frontmatter of the note, its objects and traits, and its references.
//
// A note whose frontmatter does not parse has no fields and no types, so that problem is its only
// finding. Without a valid schema, and in templates, whose fields contain placeholders, only
// references are checked.
func (c noteCheck) run() {
	if q := c.note.Quarantine(); q != nil {
		c.report(finding{fault: fault.New(fault.FileError, "the frontmatter does not parse: %s", q.Message),
			code: "parse_error"}, q.Line)
		return
	}
	if c.idx.SchemaErr() == nil && !c.idx.Config().IsTemplate(vault.Path(c.note.Path)) {
		if !c.skip.objects {
			c.objects()
		}
		if !c.skip.traits {
			c.traits()
		}
	}
	if !c.skip.references {
		c.references()
	}
}

// objects checks the note and the objects that are declared in it.
func (c noteCheck) objects() {
	c.object(c.note.Object(-1), c.note.DeclaredType, 1)
	declared := map[string]bool{}
	for i := range c.note.Sections {
		s := &c.note.Sections[i]
		if s.DeclaredType() == "" {
			continue
		}
		c.object(c.note.Object(i), s.DeclaredType(), s.Line())
		if declared[s.Slug] {
			c.report(finding{fault: fault.New(fault.DuplicateID, "the note declares the id %q twice", s.Slug).
				With("id", c.note.Object(i).ID()), code: "duplicate_object_id", typ: s.Type()}, s.Line())
		}
		declared[s.Slug] = true
	}
}

// report reports a finding in a line of the note. Line 0 means line 1. It adds Raven's name of the
// issue and the location to the fault, and must be the only place that calls found for findings of
// the note.
func (c noteCheck) report(f finding, line int) {
	f.fault = f.fault.With(codeKey, f.code).At(c.note.Path, max(line, 1))
	c.found(f)
}

// object checks the declared type and the fields of an object. line is the line of the declaration.
//
// An unknown type is reported once; fields are then not checked, since nothing declares them. A
// missing required value is reported at the declaration, a present one at its own line.
func (c noteCheck) object(o index.Object, declared string, line int) {
	s := c.idx.Schema()
	if _, ok := s.Type(declared); !ok && declared != "" {
		c.report(finding{fault: fault.Of(s.NoType(declared)), code: "unknown_type", typ: declared}, line)
		return
	}
	t, ok := s.Type(o.Type())
	if !ok {
		return
	}
	fields := o.Values()
	for _, f := range t.Missing(fields) {
		one := finding{fault: f, code: "missing_required_field", typ: t.Name}
		if name, _ := f.Details["field"].(string); hasTrait(t, name) && !fieldIn(t, name) {
			one.code, one.trait = "missing_required_trait", name
		}
		c.report(one, line)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := line
		if field, ok := o.Field(name); ok && field.Line > 0 {
			at = field.Line
		}
		c.field(o, t, name, fields[name], at)
	}
}

// field checks the value of a field. A name that the type does not declare is reported with the
// most similar declared name; the fields that every note can have are not reported.
func (c noteCheck) field(o index.Object, t *vault.Type, name string, value any, line int) {
	about := finding{typ: t.Name}
	if hasTrait(t, name) {
		about.trait = name
	}
	checked := t.Check(map[string]any{name: value}, c.clock)
	for _, f := range checked.Problems {
		one := about
		one.fault, one.code = f, ravenFieldCode(f, t, name)
		if def, ok := t.Field(name); ok {
			one.fix = fieldFix(o, def, name, value, c.clock)
		}
		c.report(one, line)
	}
	for _, name := range checked.Unknown {
		if slices.Contains(freeFields, name) {
			continue
		}
		one := about
		one.fault, one.code = fault.New(fault.InvalidField, "type %s has no field %q", t.Name, name).
			With("field", name).With("allowed", vault.Offered(t.FieldNames())).Suggest(name, t.FieldNames()),
			"unknown_frontmatter_key"
		c.report(one, line)
	}
}

// fieldFix returns the fix of an invalid value of a field, or nil if there is none. The edit does
// not depend on the text that the check saw: it sets the field by name, so it can follow other
// edits of the same note.
func fieldFix(o index.Object, def *vault.Field, name string, value any, c vault.Clock) *noteFix {
	now, ok := fixedValue(def, value, c)
	if !ok {
		return nil
	}
	set := []markdown.Field{{Key: name, Value: now}}
	return &noteFix{old: plainText(value), now: plainText(now), edit: func(text []byte) ([]byte, error) {
		if o.Section != nil {
			return markdown.SetArgumentsAt(text, headingAt(text, o), set)
		}
		return markdown.SetFields(text, set)
	}}
}

// plainText returns a value in the form in which the answer shows it.
func plainText(v any) string {
	var all []string
	for _, one := range mutation.AsList(v) {
		all = append(all, plain(one))
	}
	return firstRunes(strings.Join(all, ", "))
}

// looseDate matches a date whose month or day may have only one digit.
var looseDate = regexp.MustCompile(`^(\d{4})-(\d{1,2})-(\d{1,2})$`)

// fixedValue returns a valid value in place of an invalid one, if the correction is unambiguous: an
// enum value in another case or with quotes or spaces, or a date without leading zeros. Otherwise
// it returns false.
//
// Elements of a list are corrected one by one, and the whole list is then read as the field's type;
// it is fixed only if all elements are valid. Values of other types than enum, date and time are
// never guessed.
func fixedValue(f *vault.Field, v any, c vault.Clock) (any, bool) {
	if list, ok := v.([]any); ok {
		if !strings.HasSuffix(f.Type, "[]") {
			return nil, false
		}
		now := make([]any, len(list))
		for i, one := range list {
			now[i] = one
			if fixed, ok := fixedOne(f, one); ok {
				now[i] = fixed
			}
		}
		_, err := f.Read(now, c)
		return now, err == nil
	}
	now, ok := fixedOne(f, v)
	if !ok {
		return nil, false
	}
	_, err := f.Read(now, c)
	return now, err == nil
}

// fixedOne is fixedValue for a value that is not a list. It does not check the result against the
// field. A date must exist in the calendar: 2026-2-30 has no fix.
func fixedOne(f *vault.Field, v any) (any, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	if strings.TrimSuffix(f.Type, "[]") == "enum" {
		return fixedEnum(f.Values, s)
	}
	m := looseDate.FindStringSubmatch(strings.TrimSpace(s))
	if !f.IsTime() || m == nil {
		return nil, false
	}
	month, _ := strconv.Atoi(m[2])
	day, _ := strconv.Atoi(m[3])
	date := m[1] + "-" + twoDigits(month) + "-" + twoDigits(day)
	_, valid := vault.ParseDate(date)
	return date, valid && date != s
}

// twoDigits formats a number below 100 with two digits.
func twoDigits(n int) string { return strconv.Itoa(n/10) + strconv.Itoa(n%10) }

// fixedEnum returns the only enum value that equals s apart from case, quotes and spaces. It
// returns false if there is none or several, or if s already equals it.
func fixedEnum(values []string, s string) (any, bool) {
	want, found := strings.Trim(s, " \t\"'`"), ""
	for _, v := range values {
		if !strings.EqualFold(v, want) {
			continue
		}
		if found != "" {
			return nil, false
		}
		found = v
	}
	return found, found != "" && found != s
}

// ravenFieldCode returns Raven's name of the issue for an invalid field value.
func ravenFieldCode(f *fault.Fault, t *vault.Type, name string) string {
	field, ok := t.Field(name)
	switch {
	case ok && f.Code == fault.InvalidValue && strings.TrimSuffix(field.Type, "[]") == "enum":
		return "invalid_enum_value"
	case ok && f.Code == fault.InvalidValue && field.IsTime():
		return "invalid_date_format"
	}
	return "invalid_field_value"
}

// traits checks the annotations of the note.
//
// Annotations that come from fields are checked as fields, and tasks have no declaration. A trait
// that the schema does not have is a warning, because any text with an at sign can look like one.
func (c noteCheck) traits() {
	s := c.idx.Schema()
	for _, t := range c.note.EachAnnotation {
		if !c.going() {
			return
		}
		def, ok := s.Trait(t.Type)
		about := finding{trait: t.Type, typ: t.Parent().Type()}
		switch {
		case t.Field || t.Task:
		case !ok && t.Type != "id":
			about.fault, about.code, about.warning = fault.Of(s.NoTrait(t.Type)), "undefined_trait", true
			c.report(about, t.Line())
		case ok && t.Raw == "" && !allowsNoValue(&def.Field):
			about.fault = fault.New(fault.InvalidValue, "Trait '%s' must have a value", t.Type).With("field", t.Type)
			about.code, about.warning = "invalid_trait_value", true
			c.report(about, t.Line())
		case ok:
			if _, err := def.Read(t.Value(), c.clock); err != nil {
				about.fault, about.code = fault.Of(err), "invalid_trait_value"
				if def.Type == "enum" {
					about.code = "invalid_enum_value"
				}
				about.fix, about.inTrait = c.traitFix(t, def), true
				c.report(about, t.Line())
			}
		}
	}
}

// traitFix returns the fix of an invalid value of a trait, or nil if there is none. The edit looks
// for the annotation by its position and returns an error if the text there has changed.
func (c noteCheck) traitFix(t *index.Trait, def *vault.Trait) *noteFix {
	now, ok := fixedValue(&def.Field, t.Value(), c.clock)
	if !ok {
		return nil
	}
	return &noteFix{old: firstRunes(t.Raw), now: plainText(now), edit: func(text []byte) ([]byte, error) {
		own, err := annotationOf(text, t)
		if err != nil {
			return nil, err
		}
		return markdown.SetTrait(text, own, []markdown.Field{{Key: t.Type, Value: now}})
	}}
}

// A bareRef is a reference in the value of a trait, with or without brackets.
type bareRef struct {
	target string
	line   int
	trait  string
	wants  string // the required type of the target; empty: any
	inText bool   // it has brackets, so it is also in Refs of the note
}

// inTraits returns the references in the traits of the note.
//
// Traits of other types than ref, and traits that are fields of the note, are not included; fields
// are in Refs of the note already.
func (c noteCheck) inTraits() []bareRef {
	var all []bareRef
	for _, t := range c.note.EachAnnotation {
		def, ok := c.idx.Schema().Trait(t.Type)
		if t.Field || !ok || !def.IsRef() {
			continue
		}
		for _, v := range mutation.AsList(t.Value()) {
			switch v := v.(type) {
			case markdown.Ref:
				all = append(all, bareRef{string(v), t.Line(), t.Type, def.Target, true})
			case string:
				if ref, ok := vault.ParseRef(v); ok {
					all = append(all, bareRef{string(ref), t.Line(), t.Type, def.Target, false})
				}
			}
		}
	}
	return all
}

// references checks the targets of the note's references. References to files are not checked here.
// A reference in brackets in the value of a trait is in Refs and among the traits; it is checked
// once, with the type that the trait requires. A bare one is not in Refs and is checked after the
// others.
func (c noteCheck) references() {
	type place struct {
		// target is the reference as written, without brackets. line is the line of the note,
		// counted from 1.
		target string
		line   int
	}
	wants := map[place]bareRef{}
	var bare []bareRef
	for _, b := range c.inTraits() {
		if wants[place{b.target, b.line}] = b; !b.inText {
			bare = append(bare, b)
		}
	}
	for i := range c.note.Refs {
		if !c.going() {
			return
		}
		r := &c.note.Refs[i]
		if r.IsFile() {
			continue
		}
		of := c.note.Object(r.Scope())
		ref := checkedRef{target: r.Target, line: r.Line(), form: r.Form, about: finding{typ: of.Type()}}
		if b, ok := wants[place{r.Target, r.Line()}]; ok && !r.InField {
			ref.wants, ref.about.trait = b.wants, b.trait
		}
		if t, ok := c.idx.Schema().Type(of.Type()); ok && r.InField {
			if f, ok := t.Field(r.Field()); ok {
				ref.wants, ref.field = f.Target, r.Field()
			}
		}
		c.reference(ref)
	}
	for _, b := range bare {
		c.reference(checkedRef{target: b.target, line: b.line, wants: b.wants, bare: true,
			about: finding{trait: b.trait, typ: c.note.Type}})
	}
}

// A checkedRef is a reference to check.
type checkedRef struct {
	target string
	line   int
	form   markdown.Form
	bare   bool   // it is in the value of a trait, without brackets
	field  string // the field that contains it; empty: none
	wants  string // the required type of the target; empty: any
	about  finding
}

// reference checks the spelling and the target of one reference. It reports at most one finding
// about them, and possibly one about the type of the target.
//
// The first case that applies is reported: an ambiguous reference, one that names only a part of
// its own note, a missing target, a missing section, a Markdown link to a note, or a short name
// that could be a full id. The type of the target is checked in every case in which there is a
// target. passed is asked before the fault is built: a vault with many broken references would
// otherwise spend most of the check on faults that no answer shows.
func (c noteCheck) reference(r checkedRef) {
	to := c.refs.From(c.note, r.target)
	shown := firstRunes(r.target)
	// tell reports a finding, unless it can be skipped; complete adds the rest of it. nil: no more.
	tell := func(raven string, warning bool, format string, complete func(f *finding)) {
		f := r.about
		f.code, f.warning = raven, warning
		if c.passed != nil && c.passed(f, fault.InvalidRef, max(r.line, 1)) {
			return
		}
		f.fault = fault.New(fault.InvalidRef, format, shown).With("ref", shown)
		if complete != nil {
			complete(&f)
		}
		c.report(f, r.line)
	}
	inFull := func(f *finding) { f.fix = &noteFix{old: shown, now: to.ID, ref: r.target} }
	local := strings.HasPrefix(strings.TrimSpace(r.target), "#") && r.form != markdown.MarkdownLink
	switch {
	case len(to.Matches) > 0:
		tell("ambiguous_reference", false, "the reference %q is ambiguous", func(f *finding) {
			f.fault = f.fault.With("matches", firstOf(to.Matches, maxMatches))
		})
	case local:
		complete := inFull
		if to.ID == "" || to.FragmentMissing {
			complete = nil
		}
		tell("local_fragment_ref", false, "the reference %q names only a part of its own note", complete)
	case to.ID == "":
		tell("missing_reference", false, "nothing has the name %q", func(f *finding) {
			m := c.missing(r)
			f.fault = f.fault.With("suggested_type", m.typ.Name).With("confidence", m.confidence)
			f.missing = &m
			f.more = func(f *fault.Fault) *fault.Fault { return m.more(c.idx, f) }
		})
	case to.FragmentMissing:
		tell("stale_fragment", true, "the reference %q resolves to a note without such a section", nil)
	case r.form == markdown.MarkdownLink:
		tell("markdown_link_to_vault_note", false,
			"the target of the link %q is a note; use a reference in double brackets, which every tool updates", inFull)
	case to.Source == index.ByShort && !strings.Contains(strings.SplitN(r.target, "#", 2)[0], "/") &&
		to.Object.Note != nil && strings.Contains(to.Object.Note.ID, "/"):
		tell("short_ref_could_be_full_path", true,
			"the reference %q is short; a full id stays unambiguous when another note gets the name", inFull)
	}
	c.target(r, to)
}

// target reports a finding if the target of a reference does not have the type that its field or
// trait requires. A missing target has no type and is reported elsewhere.
func (c noteCheck) target(r checkedRef, to index.Resolution) {
	if r.wants == "" || to.ID == "" || c.idx.SchemaErr() != nil {
		return
	}
	typ := vault.Daily // a day without a note of its own
	if to.Object.Note != nil {
		typ = to.Object.Type()
	}
	if typ == r.wants {
		return
	}
	f := r.about
	f.code = "wrong_target_type"
	f.fault = fault.New(fault.InvalidField, "the target of the reference %q is a %s; it must be a %s",
		firstRunes(r.target), typ, r.wants).
		With("ref", firstRunes(r.target)).With("target_type", typ).With("expected", r.wants)
	if r.field != "" {
		f.fault = f.fault.With("field", r.field)
	}
	c.report(f, r.line)
}

// A missingRef is the target of a reference that does not exist but could be created.
//
// typ is never nil: it is the page type if nothing determines the type. id has no fragment and no
// extension.
type missingRef struct {
	id         string
	typ        *vault.Type
	confidence string
}

// The values of confidence: how certain the type of a missing target is.
const (
	certain  = "certain"  // the field or trait requires the type
	inferred = "inferred" // the id is in the folder of the type
	unknown  = "unknown"
)

// missing returns the missing target of a reference.
//
// The type is certain if the field or trait that contains the reference requires it, and inferred
// if the id is in the default folder of a type. Built-in types of sections and days cannot be
// created this way.
func (c noteCheck) missing(r checkedRef) missingRef {
	s := c.idx.Schema()
	id, _, _ := strings.Cut(r.target, "#")
	m := missingRef{id: strings.TrimSuffix(strings.TrimSpace(id), ".md"), confidence: unknown}
	if t, ok := s.Type(r.wants); ok && r.wants != "" && t.Name != vault.Section && t.Name != vault.Daily {
		m.typ, m.confidence = t, certain
		return m
	}
	if t := typeOfFolder(s, m.id); t != nil && !t.Builtin {
		m.typ, m.confidence = t, inferred
		return m
	}
	m.typ, _ = s.Type(vault.Page)
	return m
}

// call returns the input of raven_new that creates the target.
//
// The path is omitted where the type's default folder and the title lead to the same id, so that
// the command is as short as a person would write it.
func (m missingRef) call() newIn {
	in := newIn{Type: m.typ.Name, Title: m.id[strings.LastIndexByte(m.id, '/')+1:]}
	if m.typ.DefaultPath+vault.FileName(in.Title) != m.id {
		in.Path = m.id
	}
	return in
}

// more adds to a fault the command that creates the target, and existing objects with similar ids.
//
// The command is left out if no note can have the id as its path.
func (m missingRef) more(idx *index.Index, f *fault.Fault) *fault.Fault {
	if near := idx.Nearest(m.id); len(near) > 0 {
		f = f.With("nearest", near)
	}
	if _, err := vault.NewPath(m.id); err != nil {
		return f
	}
	return f.With("create_command", m.call().command())
}

// firstRunes returns the beginning of a text, at most about 600 bytes, for a message.
func firstRunes(ref string) string {
	const most = 600
	for i := range ref {
		if i > most {
			return ref[:i]
		}
	}
	return ref
}
