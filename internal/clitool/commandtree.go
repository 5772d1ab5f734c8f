package clitool

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
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
