package clitool

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Target specifies where the tools are and which caller they are called as. It comes from the
// global flags and the environment. A field that was not given is empty. At most one of Server,
// Data and Folder is used; which one, if several are given, is decided by Target.
type Target struct {
	Server string // address of a server
	Token  string // authenticates the caller; never shown
	Data   string // a local data directory
	Vault  string // name of a vault
	Folder string // a directory that is itself a vault; Vault is then empty

	Agent    string // agent that acts for the principal
	Session  string // session for view state
	ReadOnly bool   // refuse every mutation

	// From maps the names of global flags to the source of their values: --server, ROOKERY_SERVER.
	// Flags that were not given are missing.
	From map[string]string

	// Existing says that nothing may be created: a local data directory that does not exist is an
	// error.
	Existing bool

	// Reading says that the only call changes nothing.
	Reading bool
}

// A global is a flag that every command has. Its value can also come from the environment; a flag
// on the line takes precedence.
type global struct {
	name  string
	value string // placeholder for its value in help; empty: it is boolean
	doc   string

	// env are the environment variables that provide its value if the flag is not given; the first
	// one that is set counts.
	env []string
}

// globals are the flags for the target and for the form of answers.
var globals = []global{
	{"server", "URL", "address of the server", []string{"ROOKERY_SERVER"}},
	{"token", "TOKEN", "token for the server; prefer the environment, which is not visible in " +
		"the process list",
		[]string{"ROOKERY_TOKEN"}},
	{"data", "DIR", "local data directory", []string{"ROOKERY_DATA"}},
	{"vault", "NAME", "name of the vault; with a path separator or a dot: the path of a folder of notes",
		[]string{"ROOKERY_VAULT", "RAVEN_VAULT"}},
	{"agent", "NAME", "agent name for the history and the audit log",
		[]string{"ROOKERY_AGENT"}},
	{"session", "NAME", "session for view state", []string{"ROOKERY_SESSION"}},
	{"readonly", "", "refuse all changes", []string{"ROOKERY_READONLY"}},
	{"json", "", "print the answer as JSON", nil},
	{"bare", "", "print only the data of the answer, as JSON", nil},
	{"envelope", "", "print the whole answer as JSON; --envelope=false is --bare", nil},
}

// addGlobals adds the global flags. Their help names the environment variables. The values of
// variables are not defaults of the flags, because a flag on the line takes precedence in a
// different way; see Target.
func addGlobals(flags *pflag.FlagSet) {
	for _, g := range globals {
		doc := g.doc
		if len(g.env) > 0 {
			doc += " ($" + strings.Join(g.env, ", $") + ")"
		}
		if g.value == "" {
			flags.Bool(g.name, false, doc)
		} else {
			flags.Var(&named{kind: g.value}, g.name, doc)
		}
	}
}

// InEnvironment reports whether the value of a global flag comes from the environment. It is false
// if the flag has no value.
func (t Target) InEnvironment(flag string) bool {
	from := t.From[flag]
	return from != "" && !strings.HasPrefix(from, "--")
}

// A named is the value of a text flag with a placeholder for help.
type named struct{ text, kind string }

var _ pflag.Value = (*named)(nil)

// Set implements pflag.Value.
func (n *named) Set(text string) error { n.text = text; return nil }

// String implements pflag.Value.
func (n *named) String() string { return n.text }

// Type implements pflag.Value. It returns the placeholder.
func (n *named) Type() string { return n.kind }

// isFolder reports whether the value of --vault is the path of a folder rather than the name of a
// vault: it contains a slash, a backslash or a dot, which no name of a vault does.
func isFolder(vault string) bool { return strings.ContainsAny(vault, `/\.`) }

// Target returns the target of a command line, from its global flags and the environment. c must be
// the command that is being executed. Flags on the line take precedence over the environment, also
// over another kind of place there: --data over ROOKERY_SERVER, for example. Contradictions are
// INVALID_PARAMETER or usage errors.
//
// A folder is a place, although it is given by --vault, so it competes with --server and --data;
// the name of a vault is a vault at that place. If none of the three places is given, Connect
// chooses: the server in the configuration, or the default data directory.
func (a *App) Target(c *cobra.Command) (Target, error) {
	t := Target{
		Server: a.global(c, "server"), Token: a.global(c, "token"), Data: a.global(c, "data"),
		Agent: a.global(c, "agent"), Session: a.global(c, "session"),
		From: a.sources(c),
	}
	if v := a.global(c, "vault"); isFolder(v) {
		t.Folder = v
		if err := t.onePlace(); err != nil {
			return Target{}, err
		}
	} else {
		t.Vault = v
	}
	if err := t.serverOrData(); err != nil {
		return Target{}, err
	}
	if text := a.global(c, "readonly"); text != "" {
		readonly, err := strconv.ParseBool(text)
		if err != nil {
			return Target{}, usagef("%s must be true or false", t.From["readonly"])
		}
		t.ReadOnly = readonly
	}
	return t, t.check()
}

// serverOrData ignores a server in the environment if the line has a data directory. If the
// environment has both, the server is used, and Connect ignores the data directory; if the line has
// both, it returns an error.
func (t *Target) serverOrData() error {
	switch {
	case t.Data == "" || t.InEnvironment("data"):
	case t.Server != "" && !t.InEnvironment("server"):
		return t.conflict("server", "data")
	default:
		t.Server = ""
	}
	return nil
}

// onePlace ensures that a folder is the only target: the line takes precedence over the
// environment, and two targets from the same source are an error. A folder in the environment is
// ignored if the line has another place.
func (t *Target) onePlace() error {
	for _, other := range []struct {
		flag string
		text *string
	}{{"server", &t.Server}, {"data", &t.Data}} {
		switch here, there := t.InEnvironment("vault"), t.InEnvironment(other.flag); {
		case *other.text == "":
		case !here && there:
			*other.text = ""
		case here && !there:
			t.Folder = ""
		default:
			return t.conflict("vault", other.flag)
		}
	}
	return nil
}

// conflict returns the INVALID_PARAMETER fault of two targets that exclude each other. It names the
// sources of both, because one of them may be in the environment, where a person does not see it.
func (t *Target) conflict(one, other string) error {
	f := fault.New(fault.InvalidParameter, "%s and %s cannot be used together: both set the "+
		"location of the vaults", t.source(one), t.source(other))
	if one == "vault" {
		f = f.Fix("to select a vault there, give only its name: --vault NAME")
	}
	if t.InEnvironment(other) {
		return f.Fix("unset %s", t.From[other])
	}
	return f.Fix("leave one of them out")
}

// source returns the source of a flag's value for messages: the flag, or the variable with the
// words "from the environment".
func (t *Target) source(flag string) string {
	name := t.From[flag]
	switch {
	case flag == "vault" && t.InEnvironment(flag):
		return name + " (a folder, from the environment)"
	case flag == "vault":
		return name + " with a folder"
	case t.InEnvironment(flag):
		return name + " (from the environment)"
	}
	return name
}

// check returns a fault if a name is longer than servers accept. Such a name would otherwise be
// refused as a malformed header.
func (t Target) check() error {
	for _, given := range []struct{ flag, name string }{{"agent", t.Agent}, {"session", t.Session}} {
		if utf8.RuneCountInString(given.name) > tool.MaxActor {
			return fault.New(fault.InvalidParameter, "%s must have at most %d characters",
				t.From[given.flag], tool.MaxActor)
		}
	}
	return nil
}

// global returns the value of a global flag, or of the first of its environment variables that is
// set.
func (a *App) global(c *cobra.Command, name string) string {
	if text := given(c, name); text != "" {
		return text
	}
	for _, g := range globals {
		if g.name != name {
			continue
		}
		var text string
		for _, variable := range g.env {
			text = cmp.Or(text, a.env(variable))
		}
		return text
	}
	return ""
}

// sources returns the sources of the values of global flags; see Target.From. Of several variables,
// the first that is set counts.
func (a *App) sources(c *cobra.Command) map[string]string {
	all := map[string]string{}
	for _, g := range globals {
		if given(c, g.name) != "" {
			all[g.name] = "--" + g.name
			continue
		}
		for _, variable := range g.env {
			if a.env(variable) != "" {
				all[g.name] = variable
				break
			}
		}
	}
	return all
}

// given returns the value of a global flag, or "" if it is not on the command line. If an argument
// of a tool hides the global flag, the flag on the line sets the argument, and the global flag is
// not given. A boolean flag has the value "true" or "false".
func given(c *cobra.Command, name string) string {
	f := c.Root().PersistentFlags().Lookup(name)
	if f == nil || !f.Changed {
		return ""
	}
	return f.Value.String()
}

// A form is the form in which an answer is printed.
type form int

// The forms: text for people, the envelope as JSON, and only the data as JSON.
const (
	forPeople form = iota
	asEnvelope
	asBare
)

// formOf returns the form for JSON or for people. JSON means the envelope, unless another flag or
// the family of the tool says otherwise.
func formOf(json bool) form {
	if json {
		return asEnvelope
	}
	return forPeople
}

// formFor returns the form that a command line of the tool requests. For a terse family --json
// means the bare form, unless --envelope is given. The error is a usage error.
func (c *command) formFor(cmd *cobra.Command) (form, error) {
	f, err := formFor(cmd)
	if f == asEnvelope && c.tool.Family.Terse && given(cmd, "envelope") != "true" {
		f = asBare
	}
	return f, err
}

// formFor returns the form that a command line requests: that for people without any of --json,
// --bare and --envelope. --bare together with --envelope is a usage error.
func formFor(c *cobra.Command) (form, error) {
	bare, envelope := given(c, "bare") == "true", given(c, "envelope")
	switch {
	case bare && envelope == "true":
		return 0, usagef("--bare and --envelope exclude each other")
	case bare || envelope == "false":
		return asBare, nil
	}
	return formOf(envelope == "true" || given(c, "json") == "true"), nil
}
