package clitool

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rookery/internal/fault"
)

// forwardKey marks a flag of a group of commands that is there for its commands: `rookery --dry-run set …`.
const forwardKey = "rookery_forward"

// forwarded are the flags of many commands that a line may have before the command too (CONTRACT §7), with the
// kinds of their values.
var forwarded = map[string]string{"dry-run": "bool", "slim": "bool", "depth": "number"}

// forward lets a command that has others below it take the flags of these: without them, cobra cannot tell the
// value of a flag from the name of a command. The command that the line names has the flag, or it is a usage
// error.
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

// unforwarded is the error of a line whose command does not have a flag that the line gives.
func unforwarded(c *cobra.Command, args []string) error {
	var wrong error
	if isGroup := c.ValidArgsFunction == nil; isGroup && len(args) > 0 {
		return nil // there is no such command below it, which is what its run says
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if _, is := f.Annotations[forwardKey]; is && wrong == nil {
			wrong = noFlag(c, f.Name)
		}
	})
	return wrong
}

// noFlag is the error of a flag that a command does not have.
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
