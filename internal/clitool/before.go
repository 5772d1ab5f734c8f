package clitool

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// before calls the tool that a flag asks for first, if there is such a flag. It is fine if that was
// done before. In a dry run it may find that there is nothing yet to plan the call on.
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

// meant is the argument of a meaning that a tool of the App has.
func (a *App) meant(name string, m tool.Meaning) (tool.Arg, bool) {
	for _, t := range a.Tools {
		if t.Name == name {
			return t.Meant(m)
		}
	}
	return tool.Arg{}, false
}

// plannedOnly is the answer of a dry run whose call was not made.
func plannedOnly() *answer {
	ans := &answer{ok: true}
	ans.data.set("dry_run", value{kind: boolKind, text: "true"})
	return ans
}
