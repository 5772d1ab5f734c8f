package clitool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
