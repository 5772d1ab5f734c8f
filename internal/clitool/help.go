package clitool

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// describe gives a command its usage line and help: what the tool's Doc says, the words that it
// takes, and the examples.
func (c *command) describe(cmd *cobra.Command) {
	prose := c.tool.Prose()
	cmd.Short = c.tool.Title
	cmd.Long = prose.Summary
	cmd.Example = strings.Join(prose.Commands, "\n")
	for _, s := range c.slots {
		cmd.Use += " " + s.label()
	}
	if c.pairs != "" {
		cmd.Use += " [" + pairLabel + "]..."
	}
	cmd.Annotations = map[string]string{argumentsKey: c.arguments()}
}

// argumentsKey is where a command keeps the help on its words.
const argumentsKey = "arguments"

// arguments is the help on the words that the command takes, a line each.
func (c *command) arguments() string {
	lines := [][2]string{}
	for _, s := range c.slots {
		doc := "a folder or a .zip file"
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

// columns are lines of two texts, the second ones below each other.
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

// help writes the help of any command.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	fmt.Fprintf(w, "%s\n", strings.TrimSpace(about))
	block(w, "Usage", usageLines(cmd))
	block(w, "Arguments", cmd.Annotations[argumentsKey])
	block(w, "Commands", commandLines(cmd))
	block(w, "Flags", cmd.LocalFlags().FlagUsagesWrapped(helpWidth))
	block(w, "Flags of every command", inherited(cmd))
	block(w, "Examples", indented(cmd.Example))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help says more.\n", cmd.CommandPath())
	}
}

// helpWidth is the number of columns of help texts.
const helpWidth = 100

// block writes a titled part of the help, unless it is empty.
func block(w io.Writer, title, text string) {
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(w, "\n%s:\n%s\n", title, strings.TrimRight(text, "\n"))
	}
}

// usageLines are the ways to write a command: with its own words, and with a command below it.
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

func commandLines(cmd *cobra.Command) string {
	var lines [][2]string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			lines = append(lines, [2]string{sub.Name(), sub.Short})
		}
	}
	return columns(lines)
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// helpCommand is `help`, which refuses a command that does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]...",
		Short: "help on a command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, words []string) error {
			at := c.Root()
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

// UnusedFlags is the annotation of a command that names the global flags without an effect there, separated by
// spaces. Its help omits them.
const UnusedFlags = "unused-flags"

// inherited names the global flags on one line; the help of the root says what they are.
func inherited(cmd *cobra.Command) string {
	var names []string
	unused := strings.Fields(cmd.Annotations[UnusedFlags])
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(unused, f.Name) {
			names = append(names, "--"+f.Name)
		}
	})
	if len(names) == 0 {
		return ""
	}
	return "  " + strings.Join(names, " ") + "\n  " + cmd.Root().Name() + " --help says what they are."
}

// find is the command of that name right below c, nil if there is none.
func find(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}
