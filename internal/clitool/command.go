package clitool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A command is one command of a tool. A tool can have several, which set different arguments or
// take them in another order. It is built for one command line, and its flags have the values of
// that line.
type command struct {
	app   *App
	tool  *tool.Tool
	slots []slot
	pairs string            // the argument that receives words of the form name=value
	set   map[string]string // values of arguments that the command implies
	flags map[string][]*texts

	nested []nestedFlag
}

// A slot is a positional argument of a command.
type slot struct {
	name     string // name of the argument; empty: the path of files
	lone     bool   // the path may be a single file
	optional bool
	rest     bool // it takes all remaining words
	required bool // the tool requires it
}

// slotsOf returns the positional arguments of a command. If the tool imports or exports files, one
// of them is a path: that of the argument for the files, or an additional last one. Only the last
// positional argument may take all remaining words.
func slotsOf(t *tool.Tool, way tool.Command) []slot {
	var slots []slot
	files := t.Input != nil || t.Output != nil
	for _, entry := range way.Args {
		name, optional, rest := tool.Positional(entry)
		if t.Input != nil && name == t.Input.Arg {
			slots, files = append(slots, pathSlot(t)), false
			continue
		}
		a, _ := t.Arg(name)
		slots = append(slots, slot{name: name, optional: optional, rest: rest, required: a.Required})
	}
	if files {
		slots = append(slots, pathSlot(t))
	}
	return slots
}

// pathSlot returns the positional argument for the path of files. It has no name, because the path
// is not an argument of the tool: it is on the machine of the caller, and a server never sees it.
func pathSlot(t *tool.Tool) slot {
	return slot{lone: t.Input != nil && t.Input.Single || t.Output != nil && t.Output.Single}
}

// pathLabel returns the placeholder for a path of files in help. lone says that a single file is
// accepted too.
func pathLabel(lone bool) string {
	if lone {
		return "FILE|DIR|ZIP"
	}
	return "DIR|ZIP"
}

// pathDoc describes a path of files.
func pathDoc(lone bool) string {
	if lone {
		return "a file, a folder or a .zip file"
	}
	return "a folder or a .zip file"
}

// label returns the placeholder in help: NAME, [NAME] if it is optional, and NAME... if it takes
// several words.
func (s slot) label() string {
	if s.name == "" {
		return pathLabel(s.lone)
	}
	label := placeLabel(s.name)
	switch {
	case s.rest && s.required:
		return label + "..."
	case s.rest:
		return "[" + label + "]..."
	case s.optional:
		return "[" + label + "]"
	}
	return label
}

// placeLabel returns the placeholder for an argument: its name in upper case, with dashes.
func placeLabel(name string) string { return strings.ToUpper(tool.Kebab(name)) }

// A request is a parsed command line: the call to make, and the form of the answer.
type request struct {
	args map[string]json.RawMessage
	path string // of files to import or export; empty: a call without files
	form form

	terms *terms // nil: the line has no words for arguments yet
}

// read parses a command line. The arguments come from these sources, and one that an earlier source
// has given is not overwritten by a later one:
//
//   - words and flags, including "-" for standard input;
//   - values that the command itself implies, as `section move` implies the operation;
//   - the object of --input, --input-file or --stdin;
//   - presets, if there is no such object, because a program gets no presets;
//   - for the vault, the global flag, which overrides the object, or else the environment.
//
// Usage errors of the line are returned before standard input is read.
func (c *command) read(cmd *cobra.Command, line []string) (*request, error) {
	how, err := c.formFor(cmd)
	if err != nil {
		return nil, err
	}
	words, err := c.sort(cmd, line)
	if err != nil {
		return nil, err
	}
	r := &request{form: how, terms: c.termsOf(cmd, words)}
	if r.path, err = c.takePath(words); err != nil {
		return nil, err
	}
	in := &pipe{command: c, all: asksStdin(cmd)}
	if r.args, err = c.typed(words, in); err != nil {
		return nil, err
	}
	for name, value := range c.set {
		if r.args[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	typed := slices.Collect(maps.Keys(r.args))
	if err := c.addInput(cmd, r, in); err != nil {
		return nil, err
	}
	if err := c.preset(cmd, r.args); err != nil {
		return nil, err
	}
	r.terms.forget(c.inJSON(r, typed)...)
	if err := c.addVault(cmd, r); err != nil {
		return nil, err
	}
	r.takeEnvelope()
	return r, c.needPath(r)
}

// inJSON returns the names of the arguments that only the input contains. typed are those on the
// command line. Messages name them as the JSON does.
func (c *command) inJSON(r *request, typed []string) []string {
	var names []string
	for name := range r.args {
		if a, known := c.tool.Arg(name); known && !slices.Contains(typed, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// pair matches a word of the form name=value. The name of a field contains no slash, space, ? or #,
// which paths and ids may contain.
var pair = regexp.MustCompile(`^[^=/#?\s]+=`)

// sort assigns each word of the line to an argument, from left to right. The path of files has the
// key "". A word of the form name=value belongs to the argument for such words, if the command has
// one, wherever it is. A word that is left over is a usage error. A missing word is not: the tool
// reports which of its required arguments are missing, together with all other problems.
func (c *command) sort(cmd *cobra.Command, line []string) (map[string][]string, error) {
	words, next := map[string][]string{}, 0
	for _, word := range line {
		if c.pairs != "" && pair.MatchString(word) {
			words[c.pairs] = append(words[c.pairs], word)
			continue
		}
		if next == len(c.slots) {
			return nil, c.tooMany(cmd, word)
		}
		if replaced(cmd, c.slots[next]) && next+1 < len(c.slots) {
			next++
		}
		s := c.slots[next]
		words[s.name] = append(words[s.name], word)
		if !s.rest {
			next++
		}
	}
	return words, nil
}

// replaced reports whether an optional argument has no word because a query or a filter, or its own
// flag, is in its place: in `move --query Q folder/`, the word is the destination, although the
// source comes first.
func replaced(cmd *cobra.Command, s slot) bool {
	return s.optional && !s.rest && slices.ContainsFunc([]string{"query", "filter", tool.Kebab(s.name)},
		func(flag string) bool { return cmd.Flags().Changed(flag) })
}

// tooMany returns the error of a word without a positional argument. The most frequent cause is a
// text without quotes. If the command is also a group, the word is reported as an unknown command.
func (c *command) tooMany(cmd *cobra.Command, word string) error {
	if len(c.slots) == 0 && cmd.HasSubCommands() {
		return unknownCommand(cmd, word)
	}
	e := usagef("unexpected argument %q for %q", word, cmd.CommandPath())
	if c.pairs != "" {
		return e.fix("write name=value to set a field")
	}
	if len(c.slots) > 0 {
		e = e.fix("put quotes around a text with spaces")
	}
	return e.fix("%s --help", cmd.CommandPath())
}

// takePath returns the path of files: the positional one, or the value of the flag for the argument
// of the files. A flag with a JSON list is that argument itself. Giving both is a usage error.
func (c *command) takePath(words map[string][]string) (string, error) {
	path := strings.Join(words[""], "")
	if c.tool.Input == nil {
		return path, nil
	}
	for _, flag := range c.flags[c.tool.Input.Arg] {
		if len(flag.values) == 0 || strings.HasPrefix(flag.last(), "[") {
			continue
		}
		if path != "" {
			return "", usagef("the path of the files is given twice")
		}
		path, flag.values = flag.last(), nil
	}
	return path, nil
}

// needPath returns an error if files would be printed to a person because the line has no path for
// them. A program gets them as JSON.
func (c *command) needPath(r *request) error {
	in := c.tool.Input
	if r.path != "" || r.form != forPeople || c.tool.Output == nil && in == nil {
		return nil
	}
	if in != nil && r.args[in.Arg] != nil {
		return nil
	}
	doc := pathDoc(pathSlot(c.tool).lone)
	return usagef("%s is missing", doc).fix("name %s", doc)
}

// addVault sets the vault argument. The global flag takes precedence over the input, and the input
// over the environment: a person who types --vault means it, but a variable that was set long ago
// must not redirect a complete call. A tool without the argument ignores it. A folder sets no vault
// here; the connection does.
func (c *command) addVault(cmd *cobra.Command, r *request) error {
	const vault = "vault"
	t, err := c.app.Target(cmd)
	if _, takes := c.tool.Arg(vault); err != nil || !takes || t.Vault == "" {
		return err
	}
	if _, given := r.args[vault]; given && !cmd.Root().PersistentFlags().Changed(vault) {
		return nil
	}
	raw, err := tool.Marshal(t.Vault)
	r.args[vault] = raw
	return err
}

// only returns the names in the argument `only`, in the order in which they are given: the columns
// of a table. The server selects the members of the data by the same argument.
func (r *request) only() []string {
	var list, names []string
	if json.Unmarshal(r.args["only"], &list) != nil {
		return nil
	}
	for name := range strings.SplitSeq(strings.Join(list, ","), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// takeEnvelope applies the argument `envelope` of an input, as --envelope and --bare do on the
// line. The call is always made with the envelope, and the data is extracted here. A value that is
// not a boolean is kept, so that the tool refuses it.
func (r *request) takeEnvelope() {
	switch string(r.args["envelope"]) {
	case "false":
		r.form = asBare
		delete(r.args, "envelope")
	case "true":
		delete(r.args, "envelope")
	}
}

// add adds a command of a tool to the tree, with the groups above it, and returns it with its node.
// A word may be both a group and a command: `rookery trait` lists traits, and has the command
// `trait update`.
func (a *App) add(
	root *cobra.Command, t *tool.Tool, way tool.Command,
) (*command, *cobra.Command) {
	node := root
	for _, word := range strings.Fields(way.Words) {
		node = child(node, word)
	}
	c := &command{app: a, tool: t, slots: slotsOf(t, way), pairs: way.Pairs, set: way.Set}
	c.describe(node)
	c.addFlags(node)
	node.RunE = c.run
	a.nodes[node] = c
	node.ValidArgsFunction = c.complete
	return c, node
}

// child returns the subcommand of parent with a name, and creates it as a group if necessary. A
// group prints its help, and accepts no other word.
func child(parent *cobra.Command, word string) *cobra.Command {
	for _, c := range parent.Commands() {
		if c.Name() == word {
			return c
		}
	}
	c := &cobra.Command{Use: word, Args: cobra.ArbitraryArgs, RunE: runGroup}
	parent.AddCommand(c)
	return c
}

// finish completes a command and its subcommands: groups get a summary and an error for unknown
// words, and all get usage errors for invalid arguments. It must be called once, when the tree is
// complete.
func finish(c *cobra.Command) {
	for _, sub := range c.Commands() {
		finish(sub)
	}
	if !c.Runnable() {
		c.Args, c.RunE = cobra.ArbitraryArgs, runGroup
	}
	c.Short = cmp.Or(c.Short, strings.Join(names(c), ", "))
	forward(c)
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return usagef("%v", err).fix("%s --help", c.CommandPath())
			}
			return nil
		}
	}
}

// group sets the summary of a word that only groups commands from its family, and marks cobra's
// completion commands as using no global flags. A word that is a command itself has a summary
// already.
func (a *App) group(c *cobra.Command) {
	if c.Name() == "completion" {
		Uses(c)
		for _, shell := range c.Commands() {
			Uses(shell)
		}
	}
	for _, t := range a.Tools {
		if line := t.Family.Groups[c.Name()]; line != "" && c.Short == "" {
			c.Short = line
		}
	}
}

// names returns the names of the direct subcommands of c, in the order of the help. Hidden ones are
// left out.
func names(c *cobra.Command) []string {
	var all []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, sub.Name())
		}
	}
	return all
}

// forwardKey is the annotation of a flag that a group accepts for its commands: `rookery --dry-run
// set …`.
const forwardKey = "rookery_forward"

// forwarded are flags of many commands that may also precede the command (CONTRACT §7), with the
// kinds of their values. It is a closed list, because the parser must know of each whether a value
// follows.
var forwarded = map[string]string{"dry-run": "bool", "slim": "bool", "depth": "number"}

// forward adds these flags to a group of commands: without them cobra cannot distinguish the value
// of a flag from the name of a command. If the command of the line does not have the flag, that is
// a usage error. The value reaches the command, because its own flag has the same name.
func forward(c *cobra.Command) {
	if !c.HasSubCommands() {
		return
	}
	for name, kind := range forwarded {
		if c.Flags().Lookup(name) != nil {
			continue
		}
		f := c.Flags().VarPF(&texts{kind: kind}, name, "", "of a command below")
		f.Hidden, f.Annotations = true, map[string][]string{forwardKey: nil}
		if kind == "bool" {
			f.NoOptDefVal = "true"
		}
	}
	if c.PreRunE == nil && c.PreRun == nil {
		c.PreRunE = unforwarded
	}
}

// unforwarded returns the usage error of a line with a forwarded flag that its command does not
// have. It is the PreRunE of commands without the flag.
func unforwarded(c *cobra.Command, args []string) error {
	var wrong error
	if isGroup := c.ValidArgsFunction == nil; isGroup && len(args) > 0 {
		return nil // the word is not a command; running the group reports that
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, is := f.Annotations[forwardKey]; is && wrong == nil {
			wrong = noFlag(c, f.Name)
		}
	})
	return wrong
}

// noFlag returns the usage error of a flag that a command does not have, with the most similar flag
// that it has.
func noFlag(c *cobra.Command, name string) error {
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if _, is := f.Annotations[forwardKey]; !is {
			known = append(known, f.Name)
		}
	})
	e := usagef("there is no flag --%s on %q", name, c.CommandPath())
	if near := fault.Nearest(name, known); near != "" {
		e.message += fmt.Sprintf("; did you mean --%s?", near)
	}
	return e.fix("%s --help", c.CommandPath())
}
