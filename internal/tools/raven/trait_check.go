package raven

import (
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/vault"
)

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
		c.problems[i] = p.At(t.Note.Path, t.Line)
	}
	if f := fault.Join(Family.Several, c.problems); f != nil {
		return c.rewrite, f
	}
	return c.rewrite, nil
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
