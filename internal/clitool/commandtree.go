package clitool

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/tool"
)

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
	if c.Short == "" {
		c.Short = strings.Join(names(c), ", ")
	}
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
