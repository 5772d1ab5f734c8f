package clitool

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"rookery/internal/tool"
)

// A command is one way to call a tool.
type command struct {
	app   *App
	tool  *tool.Tool
	slots []slot
	pairs string            // the argument that takes the words of the form name=value
	set   map[string]string // the values of arguments that the command stands for
	flags map[string][]*texts

	nested []nestedFlag
}

// A slot is one place for a word on the command line.
type slot struct {
	name     string // of the argument; empty for the path of files
	lone     bool   // the path may be that of a lone file
	optional bool
	rest     bool // it takes all the words that are left
	required bool // the tool needs it
}

// slotsOf are the places for words. Where files go in or out, one of them is for a path: the place
// of the argument that the files are for, else one behind the others.
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

// pathSlot is the place for the path of files.
func pathSlot(t *tool.Tool) slot {
	return slot{lone: t.Input != nil && t.Input.Single || t.Output != nil && t.Output.Single}
}

// pathLabel is how help names a path of files.
func pathLabel(lone bool) string {
	if lone {
		return "FILE|DIR|ZIP"
	}
	return "DIR|ZIP"
}

// pathDoc says what a path of files is.
func pathDoc(lone bool) string {
	if lone {
		return "a file, a folder or a .zip file"
	}
	return "a folder or a .zip file"
}

// label is how help names the place.
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

// placeLabel is how a person names the place of an argument.
func placeLabel(name string) string { return strings.ToUpper(tool.Kebab(name)) }

// A request is a command line that has been read.
type request struct {
	args map[string]json.RawMessage
	path string // of files that go in or out; empty for a plain call
	form form

	terms *terms // nil: the line has no words for the arguments yet
}

// read makes a request of a command line: the words, the flags, then the input for what neither of
// them says, and the environment for the vault.
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

// inJSON are the names of the arguments that the input has, and not the line.
func (c *command) inJSON(r *request, typed []string) []string {
	var names []string
	for name := range r.args {
		if a, known := c.tool.Arg(name); known && !slices.Contains(typed, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// pair is a word of the form name=value. The name of a field holds no slash, space, ? or #, which
// the paths and ids beside it may.
var pair = regexp.MustCompile(`^[^=/#?\s]+=`)

// sort gives each word of the line to its argument; the path of files is under "".
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
		s := c.slots[next]
		words[s.name] = append(words[s.name], word)
		if !s.rest {
			next++
		}
	}
	return words, nil
}

// tooMany says why a word has no place: most often a text lacks its quotes.
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

// takePath is the path of files: the word in its place, or the flag of the argument that the files
// are for. A flag that holds a JSON list is the argument itself.
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

// needPath refuses to show files to a person who has not said where they go.
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

// addVault fills the vault: the global flag beats the input, and the environment does not.
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

// only returns the names in the argument that keeps some members of each item.
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

// takeEnvelope obeys an input that asks for the bare form. The answer always comes in its envelope,
// and is taken out here. What is neither true nor false stays, for the tool to refuse.
func (r *request) takeEnvelope() {
	switch string(r.args["envelope"]) {
	case "false":
		r.form = asBare
		delete(r.args, "envelope")
	case "true":
		delete(r.args, "envelope")
	}
}
