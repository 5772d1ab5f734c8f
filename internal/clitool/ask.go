package clitool

import (
	"bufio"
	"encoding/json"
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

// before calls the tool that a flag requests to be called first, if the flag is set: --create
// creates the vault before an import, for example. The arguments of that call are taken from the
// line. A DUPLICATE_ID from that tool is ignored, because the item that it would create exists.
// planned is true in a dry run in which the main call cannot be planned, because the item that the
// first tool creates does not exist yet. In a dry run, the first call is one too, so nothing is
// created.
func (c *command) before(
	cmd *cobra.Command, inv tool.Invoker, r *request,
) (planned bool, err error) {
	if c.tool.Input == nil || c.tool.Input.Before == nil {
		return false, nil
	}
	b := c.tool.Input.Before
	if cmd.Flags().Lookup(b.Flag).Value.String() != "true" {
		return false, nil
	}
	args := map[string]json.RawMessage{}
	for theirs, ours := range b.Args {
		if raw, ok := r.args[ours]; ok {
			args[theirs] = raw
		}
	}
	dry := r.isTrue(c.dryArg())
	if theirs, ok := c.app.meant(b.Tool, tool.MeansDry); ok && dry {
		args[theirs.Name] = r.args[c.dryArg()]
	}
	_, err = invoke(cmd.Context(), inv, b.Tool, args)
	failed := (*failure)(nil)
	if errors.As(err, &failed) && failed.fault.Code == fault.DuplicateID {
		return false, nil
	}
	return dry && err == nil, err
}

// meant returns the argument with a meaning of one of the App's tools, by the long name of the
// tool, and false if there is no such tool or argument.
func (a *App) meant(name string, m tool.Meaning) (tool.Arg, bool) {
	for _, t := range a.Tools {
		if t.Name == name {
			return t.ArgFor(m)
		}
	}
	return tool.Arg{}, false
}

// plannedOnly returns the answer of a dry run whose main call was not made: it says only that it
// was a dry run.
func plannedOnly() *answer {
	ans := &answer{ok: true}
	ans.data.set("dry_run", value{kind: boolKind, text: "true"})
	return ans
}

// vaultArg is the argument that names the vault of a call.
const vaultArg = "vault"

// noFilters are common arguments that do not filter a list (CONTRACT §3).
var noFilters = []string{vaultArg, "depth", "slim", "list"}

// emptyMessage returns a message about an empty list: with filters, which ones were used; otherwise
// how to create the first item. It returns "" for any other answer, and for a page after the first:
//
//	no members with --issuer
//	no members yet; make one: rookery member set SUBJECT reader
//
// A tool may have several messages for different arguments; the first one applies whose arguments
// are all given.
func (c *command) emptyMessage(cmd *cobra.Command, r *request, data value) string {
	token, _ := c.tool.ArgFor(tool.MeansToken)
	if len(c.tool.Empty) == 0 || !data.isNothing() || len(r.args[token.Name]) > 0 {
		return ""
	}
	i := slices.IndexFunc(c.tool.Empty, func(e tool.Empty) bool {
		return !slices.ContainsFunc(e.Names(), func(name string) bool { return r.text(name) == "" })
	})
	if i < 0 {
		return ""
	}
	e := c.tool.Empty[i]
	none := "no " + e.Fill(e.Of, r.text)
	if filters := c.filters(r, e); len(filters) > 0 {
		return none + " with " + strings.Join(filters, ", ")
	}
	if e.Tool == "" {
		return none
	}
	line := callFormatter{c.app, cmd}.format(c.making(r, e))
	return fmt.Sprintf("%s yet; make one: %s", none, line)
}

// making returns the call that creates the first item of a list, in the list's vault. The values of
// its arguments may refer to arguments of the list.
func (c *command) making(r *request, e tool.Empty) fault.Call {
	args := fault.Args{}
	for name, text := range e.Args {
		args[name] = e.Fill(text, r.text)
	}
	for _, t := range c.app.Tools {
		if _, takes := t.Arg(vaultArg); takes && t.Name == e.Tool && r.args[vaultArg] != nil {
			args[vaultArg] = r.args[vaultArg]
		}
	}
	return fault.NewCall(e.Tool, args)
}

// filters returns the flags of the given arguments that filter the list: all that are not shared,
// have no meaning of their own, such as a page token, and are not part of the message already.
func (c *command) filters(r *request, e tool.Empty) []string {
	var flags []string
	for _, a := range c.tool.Args {
		_, given := r.args[a.Name]
		if given && !a.Shared && a.Means == "" && !slices.Contains(noFilters, a.Name) &&
			!slices.Contains(e.Names(), a.Name) {
			flags = append(flags, "--"+a.Flag)
		}
	}
	return flags
}

// text returns the value of a text argument, or "" if it is missing or not a text.
func (r *request) text(name string) string {
	var text string
	if json.Unmarshal(r.args[name], &text) != nil {
		return ""
	}
	return text
}

// isNothing reports whether data contains lists and all of them are empty. Data without a list is
// not an empty list.
func (v value) isNothing() bool {
	lists := 0
	for _, m := range v.members {
		if m.kind != listKind {
			continue
		}
		if lists++; len(m.items) > 0 {
			return false
		}
	}
	return lists > 0
}
