package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// A Tool is a Spec with the function behind it. The function's types are known only inside.
type Tool struct {
	Spec
	Args []Arg // in the order of the input's fields, then the shared ones

	output func() *jsonschema.Schema
	call   func(context.Context, auth.Caller, map[string]json.RawMessage) (Reply, error)
}

// New makes a tool of a function. In is a struct whose fields are the arguments: `json` gives the
// name, and omitempty makes one optional; `jsonschema` says what it means, to a model that has seen
// nothing else; `enum`, `default`, `min`, `max` (of a number, or of the length of a text) and
// `alias` (other names, by commas) say the rest. For the list of commands, `absent` says in words
// what is meant without the argument, `what` what it is, and `examples` gives some values, by commas.
// `complete` names the kind of values that complete it as it is typed (see Complete), `of` the argument
// that says of which thing they are, and `text` is "true" of text that people write. `means` says what the
// argument is for where projections know it (see Meaning), `unless` names the meaning of an argument that makes
// this one optional where it is true, `refused` is the code of a value that is not
// allowed, `null` is "kept" where null is a value, `digest` is "-" for an argument that does not change what
// the call does, and `names` is "target" where values name what the call is about. Every argument has a
// bound: a text without `max` that of its kind, which `size` names (name, id, query, token or text) or, if
// it does not, `text`, `what` and `complete` tell.
// An argument of the input called agent_id or session takes the place of the one that every tool takes:
// headers, flags and defaults say then who acts, and in which session.
// Out is a struct that is the data of the answer and may embed an Aside; it is part of the answer
// also when the function returns an error. Of its fields `title` says what people see in place of the
// name, and `format` is that of a text: date-time.
//
// New panics if the Spec cannot be served: the program is malformed. A type that has no schema panics when
// its schema is first needed; a test of the product asks for all of them.
func New[In, Out any](
	spec Spec, fn func(context.Context, auth.Caller, In) (Out, error),
) *Tool {
	t := newTool(spec, reflect.TypeFor[In](), reflect.TypeFor[Out]())
	t.call = func(
		ctx context.Context, c auth.Caller, args map[string]json.RawMessage,
	) (Reply, error) {
		var in In
		if err := t.decode(args, &in); err != nil {
			return Reply{}, err
		}
		out, err := fn(ctx, c, in)
		return reply(&out), err
	}
	return t
}

// newTool makes a tool without its function. It is apart from New because a program has the code of New once for each
// tool.
func newTool(spec Spec, in, out reflect.Type) *Tool {
	t := &Tool{Spec: spec}
	own := argsOfType(in, common())
	t.Args = slices.Concat(own, sharedBeside(own))
	t.output = sync.OnceValue(func() *jsonschema.Schema { return schemaFor(out) })
	for i, a := range t.Args {
		if flag := spec.Flags[a.Name]; flag != "" {
			t.Args[i].Flag = flag
		}
	}
	if spec.List != "" && !hasMember(out, spec.List) {
		panic(fmt.Sprintf("tool %s: the answer has no list %q", spec.Name, spec.List))
	}
	if err := cmp.Or(t.check(), t.checkFiles(out)); err != nil {
		panic(fmt.Sprintf("tool %s: %v", spec.Name, err))
	}
	return t
}

// decode fills in, a pointer to the input of the function, with arguments.
func (t *Tool) decode(args map[string]json.RawMessage, in any) error {
	if err := json.Unmarshal(mustMarshal(args), in); err != nil {
		return fault.New(t.Family.Malformed,
			"the arguments of %s are not of the right form", t.Name).Because(err)
	}
	if m, ok := in.(marked); ok {
		m.mark(t.Name, t.digest(args))
	}
	return nil
}

// hasMember reports whether the JSON of a struct may have a member.
func hasMember(t reflect.Type, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(field reflect.StructField) bool {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		return key == name
	})
}

// OutputSchema is the JSON Schema of the data of an answer, which nobody may change.
func (t *Tool) OutputSchema() *jsonschema.Schema { return t.output() }

// reply takes an output, which out points to, apart into data and what stands beside it.
func reply(out any) Reply {
	r := Reply{Data: out}
	if a, ok := out.(hasAside); ok {
		r.Warnings, r.Meta, r.Wrote = a.aside().Warnings, a.aside().Meta, a.aside().Failed != nil
	}
	if p, ok := out.(Partial); ok {
		r.Partial, r.inner = p.Partly(), true
	}
	return r
}

// Usable reports whether there is a vault in which a caller may use the tool.
func (t *Tool) Usable(c auth.Caller) bool {
	role, changes := t.Role, t.Kind.Changes()
	if t.Reads != nil {
		role, changes = auth.Reader, false
	}
	return c.Role(t.anywhere()).Allows(role) && t.Named(c) && (!c.ReadOnly || !changes)
}

// OnlyReads reports whether a caller may use only those calls of the tool that read.
func (t *Tool) OnlyReads(c auth.Caller) bool {
	return t.Reads != nil && (c.ReadOnly || !c.Role(t.anywhere()).Allows(t.Role))
}

// Hidden are the arguments that raise a call above what a caller may do anywhere. A list for the caller shows the
// tool without them.
func (t *Tool) Hidden(c auth.Caller) []string {
	var names []string
	for name, r := range t.Raises {
		if !c.Role(t.anywhere()).Allows(r.Role) || c.ReadOnly && r.Kind.Changes() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// MayMutate reports whether some call of the tool changes what is remembered.
func (t *Tool) MayMutate() bool {
	for _, r := range t.Raises {
		if r.Kind.Mutates() {
			return true
		}
	}
	return t.Kind.Mutates()
}

// anywhere is where a caller needs a role to use the tool at all: for the tenant as a whole, or in any vault.
func (t *Tool) anywhere() string {
	if t.Tenant {
		return auth.AllVaults
	}
	return ""
}

// Named reports whether the token of a caller lets it call the tool at all. What tells a caller only of
// itself every token does.
func (t *Tool) Named(c auth.Caller) bool { return t.Role == auth.Anyone || c.May(t.Name) }

// Arg finds an argument by its name or one of its aliases.
func (t *Tool) Arg(name string) (Arg, bool) {
	for _, a := range t.Args {
		if a.Name == name {
			return a, true
		}
	}
	for _, a := range t.Args {
		for _, alias := range a.Aliases {
			if alias == name {
				return a, true
			}
		}
	}
	if strings.Contains(name, "-") { // as the first Raven spelled them
		return t.Arg(strings.ReplaceAll(name, "-", "_"))
	}
	return Arg{}, false
}

// check finds what no projection could serve.
func (t *Tool) check() error {
	switch {
	case t.Name == "" || t.Family == nil || t.Title == "" || strings.TrimSpace(t.Doc) == "":
		return fmt.Errorf("a tool has a name, a family, a title and a doc")
	case t.Role == auth.Nobody:
		return fmt.Errorf("a tool names the role that it needs")
	case t.Role != auth.Anyone && !t.Role.Valid():
		return fmt.Errorf("there is no role %q", t.Role)
	case t.Kind.Mutates() && !t.Role.Allows(auth.Editor):
		return fmt.Errorf("a mutation needs editor at least")
	case t.Tenant && t.Subject != "":
		return fmt.Errorf("a tool of the tenant is about no one vault")
	case t.Makes && t.Subject == "":
		return fmt.Errorf("a tool that makes a vault names it")
	}
	if _, ok := t.Arg("as_of"); ok && t.Unversioned {
		return fmt.Errorf("what has no versions is read as of none")
	}
	for name, r := range t.Raises {
		if !r.Role.Valid() {
			return fmt.Errorf("the argument %q names the role that it needs", name)
		}
	}
	for _, r := range t.Resources {
		if r.Each && len(r.Vars()) != 1 {
			return fmt.Errorf("there is one %s for each value of a variable: it has one", r.URI)
		}
	}
	for _, name := range t.named() {
		if a, ok := t.Arg(name); !ok || a.Name != name {
			return fmt.Errorf("the spec names %q, which is no argument", name)
		}
	}
	return t.checkArgs()
}

// Way returns the first command that can make a call with some arguments, given by name as JSON: the one that
// stands for the values they have. A tool with no such command has its first one returned, and false.
func (t *Tool) Way(arg func(name string) json.RawMessage) (way Command, ok bool) {
	for _, way := range t.Commands {
		fits := true
		for name, value := range way.Set {
			var text string
			fits = fits && json.Unmarshal(arg(name), &text) == nil && text == value
		}
		if fits {
			return way, true
		}
	}
	if len(t.Commands) == 0 {
		return Command{}, false
	}
	return t.Commands[0], false
}

// named are the arguments that the spec names; some are empty or twice.
func (t *Tool) named() []string {
	named := []string{t.PathArg(), t.Subject, t.Stdin, t.Body}
	for _, c := range t.Commands {
		named = append(append(named, c.positionals()...), c.Pairs)
		named = slices.AppendSeq(named, maps.Keys(c.Set))
	}
	for _, a := range t.Args {
		named = append(named, a.Of)
	}
	for _, e := range t.Empty {
		named = append(named, e.Names()...)
	}
	named = append(named, t.Lifted...)
	named = slices.AppendSeq(named, maps.Keys(t.Flags))
	named = slices.AppendSeq(named, maps.Keys(t.Raises))
	if t.Reads != nil {
		named = append(named, t.Reads.Arg)
	}
	for _, ask := range t.Asks {
		named = append(named, ask.With, ask.Skip, ask.Confirm, ask.Of)
	}
	if len(t.Completes) > 0 {
		named = append(named, "kind", "prefix")
	}
	for _, r := range t.Resources {
		named = append(named, r.Vars()...)
	}
	return slices.DeleteFunc(named, func(name string) bool { return name == "" })
}

// checkArgs finds what is wrong with what the arguments say of themselves.
func (t *Tool) checkArgs() error {
	meant := t.meant()
	for _, a := range t.Args {
		switch {
		case a.Code != "" && !slices.Contains(fault.Codes(), a.Code):
			return fmt.Errorf("there is no code %q", a.Code)
		case a.Means == "" && usual[a.Name] != "":
			return fmt.Errorf("the argument %q does not say what it means", a.Name)
		case a.Unless != "" && !slices.Contains(meant, a.Unless):
			return fmt.Errorf("the argument %q is required unless one means %q, and none does", a.Name, a.Unless)
		case !a.Shared && slices.Contains(formArgs, a.Name):
			return fmt.Errorf("the argument %q has one meaning in every tool", a.Name)
		}
	}
	for _, m := range meant {
		if !slices.Contains(meanings, m) {
			return fmt.Errorf("no argument can mean %q", m)
		}
		if n := len(slices.DeleteFunc(slices.Clone(meant), func(other Meaning) bool { return other != m })); n > 1 {
			return fmt.Errorf("%d arguments mean %q", n, m)
		}
	}
	for _, m := range []Meaning{MeansLimit, MeansToken} {
		if len(t.Completes) > 0 && !slices.Contains(meant, m) {
			return fmt.Errorf("a tool that completes has an argument that means %q", m)
		}
	}
	return nil
}

// formArgs are the arguments that change the form of an answer. No tool has one of its own.
var formArgs = []string{"only", "envelope"}

// usual are names that mean what they do in most families. An argument of such a name must say it.
var usual = map[string]Meaning{
	"if_version": MeansVersion, "idempotency_key": MeansKey, "dry_run": MeansDry, "page_token": MeansToken,
}

// meant are the meanings of the arguments.
func (t *Tool) meant() []Meaning {
	var all []Meaning
	for _, a := range t.Args {
		if a.Means != "" {
			all = append(all, a.Means)
		}
	}
	return all
}

// Positional takes one entry of Args apart.
func Positional(entry string) (name string, optional, rest bool) {
	if n := len(entry); n > 3 && entry[n-3:] == "..." {
		return entry[:n-3], true, true
	}
	if n := len(entry); n > 1 && entry[n-1] == '?' {
		return entry[:n-1], true, false
	}
	return entry, false, false
}

// positionals are the names of the arguments in Args.
func (c Command) positionals() []string {
	var names []string
	for _, entry := range c.Args {
		name, _, _ := Positional(entry)
		names = append(names, name)
	}
	return names
}
