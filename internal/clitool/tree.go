package clitool

import (
	"strings"

	"github.com/spf13/cobra"

	"rookery/internal/tool"
)

// add puts one way to call a tool in the tree, and makes the groups above it. A word may be both: a
// group, and a command of its own. It answers the command and its node.
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

// child is the command of that name under a parent, made as a group if it is not there.
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

// finish gives a command and those below it what they need beside their own: a group a summary and
// an answer to unknown words, and one that is not ours usage errors for its arguments.
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

// group gives a word that only groups commands the line of its family, and no global flags to what cobra
// adds.
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

// names are the names of the commands right below c.
func names(c *cobra.Command) []string {
	var all []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, sub.Name())
		}
	}
	return all
}
