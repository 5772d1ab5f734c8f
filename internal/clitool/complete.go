package clitool

import (
	"github.com/spf13/cobra"

	"rookery/internal/tool"
)

// complete offers the values of the argument that the next word is for, if they are few.
func (c *command) complete(
	_ *cobra.Command, words []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	if len(c.slots) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	at := min(len(words), len(c.slots)-1)
	s := c.slots[at]
	switch {
	case len(words) > at && !s.rest:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case s.name == "":
		return nil, cobra.ShellCompDirectiveDefault
	}
	a, _ := c.tool.Arg(s.name)
	return options(a), cobra.ShellCompDirectiveNoFileComp
}

// completeFlags offers the values of flags whose values are few, and files only where a path is
// wanted: for the flag of the argument that files are for.
func (c *command) completeFlags(cmd *cobra.Command) {
	for _, a := range c.tool.Args {
		if isGlobal(a) || c.tool.Input != nil && a.Name == c.tool.Input.Arg {
			continue
		}
		values := fixedCompletion(a)
		if err := cmd.RegisterFlagCompletionFunc(a.Flag, values); err != nil {
			panic("clitool: " + err.Error())
		}
	}
}

func fixedCompletion(a tool.Arg) cobra.CompletionFunc {
	return cobra.FixedCompletions(options(a), cobra.ShellCompDirectiveNoFileComp)
}

// completeHelp offers the commands below those that are written.
func completeHelp(
	c *cobra.Command, words []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	at := c.Root()
	for _, word := range words {
		if at = find(at, word); at == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	return names(at), cobra.ShellCompDirectiveNoFileComp
}
