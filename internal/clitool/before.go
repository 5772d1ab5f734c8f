package clitool

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
