package clitool

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// yesFlag is the flag that answers the questions of a command.
const yesFlag = "yes"

// confirm asks the person before a call that cannot be undone. It asks nothing if In and Err are
// not a terminal, if the line contains the answer, or in a dry run.
//
// A tool may ask several questions. A question without Confirm is answered with y; one with Confirm
// is answered by typing a name, which becomes an argument of the call, so that the server checks it
// too. --yes answers all of them. Without a terminal the call is made as it is: a server that
// requires a confirming argument refuses it.
func (c *command) confirm(cmd *cobra.Command, r *request) error {
	if r.isTrue(c.dryArg()) {
		return nil // a dry run changes nothing
	}
	for _, ask := range c.tool.Asks {
		if !r.concerns(ask) {
			continue
		}
		yes := cmd.Flags().Lookup(yesFlag).Value.String() == "true"
		_, said := r.args[ask.Confirm]
		switch {
		case said:
		case yes && ask.Confirm != "":
			r.fill(ask)
		case yes, !c.app.Asks:
		default:
			if err := c.app.question(r, ask); err != nil {
				return inForm(r.form, err)
			}
		}
	}
	return nil
}

// dryArg returns the name of the argument that makes a call a dry run, or "" if the tool has none.
// Tools give it different names; its meaning is declared in the catalogue.
func (c *command) dryArg() string {
	a, _ := c.tool.ArgFor(tool.MeansDry)
	return a.Name
}

// concerns reports whether a question must be asked before the call: an argument that it depends on
// is true, and none that makes it unnecessary.
func (r *request) concerns(ask tool.Ask) bool {
	return (ask.With == "" || r.isTrue(ask.With)) && (ask.Skip == "" || !r.isTrue(ask.Skip))
}

// isTrue reports whether an argument is the JSON value true. A missing argument is not.
func (r *request) isTrue(name string) bool { return string(r.args[name]) == "true" }

// fill sets the confirming argument to the required value, as if the person had typed it. It does
// nothing if the argument with the value is missing; the tool reports that. The value is cloned,
// because later steps may change the arguments in place.
func (r *request) fill(ask tool.Ask) {
	if raw, ok := r.args[ask.Of]; ok {
		r.args[ask.Confirm] = slices.Clone(raw)
	}
}

// question asks a question and stores the answer. If the call is not confirmed, it returns
// INVALID_PARAMETER, with the flag that skips the question as a fix. It reads one line of In. An
// empty line is not a confirmation.
func (a *App) question(r *request, ask tool.Ask) error {
	text := tool.Empty{}.Fill(ask.Question, r.text)
	want := r.text(ask.Of)
	switch {
	case ask.Confirm == "":
		text += " [y/N] "
	case ask.What != "":
		text += fmt.Sprintf("\nType %s to confirm: ", ask.What)
	default:
		text += fmt.Sprintf("\nType %s to confirm: ", want)
	}
	if _, err := io.WriteString(a.Err, text); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	line = strings.TrimSpace(line)
	if ask.What != "" && line != "" {
		raw, err := tool.Marshal(line)
		r.args[ask.Confirm] = raw
		return err
	}
	if ask.Confirm != "" && line == want && want != "" {
		r.args[ask.Confirm] = r.args[ask.Of]
		return nil
	}
	if answer := strings.ToLower(line); ask.Confirm == "" && (answer == "y" || answer == "yes") {
		return nil
	}
	return fault.New(fault.InvalidParameter, "not confirmed: nothing was changed").
		Fix("add --%s to skip the confirmation", yesFlag)
}
