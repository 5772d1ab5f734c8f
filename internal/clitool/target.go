package clitool

import (
	"cmp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rookery/internal/fault"
)

// A Target says where the tools are and who calls them: the global flags, and behind them the
// environment. An empty field was not given.
type Target struct {
	Server string // address of a server
	Token  string // proves who calls; it is never shown
	Data   string // a local data directory
	Vault  string // name of a vault
	Folder string // a directory that is itself the vault; Vault is empty then

	Agent    string // who acts under the principal
	Session  string // whose view state is meant
	ReadOnly bool   // every mutation is refused

	// From says how each of these was given, by the name of its global flag: --server, ROOKERY_SERVER. What
	// was not given has no entry.
	From map[string]string

	// Existing says that nothing is to be made where there is nothing: a local data directory that
	// is not there is an error.
	Existing bool

	// Reading says that the one call that is made changes nothing.
	Reading bool
}

// global is a flag that every command has.
type global struct {
	name  string
	value string // what help calls its value; empty: it is true or false
	doc   string
	env   []string // where its value comes from if the flag is not given; the first that is set
}

// globals are the flags that say where the tools are, and how to show what they answer.
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

// addGlobals makes the global flags, whose help names the environment behind them.
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

// InEnvironment reports whether what a global flag stands for comes from the environment.
func (t Target) InEnvironment(flag string) bool {
	from := t.From[flag]
	return from != "" && !strings.HasPrefix(from, "--")
}

// A named is the text of a flag, whose help has a word for it.
type named struct{ text, kind string }

var _ pflag.Value = (*named)(nil)

// Set takes the text.
func (n *named) Set(text string) error { n.text = text; return nil }

// String is the text.
func (n *named) String() string { return n.text }

// Type is the word for it.
func (n *named) Type() string { return n.kind }

// isFolder reports whether the text of --vault is the path of a folder and not the name of a vault.
func isFolder(vault string) bool { return strings.ContainsAny(vault, `/\.`) }

// Target is where a command line points: what its global flags say, else the environment. The
// command is one that is being run.
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

// serverOrData takes care that a data directory on the line is not overruled by a server that only the
// environment names. Where the environment names both, the server is meant.
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

// onePlace takes care that a folder is the only place that is meant: what stands on the line beats what
// the environment says.
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

// conflict is the fault of two places of which only one can be meant.
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

// source is how a message names what a person gave.
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

// maxName is how many characters the name of an agent or a session has at most (CONTRACT §3).
const maxName = 128

// check refuses names that no server takes.
func (t Target) check() error {
	for _, given := range []struct{ flag, name string }{{"agent", t.Agent}, {"session", t.Session}} {
		if utf8.RuneCountInString(given.name) > maxName {
			return fault.New(fault.InvalidParameter, "%s must have at most %d characters",
				t.From[given.flag], maxName)
		}
	}
	return nil
}

// global is the text of a global flag, else of its environment variables.
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

// sources are the flags and variables that the global flags have their values from.
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

// given is the text of a global flag, empty if it is not on the command line. An argument of a tool
// may hide a global flag of its name; then that one is asked, and was not given.
func given(c *cobra.Command, name string) string {
	f := c.Root().PersistentFlags().Lookup(name)
	if f == nil || !f.Changed {
		return ""
	}
	return f.Value.String()
}

// A form is how an answer is printed.
type form int

const (
	forPeople form = iota
	asEnvelope
	asBare
)

func formOf(json bool) form {
	if json {
		return asEnvelope
	}
	return forPeople
}

// formFor is the form that a command line of the tool asks for: --json of a terse family is the bare one.
func (c *command) formFor(cmd *cobra.Command) (form, error) {
	f, err := formFor(cmd)
	if f == asEnvelope && c.tool.Family.Terse && given(cmd, "envelope") != "true" {
		f = asBare
	}
	return f, err
}

// formFor is the form that a command line asks for.
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
