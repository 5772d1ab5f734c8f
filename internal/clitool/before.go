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
	dry := string(r.args["dry_run"]) == "true"
	if dry {
		args["dry_run"] = r.args["dry_run"]
	}
	_, err = invoke(cmd.Context(), inv, b.Tool, args)
	failed := (*failure)(nil)
	if errors.As(err, &failed) && failed.fault.Code == fault.DuplicateID {
		return false, nil
	}
	return dry && err == nil, err
}

// plannedOnly is the answer of a dry run whose call was not made.
func plannedOnly() *answer {
	ans := &answer{ok: true}
	ans.data.set("dry_run", value{kind: boolKind, text: "true"})
	return ans
}
