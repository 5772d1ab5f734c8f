package raven

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A traitCreateIn is the input of raven_trait_create.
//
// ParentID also accepts a day, whose daily note is created if it does not exist.
type traitCreateIn struct {
	tool.Vault
	// trait: due, priority, status or another of the schema
	TraitType string `json:"trait_type" complete:"trait"`
	// its value: a date or tomorrow for due, high for priority; optional if the schema has a
	// default
	Value string `json:"value,omitempty" size:"query"`
	// object or section to which it is added: daily/2026-03-02#standup, or a day such as today
	ParentID string `json:"parent_id" complete:"id"`
	// the text that the trait is about; one line
	Content string `json:"content" text:"true"`
	// more traits of the line, with their values: {"assignee": "people/freya"}
	OtherTraits tool.Fields `json:"other_traits,omitempty"`
	tool.Brief
	tool.Mutation
}

// traitCreate returns the tool raven_trait_create, which adds a line with traits to an object.
func (f tools) traitCreate() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "raven_trait_create", Family: Family, Title: "Create a trait",
		Role: auth.Editor, Kind: tool.Write,
		Route:    tool.Route{Method: "POST", Path: "/traits"},
		Flags:    map[string]string{"trait_type": "type", "parent_id": "parent"},
		Commands: []tool.Command{{Words: "trait create"}},
	}, func(ctx context.Context, c auth.Caller, in traitCreateIn) (traitOut, error) {
		return draft(ctx, f, request{c, in.Vault.Vault, &in.Mutation, in.Slim, in.targets}, in.run)
	})
}

// run drafts the new line.
//
// The new line is appended to the text of the parent, after the lines that it has before its first
// subsection. The id of the new trait is known only from the index of the draft.
func (in traitCreateIn) run(ctx context.Context, tx *repo.Tx, out *traitOut) error {
	line, h, err := in.plan(tx)
	if err != nil {
		return err
	}
	s, err := h.insertPoint(ctx, tx)
	if err != nil {
		return err
	}
	text, at, err := markdown.AppendTrait(s.text, s.slug, line)
	if err != nil {
		return withFile(err, s.path)
	}
	if err := tx.Put(ctx, s.path, text); err != nil {
		return err
	}
	warnRefs(tx, &out.Aside, string(s.path))
	if s.created {
		out.SideEffects = []string{"the daily note " + string(s.path) + " is made"}
	}
	return out.created(tx, traitPosition{s.path, at, line.Name})
}

// plan checks all arguments, and returns the new line and the place for it. If there are problems,
// it returns one fault with all of them.
func (in traitCreateIn) plan(tx *repo.Tx) (markdown.NewTrait, traitParent, error) {
	s, err := state.Schema(tx.Index())
	if err != nil {
		return markdown.NewTrait{}, traitParent{}, err
	}
	r := traitReader{idx: tx.Index(), schema: s, clock: state.Clock(tx.Index(), tx.Now())}
	line := in.line(&r)
	h, err := in.parent(tx)
	if err != nil {
		r.problems = append(r.problems, fault.Of(err))
	}
	return line, h, fault.Join(Family.Several, r.problems).Err()
}

// line returns the new line. It records problems in r.
func (in traitCreateIn) line(r *traitReader) markdown.NewTrait {
	// A line that was read from a file ends in a line break.
	in.Content = strings.TrimRight(in.Content, "\r\n")
	line := markdown.NewTrait{
		Name: in.TraitType, Content: in.Content, Value: r.read(in.TraitType, vault.Text(in.Value)),
	}
	others := mutation.TypedFields(in.OtherTraits)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if name == in.TraitType {
			r.problems = append(r.problems, fault.New(fault.InvalidValue,
				"other_traits names the trait %q itself; its value is the argument value", name).
				With("argument", "other_traits"))
			continue
		}
		line.Others = append(line.Others, markdown.Field{Key: name, Value: r.read(name, others[name])})
	}
	if f := notOneLine(in.Content); f != nil {
		r.problems = append(r.problems, f)
	}
	return line
}

// notOneLine returns a fault if a text is empty or has several lines.
//
// Line separators of Unicode count as line breaks: some programs show them as such.
func notOneLine(content string) *fault.Fault {
	breaks := func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029'
	}
	switch {
	case strings.TrimSpace(content) == "":
		return fault.New(fault.MissingRequired, "the content must not be empty").
			With("argument", "content")
	case strings.ContainsFunc(content, breaks):
		return fault.New(fault.InvalidValue,
			"the content must be one line of text, without line breaks and control characters").
			With("argument", "content").Fix("write one line; an edit can write several")
	}
	return nil
}

// A traitParent is the parent of a new trait: an object, or a daily note that does not exist yet.
type traitParent struct {
	object index.Object
	day    vault.Date // the day of the missing daily note; empty: object is set
}

// parent returns the parent that the call names. Only a daily note may be missing.
//
// An exact id is tried before a day, so a note named today is found.
func (in traitCreateIn) parent(tx *repo.Tx) (traitParent, error) {
	idx := tx.Index()
	if o, ok := idx.Find(strings.TrimSpace(in.ParentID)); ok {
		return traitParent{object: o}, nil
	}
	if day, ok := (addIn{To: in.ParentID}).day(tx); ok {
		n, ok := idx.Note(string(idx.Config().DailyPath(day)))
		if !ok {
			return traitParent{day: day}, nil
		}
		return traitParent{object: n.Object(-1)}, nil
	}
	o, err := locate(idx, in.ParentID, state.Clock(idx, tx.Now()))
	return traitParent{object: o}, err
}

// insertPoint returns the place in the home where lines are added.
func (h traitParent) insertPoint(ctx context.Context, tx *repo.Tx) (insertPoint, error) {
	if h.day != "" {
		text, err := dailyText(ctx, tx, h.day)
		return insertPoint{path: tx.Index().Config().DailyPath(h.day), text: text, created: true}, err
	}
	s := insertPoint{path: vault.Path(h.object.Note.Path)}
	if h.object.Section != nil {
		s.slug = h.object.Section.Slug
	}
	var err error
	s.text, _, err = tx.Text(ctx, s.path)
	return s, err
}

// withFile adds the file to the fault of an edit.
func withFile(err error, path vault.Path) error { return withFileAndLine(err, string(path)) }

// A traitPosition is the place and the name of a new trait.
type traitPosition struct {
	path vault.Path
	line int
	name string
}

// created fills the output of a call that created a trait.
//
// The written trait must be in the index; if it is not, the error is internal.
func (m *traitOut) created(tx *repo.Tx, at traitPosition) error {
	n, ok := tx.Index().Note(string(at.path))
	if !ok {
		return fmt.Errorf("find the written note: %s", at.path)
	}
	for t := range n.Traits() {
		if t.Line() == at.line && t.Type == at.name && !t.Field {
			shown := newRenderer(tx.Index(), rich).trait(t)
			m.Action, m.ID, m.TraitFacts, m.Trait = "created", t.ID, factsOf(shown), &shown
			warnQuarantine(&m.Aside, n)
			return nil
		}
	}
	return fmt.Errorf("find the written trait: line %d of %s", at.line, at.path)
}

// check returns the rewrite that the call asks for. If there are problems, it returns one fault
// with all of them.
//
// For an annotation the names are traits of the schema. For a trait in the frontmatter they are the
// traits of the type of the note, and fields that are not traits cannot be changed this way. All
// problems have the line of the trait as their location.
func (in traitUpdateIn) check(tx *repo.Tx, t *index.Trait) (rewrite, error) {
	idx := tx.Index()
	c := traitChecker{
		traitReader: traitReader{
			idx: idx, schema: idx.Schema(), clock: state.Clock(idx, tx.Now()),
		},
		rewrite: rewrite{trait: t, today: string(state.Clock(idx, tx.Now()).Today())}, seen: map[string]bool{},
	}
	if t.Field {
		c.typ, _ = idx.Schema().Type(t.Note.Type)
	}
	fields := mutation.TypedFields(in.Set)
	c.tick(fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c.set(name, fields[name])
	}
	for _, name := range in.Unset {
		c.unset(name)
	}
	for i, p := range c.problems {
		c.problems[i] = p.At(t.Note.Path, t.Line())
	}
	return c.rewrite, fault.Join(Family.Several, c.problems).Err()
}

// A traitChecker builds a rewrite from the arguments of a call.
//
// It is used once. Names are given in the order: values that set the checkbox, values to set, and
// names to unset.
type traitChecker struct {
	traitReader
	rewrite rewrite
	typ     *vault.Type // of the note, for a trait in its frontmatter; otherwise nil
	// seen are the traits that the call has named so far.
	seen map[string]bool
}

// set adds a new value. nil means a trait without a value.
//
// The trait itself comes first in the rewrite, which other parts rely on.
func (c *traitChecker) set(name string, v any) {
	def, ok := c.define(name)
	if !ok {
		return
	}
	field := markdown.Field{Key: def.Name, Value: c.readAs(def, v)}
	if def.Name == c.rewrite.trait.Type {
		c.rewrite.set = slices.Insert(c.rewrite.set, 0, field)
		return
	}
	c.rewrite.set = append(c.rewrite.set, field)
}

// unset removes a trait from the line. For the trait itself it removes only the value.
func (c *traitChecker) unset(name string) {
	own := name == "value" || name == c.rewrite.trait.Type
	if own {
		c.set(name, nil)
		return
	}
	def, ok := c.define(name)
	if !ok {
		return
	}
	if c.typ != nil {
		if f := unsettable(c.typ, def.Name); f != nil {
			c.problems = append(c.problems, f)
		}
	}
	c.rewrite.unset = append(c.rewrite.unset, def.Name)
}

// define returns the definition of the trait that a name means. It returns false after it has
// recorded a problem: the trait does not exist, or is named twice.
func (c *traitChecker) define(name string) (*vault.Field, bool) {
	key := name
	if name == "value" {
		key = c.rewrite.trait.Type
	}
	def, ok := c.schema.Trait(key)
	if !ok || c.typ != nil && !slices.Contains(c.typ.TraitNames(), key) {
		c.problems = append(c.problems, c.unknown(key))
		return nil, false
	}
	if c.seen[key] {
		c.problems = append(c.problems, fault.New(fault.InvalidValue,
			"trait %q is given twice", key).With("field", name))
		return nil, false
	}
	c.seen[key] = true
	if c.typ != nil {
		return c.typ.Field(key)
	}
	return &def.Field, true
}

// unknown returns the fault of a trait that does not exist, or that the type of the note does not
// have.
func (c *traitChecker) unknown(name string) *fault.Fault {
	if _, ok := c.schema.Trait(name); !ok || c.typ == nil {
		return c.schema.NoTrait(name)
	}
	return fault.New(fault.InvalidTrait, "type %s has no trait %q in its frontmatter", c.typ.Name,
		name).With("available_traits", vault.Offered(c.typ.TraitNames())).Suggest(name, c.typ.TraitNames())
}
