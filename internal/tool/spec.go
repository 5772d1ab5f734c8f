// Package tool defines the model of a tool. All projections are derived from it: the HTTP route,
// the MCP tool, the command, the OpenAPI operation and the documentation page (DESIGN §1.4).
//
// A tool is a typed function with a Spec. The Spec contains everything that a projection needs; the
// function does the work. Two laws apply: no projection knows a tool by name, and no tool knows how
// it was called.
//
// # A call
//
// A projection calls Catalogue.Do with a Request: the name of a tool and its arguments, each a JSON
// value (catalogue.go). The call passes through the interceptors, which authorize, limit and audit
// it (call.go). After them the arguments are checked against the tool's schema (check.go): problems
// are reported only to callers that may make the call. Then defaults are filled in, a page token is
// resolved, and the function is called with its input, which call.go decodes. Its output becomes an
// Answer (encode.go), of at most MaxBody bytes as JSON; a list that is larger is requested again
// with a lower limit. Catalogue.Invoke is the same call with JSON for the arguments and the answer.
//
// # Arguments
//
// The fields of the input struct are the arguments, and their tags the rest of the declaration; see
// New. arg.go derives the JSON Schema of a type and builds that of an argument on first use,
// because a process uses few of them; schema.go adds bounds. The same schema is published to
// clients and used for checks, so the two cannot differ (check.go; checknested.go for the members
// of objects).
//
// # Pages
//
// A tool returns a page token of its own in its Meta. The token in the answer also contains a
// binding (call.go): digests of the tool, the vault and the other arguments, so that a token
// which is used with another call is an error and not a wrong page.
package tool

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A Spec is the description of a tool: its names, routes, commands, permissions and documentation.
// Only Name, Family, Title and Role are always required, and Doc if the Family has no file of it.
type Spec struct {
	Name   string  // the long name, unique in the catalogue: raven_object_get
	Short  string  // the name on its family's own MCP endpoint; empty: Name
	Family *Family // the family that it belongs to
	Title  string  // a few words for a person
	Doc    string  // Markdown: a summary paragraph, then sections; see Prose. Empty: see Family.Docs
	Role   auth.Role
	Kind   Kind

	// Raises maps the names of arguments to the role and the kind that a call with them has at
	// least. An argument that is false or null raises nothing. See Call.Needs.
	Raises map[string]Raise

	// Reads selects the calls of a changing tool that only read. A reader and a read-only caller
	// may make them. Nil: none.
	Reads *When

	// Subject is the argument that names the vault in which the caller needs the role. Empty:
	// `vault`, if the tool has that argument; otherwise the role in any vault is enough.
	Subject string

	// Makes marks a tool that creates its Subject. Without the role the answer is
	// PERMISSION_DENIED, never NOT_FOUND: NOT_FOUND makes no sense for a vault that does not exist
	// yet.
	Makes bool

	// Tenant says that the role is needed for the tenant as a whole, not for one vault: the tool
	// manages access, or shows data that all vaults share.
	Tenant bool

	// Unversioned says that the tool reads data without versions: bookmarks, labels, the view of a
	// session. It has no argument `as_of`.
	Unversioned bool

	// Anywhere says that the argument `vault` exists only to give the tool a route below a vault.
	// The answer does not depend on it, and it may be omitted.
	Anywhere bool

	// Idempotent says that repeating a call has no further effect, even without an idempotency key.
	Idempotent bool

	Route    Route
	Commands []Command // the first one is shown in help and documentation
	Aliases  []string  // other long names; accepted everywhere, never listed

	// Old maps some of the Aliases to the form of the arguments in calls under that name.
	Old map[string]OldForm

	// Lifted are object arguments whose members are other arguments of the tool. A call may give a
	// member directly or in the object, but not both. The tool sees only the members.
	Lifted []string

	// Former maps removed arguments to the tools that replace them. A call with such an argument is
	// refused, with these tools as fixes.
	Former map[string][]string

	// Flags maps arguments to their names on the command line, where these differ.
	Flags map[string]string

	// Presets are default values of arguments that apply only on the command line.
	Presets []Preset

	// Nested are command-line flags for members of arguments that are objects.
	Nested []NestedFlag

	// Stdin is the argument that --stdin fills with text on the command line. Empty: --stdin reads
	// a JSON object of arguments.
	Stdin string

	// Body is the argument that --input, --input-file and --stdin fill with JSON on the command
	// line, unless that JSON is an object of arguments with a member of this name. Empty: they read
	// an object of arguments.
	Body string

	// Input maps files that the command line reads to an argument, and Output maps a list in the
	// answer to files that it writes.
	Input, Output *Files

	// List is the key of the list in the answer's data to which `only` and Columns apply. Empty:
	// `items`, else the only list of objects.
	List string

	// Columns are the members of list items that the command line shows to a person, in order;
	// empty: all. JSON output and calls with `only` are not affected.
	Columns []string

	// Marks maps a text member of list items to the member that contains the byte ranges to
	// emphasize in it, as pairs of start and end.
	Marks map[string]string

	// Empty are messages for a person about an empty list. The first one whose arguments are all
	// given is used.
	Empty []Empty

	// Diff is the member of list items that is a unified diff, shown to people below each item.
	// Empty: none.
	Diff string

	// Job is the long name of the tool that reports on a job, if the answer may contain a `job`
	// that continues in the background. Empty: it never does.
	Job string

	// Asks are the questions that a person at a terminal answers before a call.
	Asks []Ask

	// Resources are the documents that clients can read from this tool by URI.
	Resources []Resource

	// Prompt says that the answer is an MCP prompt: its data is {text}, an instruction for a model.
	// Its name as a prompt is its LocalName, so Short must be unique among prompts.
	Prompt bool

	// Uses are the long names of the tools that a prompt's text mentions. The prompt is offered
	// only if all of them can be called.
	Uses []string

	// Completes are the kinds of completion suggestions that the tool returns; see Complete. Its
	// input embeds CompletionIn, and its output is Values.
	Completes []string
}

// Aid reports whether the tool is an aid for clients, a prompt or a source of completions, rather
// than a tool that a model chooses. Lists of tools for models omit it.
func (s *Spec) Aid() bool { return s.Prompt || len(s.Completes) > 0 }

// A Kind classifies the effect of a tool on stored data. View state does not count as stored data.
type Kind int

// The kinds of tool.
const (
	Read    Kind = iota // changes nothing
	View                // changes only the view state of one session
	Write               // changes the vault, but deletes nothing
	Destroy             // may delete something
)

// Mutates reports whether a tool of this kind changes stored data.
func (k Kind) Mutates() bool { return k == Write || k == Destroy }

// Changes reports whether a tool of this kind changes anything, including the view state of a
// session. A read-only caller is not allowed to call such a tool.
func (k Kind) Changes() bool { return k != Read }

// A Raise is the role that a call needs, and the kind of effect it has.
type Raise struct {
	Role auth.Role
	Kind Kind
}

// A When selects calls: those in which the argument Arg has one of the Values.
type When struct {
	Arg    string
	Values []string
}

// above returns the higher of the two roles and the higher of the two kinds.
func (r Raise) above(o Raise) Raise {
	if o.Role.Allows(r.Role) || r.Role == auth.Anyone {
		r.Role = o.Role
	}
	r.Kind = max(r.Kind, o.Kind)
	return r
}

// A Family is a group of tools with common conventions (CONTRACT §4).
type Family struct {
	Name string // also the name of its MCP toolset and its package
	Base string // prefix of its tools' routes: /v1/vaults/{vault}

	// Docs contains the documentation of the tools whose Spec has no Doc. That of raven_object_get
	// is in the file object_get.md.
	Docs fs.ReadFileFS

	// Codes for a missing argument, a malformed argument, and several problems at once (CONTRACT
	// §2).
	Missing, Malformed, Several fault.Code

	// Crowded is the code of a list or an object with too many entries; empty: BATCH_TOO_LARGE.
	Crowded fault.Code

	// Bare returns the answer of a failed call in the bare form; nil: the `error` of the envelope.
	Bare func(*fault.Fault) any

	// Also returns members to add to the `error` of an envelope (CONTRACT §1); nil: none.
	Also func(*fault.Fault) map[string]any

	// AddDetails returns a fault of a tool of the family with the details that the family adds to
	// every fault; nil: it adds none.
	AddDetails func(tool string, f *fault.Fault) *fault.Fault

	// Exit returns the exit code of a command that failed; nil: Code.Exit.
	Exit func(fault.Code) int

	// Terse says that on the command line --json prints the bare form, and that a failure is one
	// line of JSON on stderr with nothing on stdout. This also applies to command lines that cannot
	// be parsed. --envelope still prints the envelope on stdout.
	Terse bool

	// Groups maps each word that groups commands of the family to a one-line description of the
	// group.
	Groups map[string]string
}

// doc returns the documentation of the tool with this name in Docs; "" if there is none.
func (f *Family) doc(name string) string {
	if f == nil || f.Docs == nil {
		return ""
	}
	_, short, _ := strings.Cut(name, "_")
	text, err := f.Docs.ReadFile(short + ".md")
	if err != nil {
		return ""
	}
	return string(text)
}

// BareFault returns the answer of a failed call in the bare form. f may be nil.
func (f *Family) BareFault(failed *fault.Fault) any {
	if f == nil || f.Bare == nil {
		return failed
	}
	return f.Bare(failed)
}

// ExitCode returns the exit code of a command that failed with a code. f may be nil.
func (f *Family) ExitCode(code fault.Code) int {
	if f == nil || f.Exit == nil {
		return code.Exit()
	}
	return f.Exit(code)
}

// A Route is an HTTP method and a path below the family's Base. The last segment may be a parameter
// {name}, which sets the argument of that name.
type Route struct {
	Method string
	Path   string
}

// A Command is one form of a tool on the command line.
type Command struct {
	Words string // "object get"

	// Args are the positional arguments, in order. A suffix "?" marks an optional argument. A
	// suffix "..." marks one that takes all remaining words, as a list or, for a text, joined with
	// spaces.
	Args []string

	// Pairs is the argument that receives every word of the form name=value.
	Pairs string

	// Set contains the values of arguments, as text, that the command implies. They have no flags.
	Set map[string]string
}

// A Preset is the value of an argument on the command line if the user does not set it. Its Flag
// removes the value.
type Preset struct {
	Arg   string
	Value string // as JSON
	Flag  string // without dashes
	Doc   string // of the flag
}

// A NestedFlag is a flag for a member of an object argument, or of the items of an argument that is
// a list of objects. In a list each value of the flag becomes an item.
type NestedFlag struct {
	Name string         // of the flag, without dashes
	Path string         // intent.goal
	With map[string]any // other members of each item
}

// An Empty is a message about an empty list: which objects there are none of, and the call that
// creates the first. In its texts {name} is replaced by the value of an argument of the call.
type Empty struct {
	Of   string            // "objects of type {type}"
	Tool string            // creates one; empty: none does
	Args map[string]string // of that tool
}

// placeholder matches an argument in a text of an Empty.
var placeholder = regexp.MustCompile(`\{([a-z_]+)\}`)

// Names returns the distinct arguments that the texts of e contain, sorted.
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

// Fill returns text with each {name} replaced by value(name).
func (e Empty) Fill(text string, value func(name string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		return value(s[1 : len(s)-1])
	})
}

// An Ask is a question that a person at a terminal must answer before a call that cannot be undone.
// Programs are not asked.
type Ask struct {
	With     string // ask only if this argument is true; empty: always
	Skip     string // do not ask if this argument is true; empty: none
	Question string // {name} is replaced by the value of an argument

	// Confirm is an argument that must have the value of the argument Of. The person types it, and
	// --yes fills it in. Empty: the person answers yes.
	Confirm, Of string

	// What describes the required value of Confirm if no argument has it. The person types it, and
	// --yes cannot fill it in. Empty: see Of.
	What string
}

// LocalName returns the tool's name on its family's own MCP endpoint.
func (s *Spec) LocalName() string {
	if s.Short != "" {
		return s.Short
	}
	return s.Name
}

// AnswersTo reports whether a name is the tool's long name, its local name or an alias.
func (s *Spec) AnswersTo(name string) bool {
	return s.Name == name || s.LocalName() == name || slices.Contains(s.Aliases, name)
}

// Path returns the full path of the tool's route, or "" if it has none.
func (s *Spec) Path() string {
	if s.Route.Path == "" {
		return ""
	}
	return s.Family.Base + s.Route.Path
}

// PathArg returns the argument that is the last segment of the route, or "" if there is none. The
// {vault} of a family's Base does not count.
func (s *Spec) PathArg() string {
	i := strings.LastIndex(s.Route.Path, "/{")
	if i < 0 || !strings.HasSuffix(s.Route.Path, "}") {
		return ""
	}
	return s.Route.Path[i+2 : len(s.Route.Path)-1]
}

// A Prose is a tool's Doc, parsed. The text is Markdown: a first paragraph that summarizes the
// tool, then sections under "## " headings. The section Example has fenced blocks: `sh` for command
// lines, `json` for inputs and answers.
type Prose struct {
	Summary  string   // the first paragraph, on one line
	Text     string   // the whole Doc
	Commands []string // the command lines of all `sh` blocks
}

// Prose parses the Doc.
func (s *Spec) Prose() Prose {
	text := strings.TrimSpace(s.Doc)
	first, _, _ := strings.Cut(text, "\n\n")
	return Prose{
		Summary:  strings.Join(strings.Fields(first), " "),
		Text:     text,
		Commands: fenced(text, "sh"),
	}
}

// List returns the items of the bullet list in a section, without their markers; nil if there is no
// such heading.
func (p Prose) List(heading string) []string {
	_, rest, found := strings.Cut(p.Text, "\n## "+heading+"\n")
	if !found {
		return nil
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	var items []string
	for line := range strings.Lines(section) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			items = append(items, item)
		}
	}
	return items
}

// fenced returns the non-empty lines of the fenced blocks of one language.
func fenced(text, lang string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		case inside && line != "":
			lines = append(lines, line)
		case line == "```"+lang:
			inside = true
		}
	}
	return lines
}
