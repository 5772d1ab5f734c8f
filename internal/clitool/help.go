package clitool

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/tool"
)

// describe sets the usage line and the help of a command: the tool's Doc, the positional arguments,
// and the examples. All of it is derived from the tool, so help, the guide and the tool pages
// agree.
func (c *command) describe(cmd *cobra.Command) {
	prose := c.tool.Prose()
	cmd.Short = c.tool.Title
	cmd.Long = prose.Summary
	cmd.Example = strings.Join(peopleFirst(prose.Commands), "\n")
	for _, s := range c.slots {
		cmd.Use += " " + s.label()
	}
	if c.pairs != "" {
		cmd.Use += " [" + pairLabel + "]..."
	}
	cmd.Annotations = map[string]string{argumentsKey: c.arguments()}
	Uses(cmd, c.globals()...)
}

// globals returns the names of the global flags that affect the tool: --readonly has no meaning for
// a tool that changes nothing, and --session only for view state.
func (c *command) globals() []string {
	var names []string
	for _, g := range globals {
		switch {
		case g.name == "readonly" && !c.tool.Kind.Changes():
		case g.name == "session" && c.tool.Kind != tool.View:
		default:
			names = append(names, g.name)
		}
	}
	return names
}

// inJSON matches the flag that requests JSON in an example.
var inJSON = regexp.MustCompile(` --json\b`)

// peopleFirst returns the examples without --json, followed by the first one with it. Examples that
// differ only in --json are listed once.
func peopleFirst(examples []string) []string {
	var people []string
	program := ""
	for _, line := range examples {
		plain := inJSON.ReplaceAllString(line, "")
		if !slices.Contains(people, plain) {
			people = append(people, plain)
		}
		if plain != line && program == "" {
			program = line
		}
	}
	if program != "" {
		people = append(people, program)
	}
	return people
}

// argumentsKey is the annotation of a command that contains the help on its positional arguments.
const argumentsKey = "arguments"

// arguments returns the help on the positional arguments, one per line, in the order of the line.
func (c *command) arguments() string {
	lines := [][2]string{}
	for _, s := range c.slots {
		doc := pathDoc(s.lone)
		if a, ok := c.tool.Arg(s.name); ok {
			doc = docOf(a)
		}
		lines = append(lines, [2]string{strings.Trim(s.label(), "[]."), doc})
	}
	if a, ok := c.tool.Arg(c.pairs); ok {
		lines = append(lines, [2]string{pairLabel, docOf(a)})
	}
	return columns(lines)
}

// columns formats pairs of texts as lines with two aligned columns, indented by two spaces. It
// returns "" for no lines.
func columns(lines [][2]string) string {
	width := 0
	for _, line := range lines {
		width = max(width, len(line[0]))
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, line[0], line[1])
	}
	return b.String()
}

// help prints the help of any command: its purpose, its usage, its positional arguments, examples,
// subcommands and flags. Parts that are empty are left out. Common flags are only named, because
// each command would otherwise explain the same dozen.
func (a *App) help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	about := cmp.Or(cmd.Long, cmd.Short)
	fmt.Fprintf(w, "%s\n", strings.TrimSpace(about))
	block(w, "Usage", usageLines(cmd))
	block(w, "Arguments", cmd.Annotations[argumentsKey])
	block(w, "Examples", indented(cmd.Example))
	a.commands(w, cmd)
	own, common := shownFlags(cmd)
	block(w, "Flags", own.FlagUsagesWrapped(helpWidth))
	if len(common) > 0 {
		block(w, "Common flags", wrapped(common))
	}
	var more []string
	if cmd.HasAvailableSubCommands() {
		more = append(more, cmd.CommandPath()+" COMMAND --help explains a command.")
	}
	if len(common) > 0 || cmd == cmd.Root() {
		more = append(more, cmd.Root().Name()+" help "+flagsTopic+" explains the common flags.")
	}
	if len(more) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(more, "\n"))
	}
}

// A Section is a group of commands in the root help. Words are the first words of the commands, in
// the order in which they are shown.
type Section struct {
	Title string
	Words []string
}

// otherCommands is the title of the commands that are in no section.
const otherCommands = "Other commands"

// commands prints the subcommands of a command; those of the root by sections. Commands that are in
// no section come last, under a title of their own.
func (a *App) commands(w io.Writer, cmd *cobra.Command) {
	if cmd != cmd.Root() || len(a.Sections) == 0 {
		block(w, "Commands", commandLines(cmd.Commands()))
		return
	}
	rest := slices.Clone(cmd.Commands())
	for _, s := range a.Sections {
		var these []*cobra.Command
		for _, word := range s.Words {
			if c := find(cmd, word); c != nil {
				these = append(these, c)
				rest = slices.DeleteFunc(rest, func(o *cobra.Command) bool { return o == c })
			}
		}
		block(w, s.Title, commandLines(these))
	}
	block(w, otherCommands, commandLines(rest))
}

// Annotations of flags and commands.
const (
	commonKey  = "common"  // marks a flag that many commands have
	globalsKey = "globals" // of a command: the global flags that affect it
)

// Uses declares which global flags affect a command; its help lists only these. Without this call
// it lists all of them. Flags that it does not use are accepted all the same.
func Uses(c *cobra.Command, flags ...string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[globalsKey] = strings.Join(flags, " ")
}

// shownFlags returns the flags that the help of a command explains, and the names of common flags
// that it only lists. Hidden flags, --help, and global flags that an own flag replaces are in
// neither. For the root it returns only its own flags, and for a group that calls no tool no common
// ones.
func shownFlags(cmd *cobra.Command) (own *pflag.FlagSet, common []string) {
	own = pflag.NewFlagSet("", pflag.ContinueOnError)
	if cmd == cmd.Root() {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				own.AddFlag(f)
			}
		})
		return own, nil
	}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		_, isCommon := f.Annotations[commonKey]
		switch {
		case f.Hidden || f.Name == "help":
		case isCommon:
			common = append(common, "--"+f.Name)
		default:
			own.AddFlag(f)
		}
	})
	uses, some := cmd.Annotations[globalsKey]
	_, calls := cmd.Annotations[argumentsKey]
	if !some && cmd.HasAvailableSubCommands() && !calls {
		return own, nil
	}
	for _, g := range globals {
		hides := cmd.NonInheritedFlags().Lookup(g.name) != nil
		if !hides && (!some || slices.Contains(strings.Fields(uses), g.name)) {
			common = append(common, "--"+g.name)
		}
	}
	return own, common
}

// wrapped formats words on indented lines of at most helpWidth columns. A word that is longer is on
// a line of its own.
func wrapped(words []string) string {
	text := " "
	width := len(text)
	for _, word := range words {
		if width+1+len(word) > helpWidth {
			text, width = text+"\n ", 1
		}
		text, width = text+" "+word, width+1+len(word)
	}
	return text
}

// helpWidth is the maximum number of columns of help texts.
const helpWidth = 100

// block prints a part of the help with a title, unless it is empty. A blank line precedes it.
func block(w io.Writer, title, text string) {
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(w, "\n%s:\n%s\n", title, strings.TrimRight(text, "\n"))
	}
}

// usageLines returns the forms of a command: with its own arguments, and with a subcommand. A word
// that is both has two lines.
func usageLines(cmd *cobra.Command) string {
	var lines []string
	if _, calls := cmd.Annotations[argumentsKey]; calls || !cmd.HasAvailableSubCommands() {
		lines = append(lines, cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		lines = append(lines, cmd.CommandPath()+" COMMAND")
	}
	return indented(strings.Join(lines, "\n"))
}

// commandLines returns the names and summaries of commands, one per line. Hidden commands are left
// out. It returns "" for none, so that block prints no title.
func commandLines(commands []*cobra.Command) string {
	var lines [][2]string
	for _, sub := range commands {
		if sub.IsAvailableCommand() {
			lines = append(lines, [2]string{sub.Name(), sub.Short})
		}
	}
	return columns(lines)
}

// indented indents each line of a text by two spaces, as all parts of the help are. Blanks around
// the text are removed.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// flagsTopic is the word after `help` that explains common flags.
const flagsTopic = "flags"

// agentArg is the argument that the global flag --agent sets in another way.
const agentArg = "agent_id"

// helpFlags prints the help on common flags: the global ones, those of many tools, and those for
// arguments as JSON. The flags of tools are taken from the first tool that has each, because the
// catalogue gives common arguments the same meaning everywhere.
func (a *App) helpFlags(w io.Writer, root *cobra.Command) {
	block(w, "Global flags", root.PersistentFlags().FlagUsagesWrapped(helpWidth))
	many := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, t := range a.Tools {
		for _, arg := range t.Args {
			shared := arg.Common || arg.Shared && arg.Name != agentArg
			if shared && !isGlobal(arg) && many.Lookup(arg.Flag) == nil {
				many.VarPF(textsOf(arg), arg.Flag, "", docOf(arg))
			}
		}
	}
	many.VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	})
	block(w, "Flags of many commands", many.FlagUsagesWrapped(helpWidth))
	input := pflag.NewFlagSet("", pflag.ContinueOnError)
	addInputFlags(input, "")
	block(w, "Arguments as JSON", input.FlagUsagesWrapped(helpWidth))
}

// helpCommand returns the command `help`. Unlike cobra's own, it returns an error for an unknown
// command, and explains the common flags for the word flags.
func (a *App) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "Explain a command, or with the word flags the common flags",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, words []string) error {
			at := c.Root()
			if len(words) == 1 && words[0] == flagsTopic {
				a.helpFlags(c.OutOrStdout(), at)
				return nil
			}
			for _, word := range words {
				below := find(at, word)
				if below == nil {
					return unknownCommand(at, word)
				}
				at = below
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
		ValidArgsFunction: completeHelp,
	}
}

// find returns the direct subcommand of c with this name or alias, or nil. Unlike cobra's Find, it
// does not accept prefixes.
func find(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}
