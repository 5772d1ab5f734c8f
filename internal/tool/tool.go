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

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A Tool is a Spec with its function. The types of the function's input and output are erased.
type Tool struct {
	Spec
	Args []Arg // in the order of the input's fields, then the shared ones

	output func() *jsonschema.Schema
	call   func(context.Context, auth.Caller, checked) (Reply, error)
}

// New returns a tool with a function. In is a struct whose fields are the arguments. The comment
// above a field is its description, written for a model that has seen nothing else (see docOf). New
// uses these tags:
//
//   - `json`: the name; without omitempty the argument is required.
//   - `enum`, `default`, `min`, `max`: constraints; min and max apply to a number or the length of
//     a text. A type with a method Values is an enumeration without the tag.
//   - `alias`: other names, separated by commas.
//   - `absent`, `what`, `examples`: for the list of commands, the meaning of a missing argument, a
//     word for its value, and some values separated by commas.
//   - `complete`: the kind of its completion suggestions (see Complete); `of`: the argument that
//     they depend on.
//   - `text`: "true" for prose.
//   - `means`: its meaning for projections (see Meaning).
//   - `unless`: the meaning of a boolean argument that, when true, makes this one optional.
//   - `refused`: the code of an invalid value.
//   - `null`: "kept" if null is a value.
//   - `digest`: "-" if the argument does not change what the call does (see Digest).
//   - `names`: "target" if its values name the object of the call.
//
// Every argument is bounded. The bound of a text without `max` is that of its kind, which `size`
// names (see MaxName and the others) or, if it does not, `text`, `what` and `complete` determine.
//
// An argument named agent_id or session replaces the shared one of that name: headers, flags and
// defaults for the agent and the session then set it.
//
// Out is a struct: the data of the answer. It may embed an Aside. It is used also if the function
// returns an error (see Reply.Partial). The tag `title` of its fields is a name for people, and
// `format` the format of a text, such as date-time.
//
// New panics if the Spec is invalid, which is an error in the program. A type without a schema
// panics when its schema is first needed; a test of the product asks for all of them.
func New[In, Out any](
	spec Spec, fn func(context.Context, auth.Caller, In) (Out, error),
) *Tool {
	t := newTool(spec, reflect.TypeFor[In](), reflect.TypeFor[Out]())
	t.call = func(ctx context.Context, c auth.Caller, args checked) (Reply, error) {
		var in In
		if err := t.decode(args, &in); err != nil {
			return Reply{}, err
		}
		out, err := fn(ctx, c, in)
		return reply(&out), err
	}
	return t
}

// newTool returns a tool without its function. It is separate from New because the code of New is
// compiled once for each tool.
func newTool(spec Spec, in, out reflect.Type) *Tool {
	if spec.Doc == "" {
		spec.Doc = spec.Family.doc(spec.Name)
	}
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

// decode fills in, a pointer to the function's input, from the arguments, and marks a mutation with
// its digest.
func (t *Tool) decode(args checked, in any) error {
	if err := t.fill(args.json, in); err != nil {
		return err
	}
	if m, ok := in.(marked); ok {
		m.mark(t.Name, t.digest(args.values))
	}
	return nil
}

// fill decodes arguments into the fields of in, a pointer to the input of the tool's function.
func (t *Tool) fill(args map[string]json.RawMessage, in any) error {
	if err := fill(args, in); err != nil {
		return fault.New(t.Family.Malformed,
			"the arguments of %s are not of the right form", t.Name).Because(err)
	}
	return nil
}

// hasMember reports whether the JSON of a struct type can have a member with this name.
func hasMember(t reflect.Type, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(field reflect.StructField) bool {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		return key == name
	})
}

// OutputSchema returns the JSON Schema of the data of an answer. The caller must not change it.
func (t *Tool) OutputSchema() *jsonschema.Schema { return t.output() }

// reply returns the Reply of an output, to which out points: the output as Data, and the parts that
// an embedded Aside or a Partial declare.
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

// Usable reports whether a caller may make at least some calls of the tool, in some vault.
func (t *Tool) Usable(c auth.Caller) bool {
	role, changes := t.Role, t.Kind.Changes()
	if t.Reads != nil {
		role, changes = auth.Reader, false
	}
	return c.Role(t.anywhere()).Allows(role) && t.Permitted(c) && (!c.ReadOnly || !changes)
}

// OnlyReads reports whether a caller may use only those calls of the tool that read.
func (t *Tool) OnlyReads(c auth.Caller) bool {
	return t.Reads != nil && (c.ReadOnly || !c.Role(t.anywhere()).Allows(t.Role))
}

// Hidden returns, sorted, the arguments that raise a call above the permissions that the caller has
// anywhere. A list of tools for the caller omits them.
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

// MayMutate reports whether some call of the tool changes stored data.
func (t *Tool) MayMutate() bool {
	for _, r := range t.Raises {
		if r.Kind.Mutates() {
			return true
		}
	}
	return t.Kind.Mutates()
}

// anywhere returns the scope in which a caller needs a role to use the tool at all: the whole
// tenant, or "" for any vault.
func (t *Tool) anywhere() string {
	if t.Tenant {
		return auth.AllVaults
	}
	return ""
}

// Permitted reports whether the token of a caller permits this tool. Tools for Anyone, which only
// report on the caller itself, are permitted by every token.
func (t *Tool) Permitted(c auth.Caller) bool { return t.Role == auth.Anyone || c.MayCall(t.Name) }

// Arg returns the argument with this name or alias. A name with dashes is also tried with
// underscores.
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
	if strings.Contains(name, "-") { // the spelling of the first Raven
		return t.Arg(strings.ReplaceAll(name, "-", "_"))
	}
	return Arg{}, false
}

// check returns an error if the Spec is invalid or inconsistent: an incomplete description, a role
// that does not fit the kind of change, or a name of an argument that the tool does not have. It is
// called by New, so that a wrong Spec ends the program at its start.
func (t *Tool) check() error {
	switch {
	case t.Name == "" || t.Family == nil || t.Title == "" || strings.TrimSpace(t.Doc) == "":
		return fmt.Errorf("a tool has a name, a family, a title and a doc")
	case t.Role == auth.Nobody:
		return fmt.Errorf("a tool names the role that it needs")
	case t.Role != auth.Anyone && !t.Role.Valid():
		return fmt.Errorf("there is no role %q", t.Role)
	case t.Kind.Mutates() && !t.Role.Allows(auth.Editor):
		return fmt.Errorf("a mutation needs at least the role editor")
	case t.Tenant && t.Subject != "":
		return fmt.Errorf("a tool of the tenant has no vault as its subject")
	case t.Makes && t.Subject == "":
		return fmt.Errorf("a tool that creates a vault names it")
	}
	if _, ok := t.Arg("as_of"); ok && t.Unversioned {
		return fmt.Errorf("a tool of data without versions has no as_of")
	}
	for name, r := range t.Raises {
		if !r.Role.Valid() {
			return fmt.Errorf("the argument %q names the role that it needs", name)
		}
	}
	for _, r := range t.Resources {
		if r.Each && len(r.Vars()) != 1 {
			return fmt.Errorf("%s has one resource for each value of a variable, so it must have one variable", r.URI)
		}
	}
	for _, name := range t.named() {
		if a, ok := t.Arg(name); !ok || a.Name != name {
			return fmt.Errorf("the spec names %q, which is not an argument", name)
		}
	}
	return t.checkArgs()
}

// CommandFor returns the first command that can express a call. arg returns the JSON value of an
// argument by name; the values must equal those in the command's Set. If no command fits, it
// returns the first command, or the zero Command if there is none, and false.
func (t *Tool) CommandFor(arg func(name string) json.RawMessage) (way Command, ok bool) {
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

// named returns the names of all arguments that the Spec mentions, possibly with repetitions. check
// looks each of them up, so that a renamed argument cannot leave a name behind.
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

// checkArgs returns an error if the tags of the arguments are invalid or inconsistent. Each meaning
// occurs at most once, because a projection looks up arguments by their meaning.
func (t *Tool) checkArgs() error {
	meant := t.meanings()
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

// formArgs are the arguments that change the form of an answer. No tool may declare one of its own.
var formArgs = []string{"only", "envelope"}

// usual maps names that have the same meaning in most families to that meaning. An argument with
// such a name must declare a meaning.
var usual = map[string]Meaning{
	"if_version": MeansVersion, "idempotency_key": MeansKey, "dry_run": MeansDry, "page_token": MeansToken,
}

// meanings returns the meanings of the arguments.
func (t *Tool) meanings() []Meaning {
	var all []Meaning
	for _, a := range t.Args {
		if a.Means != "" {
			all = append(all, a.Means)
		}
	}
	return all
}

// Positional parses one entry of Command.Args into the argument's name, whether it is optional, and
// whether it takes all remaining words.
func Positional(entry string) (name string, optional, rest bool) {
	if n := len(entry); n > 3 && entry[n-3:] == "..." {
		return entry[:n-3], true, true
	}
	if n := len(entry); n > 1 && entry[n-1] == '?' {
		return entry[:n-1], true, false
	}
	return entry, false, false
}

// positionals returns the names of the arguments in Args.
func (c Command) positionals() []string {
	var names []string
	for _, entry := range c.Args {
		name, _, _ := Positional(entry)
		names = append(names, name)
	}
	return names
}
