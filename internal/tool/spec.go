// Package tool is the model of a tool, from which every projection is derived: the HTTP route, the
// MCP tool, the command, the OpenAPI operation and the page of documentation (DESIGN §1.4).
//
// A tool is a typed function and a Spec. The Spec says all that a projection must know, and the
// function what the tool does. Two laws: no projection knows a tool by name, and no tool knows how
// it was called.
package tool

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// A Spec says what a tool is called and how it is reached. Only Name, Family, Title, Doc and Role
// are always required.
type Spec struct {
	Name   string  // the long name, unique in the catalogue: raven_object_get
	Short  string  // the name on its family's own MCP endpoint; empty: Name
	Family *Family // what it has in common with its family
	Title  string  // a few words for a person
	Doc    string  // Markdown: a paragraph that sums it up, then sections; see Prose
	Role   auth.Role
	Kind   Kind

	// Raises are arguments with which a call needs more than Role, or does more than Kind says: by name. An
	// argument that is false or null raises nothing. See Call.Needs.
	Raises map[string]Raise

	// Reads says which calls of a tool that changes something only read: a reader may make them, and so may a
	// caller that may only read. Nil: none.
	Reads *When

	// Subject is the argument that names the vault in which the role is needed. Empty: `vault`, if
	// the tool has such an argument; else a role in any vault will do.
	Subject string

	// Makes says that the tool makes its Subject: who may not is told that, whether there is a vault of the
	// name or not, for it would mean nothing to be told that there is none.
	Makes bool

	// Tenant says that the role is needed in the tenant as a whole, and not only in some vault of it: the
	// tool gives access, or shows what all vaults have in common.
	Tenant bool

	// Unversioned says that the tool reads what has no versions: bookmarks, labels, the view of a session. It
	// takes no `as_of`.
	Unversioned bool

	// Anywhere says that the tool has an argument `vault` only to be reached under one: its answer is
	// the same in all, and none has to be named.
	Anywhere bool

	// Idempotent says that the same call twice leaves what the first one left, even without a key.
	Idempotent bool

	Route    Route
	Commands []Command // the first one is shown in help and documentation
	Aliases  []string  // other long names; accepted everywhere, never listed

	// Old says of some of the Aliases how calls under them spell the arguments.
	Old map[string]OldForm

	// Lifted are arguments that are objects of other arguments of the tool: a call may give these in them. No call
	// gives one both ways, and the tool sees only the others.
	Lifted []string

	// Former are arguments that the tool had once, each with the tools that do what it did: a call with one is
	// refused, and told them.
	Former map[string][]string

	// Flags gives arguments another name on the command line.
	Flags map[string]string

	// Presets are values that the command line gives to arguments which the line does not name.
	Presets []Preset

	// Nested are flags of the command line for members of arguments that are objects.
	Nested []NestedFlag

	// Stdin is the argument whose text --stdin reads on the command line; empty: --stdin reads an object of
	// arguments.
	Stdin string

	// Body is the argument that --input, --input-file and --stdin fill with their JSON on the command line, where that
	// is no object of arguments that has a member of its name; empty: they read an object of arguments.
	Body string

	// Input and Output say that the command line reads files into an argument, or writes files
	// from a list in the answer.
	Input, Output *Files

	// List is the name of the list in the data of the answer, which `only` and Columns are about; empty:
	// `items`, else the only list of objects that there is.
	List string

	// Columns are the members of the items of its list that a person is shown, in order; empty: all.
	// Programs get every one, and so does who names some with `only`.
	Columns []string

	// Marks names, for a text member of the items of its list, the member that has the ranges of bytes
	// to emphasize in it: pairs of from and up to.
	Marks map[string]string

	// Empty says to a person what an empty list has none of. The first one counts whose arguments are
	// all given.
	Empty []Empty

	// Diff is the member of the items of its list that is a text in the unified format of diff, which people
	// see below each item; empty: there is none.
	Diff string

	// Job is the long name of the tool that tells of a job, if the answer may have a `job` that goes on in place
	// of the rest; empty: it never has.
	Job string

	// Asks are what a person at a terminal is asked before a call.
	Asks []Ask

	// Resources are the documents that the tool reads for clients that know documents by a URI.
	Resources []Resource

	// Prompt says that the answer is an instruction for a model, which a person picks: its data is
	// {text}. It goes by its LocalName among the prompts, so Short must be unique among them.
	Prompt bool

	// Uses are the long names of the tools that the text of a prompt names. A prompt is offered only
	// where each of them can be called.
	Uses []string

	// Completes are the kinds of values that the tool completes; see Complete. Its input embeds a
	// Completing, and its output is Values.
	Completes []string
}

// Aid reports whether the tool helps whoever makes a call, and is none that a model chooses: a
// prompt, or one that completes. Where tools are listed for models it is left out.
func (s *Spec) Aid() bool { return s.Prompt || len(s.Completes) > 0 }

// Kind says what a tool does to what is remembered. View state is not remembered.
type Kind int

// The kinds of tool.
const (
	Read    Kind = iota // changes nothing
	View                // changes only what one session sees
	Write               // changes the vault, and takes nothing away
	Destroy             // may take something away
)

// Mutates reports whether a tool of this kind changes what is remembered.
func (k Kind) Mutates() bool { return k == Write || k == Destroy }

// Changes reports whether a tool of this kind changes anything, if only what one session sees. Who may
// only read may not call it.
func (k Kind) Changes() bool { return k != Read }

// A Raise is the role that a call needs, and the kind of what it does.
type Raise struct {
	Role auth.Role
	Kind Kind
}

// When names calls by an argument and the values that it has in them.
type When struct {
	Arg    string
	Values []string
}

// above is the higher of two, each in role and in kind.
func (r Raise) above(o Raise) Raise {
	if o.Role.Allows(r.Role) || r.Role == auth.Anyone {
		r.Role = o.Role
	}
	r.Kind = max(r.Kind, o.Kind)
	return r
}

// A Family is what its tools have in common (CONTRACT §4).
type Family struct {
	Name string // also its MCP set and its package
	Base string // in front of its tools' routes: /v1/vaults/{vault}

	// The codes for an argument that is missing, one that is malformed, and several problems at
	// once (CONTRACT §2).
	Missing, Malformed, Several fault.Code

	// Crowded is the code for a list or an object with too many entries; empty: BATCH_TOO_LARGE.
	Crowded fault.Code

	// Bare returns the answer of a call that failed, in the bare form; nil: the `error` of the envelope.
	Bare func(*fault.Fault) any

	// Also returns members that the `error` of an envelope has beside those of CONTRACT §1; nil: none.
	Also func(*fault.Fault) map[string]any

	// Told returns a fault of a tool of the family, with the details that the family adds to every fault; nil:
	// it adds none.
	Told func(tool string, f *fault.Fault) *fault.Fault

	// Exit returns the exit code of a command that failed; nil: Code.Exit.
	Exit func(fault.Code) int

	// Terse says that --json prints the bare form on the command line, and that a failure is then one
	// line of JSON on stderr, with nothing on stdout. This includes a line that cannot be read. --envelope
	// prints the envelope on stdout all the same.
	Terse bool

	// Groups says of each word of the command line that only groups commands of the family what these are
	// for, in a line.
	Groups map[string]string
}

// BareFault returns what a failed call answers in the bare form.
func (f *Family) BareFault(failed *fault.Fault) any {
	if f == nil || f.Bare == nil {
		return failed
	}
	return f.Bare(failed)
}

// ExitCode returns the exit code of a command that failed with a code.
func (f *Family) ExitCode(code fault.Code) int {
	if f == nil || f.Exit == nil {
		return code.Exit()
	}
	return f.Exit(code)
}

// A Route is a method and a path behind the family's Base. One path parameter, {name}, may be its
// last segment; it is the argument of that name.
type Route struct {
	Method string
	Path   string
}

// A Command is one way to call a tool from the command line.
type Command struct {
	Words string // "object get"

	// Args are the arguments that are given without a flag, in order. A "?" behind a name says that
	// it may be left out, "..." that it takes all the words that follow: as a list, or, where it is a
	// text, as one text with spaces between the words.
	Args []string

	// Pairs is the argument that takes every word of the form name=value.
	Pairs string

	// Set has the values of arguments that the command stands for, as text by name: no flag gives them.
	Set map[string]string
}

// A Preset is the value that an argument has on the command line if the line does not give it one. A flag leaves it
// out.
type Preset struct {
	Arg   string
	Value string // as JSON
	Flag  string // without dashes
	Doc   string // of the flag
}

// A NestedFlag is a flag for a member of an argument that is an object, or of the items of one that is a list of
// objects: each value of the flag is then an item.
type NestedFlag struct {
	Name string         // of the flag, without dashes
	Path string         // intent.goal
	With map[string]any // what else each item has
}

// Empty says what an empty list has none of, and which call makes the first. In its texts {name}
// stands for the value of an argument of the call that was made.
type Empty struct {
	Of   string            // "objects of type {type}"
	Tool string            // makes one; empty: none does
	Args map[string]string // of that tool
}

// placeholder is an argument in a text of an Empty.
var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// Names returns the arguments that its texts name.
func (e Empty) Names() []string {
	var names []string
	for _, text := range append(slices.Collect(maps.Values(e.Args)), e.Of) {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Fill returns a text of it with the values of the arguments.
func (e Empty) Fill(text string, value func(name string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		return value(s[1 : len(s)-1])
	})
}

// An Ask is a question that a person at a terminal answers before a call is made that cannot be undone. Programs
// are not asked.
type Ask struct {
	With     string // the argument that is true in such a call; empty: each call of the tool is one
	Skip     string // the argument that is true where nobody is asked; empty: there is none
	Question string // in which {name} stands for the value of an argument

	// Confirm is an argument that must say what Of says. It is what the person types, and what --yes fills in.
	// Empty: the person says yes.
	Confirm, Of string

	// What names what Confirm must say where no argument does: it is what the person types, and --yes cannot know
	// it. Empty: Of does.
	What string
}

// LocalName is the name of the tool on its family's own MCP endpoint.
func (s *Spec) LocalName() string {
	if s.Short != "" {
		return s.Short
	}
	return s.Name
}

// AnswersTo reports whether a name may mean the tool: its own, its local one, or an alias.
func (s *Spec) AnswersTo(name string) bool {
	return s.Name == name || s.LocalName() == name || slices.Contains(s.Aliases, name)
}

// Path is the whole path of the tool's route, empty if it has none of its own.
func (s *Spec) Path() string {
	if s.Route.Path == "" {
		return ""
	}
	return s.Family.Base + s.Route.Path
}

// PathArg is the argument that is the last segment of the route, empty if there is none. The
// {vault} of a family's Base is not meant.
func (s *Spec) PathArg() string {
	i := strings.LastIndex(s.Route.Path, "/{")
	if i < 0 || !strings.HasSuffix(s.Route.Path, "}") {
		return ""
	}
	return s.Route.Path[i+2 : len(s.Route.Path)-1]
}
