package clitool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rookery/internal/fault"
)

// A usageError is a command line that cannot be read. Everything else that goes wrong is a fault.
type usageError struct {
	message string
	fixes   []string
}

// Error is the message.
func (e *usageError) Error() string { return e.message }

// Usage is the error of a command line that cannot be read: Run answers 1 for it.
func Usage(format string, args ...any) error { return usagef(format, args...) }

func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

func (e *usageError) fix(format string, args ...any) *usageError {
	e.fixes = append(e.fixes, fmt.Sprintf(format, args...))
	return e
}

// fault is the error as the envelope shows it.
func (e *usageError) fault() *fault.Fault {
	f := fault.New(fault.InvalidParameter, "%s", e.message)
	f.Fixes = e.fixes
	return f
}

// flagError says which flag was probably meant. Where a word before it is no command, that is what is
// wrong: the flag may be one of the command that was meant.
func flagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return wrongValue(err)
	}
	group := c.HasSubCommands() && c.ValidArgsFunction == nil
	if words := c.Flags().Args(); group && len(words) > 0 {
		return unknownCommand(c, words[0])
	}
	if short := missing.GetSpecifiedShortnames(); short != "" {
		return usagef("there is no flag -%c", []rune(missing.GetSpecifiedName())[0]).
			fix("put -- before an argument that begins with a dash").
			fix("%s --help", c.CommandPath())
	}
	return noFlag(c, missing.GetSpecifiedName())
}

// wrongValue says what the value of a flag must be. It does not repeat the value, which may be a secret.
func wrongValue(err error) error {
	var bad *pflag.InvalidValueError
	var none *pflag.ValueRequiredError
	var number *strconv.NumError
	switch {
	case errors.As(err, &none):
		return usagef("--%s needs a value", none.GetFlag().Name)
	case !errors.As(err, &bad):
		return usagef("%v", err)
	case errors.As(err, &number) && bad.GetFlag().Value.Type() == "bool":
		return usagef("--%s must be true or false", bad.GetFlag().Name)
	case errors.As(err, &number):
		return usagef("--%s must be a whole number", bad.GetFlag().Name)
	}
	reason := strings.TrimPrefix(bad.Unwrap().Error(), "it ")
	return usagef("--%s %s", bad.GetFlag().Name, reason)
}

// runGroup is the run of a command that only holds others: its help, or what was probably meant by
// the word that is none of them.
func runGroup(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknownCommand(c, args[0])
}

// unknownCommand is the error of a word that is no command below c.
func unknownCommand(c *cobra.Command, word string) error {
	path := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()) + " " + word)
	e := usagef("there is no command %q", path)
	if meant := meantCommand(c, word); meant != "" {
		e.message += fmt.Sprintf("; did you mean %q?", meant)
		return e.fix("%s %s --help", c.Root().Name(), meant)
	}
	return e.fix("%s --help", c.CommandPath())
}

// meantCommand is the command below c whose name is nearest to the word; if none is near, one
// anywhere that ends with the word.
func meantCommand(c *cobra.Command, word string) string {
	group := strings.TrimPrefix(c.CommandPath()+" ", c.Root().Name()+" ")
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	if near := fault.Nearest(word, names); near != "" {
		return group + near
	}
	for _, path := range paths(c.Root()) {
		if words := strings.Fields(path); words[len(words)-1] == word {
			return path
		}
	}
	return ""
}

// paths are the words of all commands below c that can be called, in order.
func paths(c *cobra.Command) []string {
	var all []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, strings.TrimPrefix(sub.CommandPath(), c.Root().Name()+" "))
			all = append(all, paths(sub)...)
		}
	}
	return all
}

// asksJSON reports whether a command line asks for JSON. It is for the lines that cannot be read,
// where no flag has a value.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(s string) bool {
		return s == "--json" || s == "--bare" || s == "--envelope"
	})
}

// asksEnvelope reports whether a command line asks for the envelope by its name.
func asksEnvelope(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--envelope") || slices.Contains(args, "--envelope=true")
}

// dashed makes names with underscores, as tools spell them, the same as those with dashes.
func dashed(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
