package clitool

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
