package clitool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/tool"
)

// A nestedFlag is a flag for a member of an argument, with its value: --goal for the member goal of
// the argument intent. Without such flags, an argument that is an object would have to be written
// as JSON. The tools that store and update memories have most of them.
type nestedFlag struct {
	tool.NestedFlag
	member tool.Arg
	value  *texts
}

// addNested adds the flags for members of arguments. It panics if a tool declares a flag for
// something that is not a member, which is an error in the program.
func (c *command) addNested(cmd *cobra.Command) {
	for _, n := range c.tool.Nested {
		member, ok := c.tool.Member(n.Path)
		if !ok {
			panic(fmt.Sprintf("clitool: --%s of %s is for %q, which is not a member of an "+
				"argument", n.Name, c.tool.Name, n.Path))
		}
		value := textsOf(member)
		value.name = n.Name
		f := cmd.Flags().VarPF(value, n.Name, "", docOf(member))
		if member.Bool() {
			f.NoOptDefVal = "true"
		}
		c.nested = append(c.nested, nestedFlag{n, member, value})
	}
}

// addMembers adds the values of the flags for members to the arguments. A flag for a member of an
// argument that is also given as a whole is a usage error. Of several values for one member, the
// last counts, unless the member or the argument is a list.
func (c *command) addMembers(args map[string]json.RawMessage) error {
	whole := map[string]bool{}
	for name := range args {
		whole[name] = true
	}
	for _, n := range c.nested {
		values := n.value.values
		if len(values) == 0 {
			continue
		}
		name, _, _ := strings.Cut(n.Path, ".")
		if whole[name] {
			a, _ := c.tool.Arg(name)
			return usagef("--%s is a part of --%s, and both are given", n.Name, a.Flag)
		}
		if a, _ := c.tool.Arg(name); !a.List() && !n.member.List() {
			values = values[len(values)-1:]
		}
		c.tool.SetMember(args, n.NestedFlag, values)
	}
	return nil
}
