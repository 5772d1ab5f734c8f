// Package notes has the tools of the notes family: notes as Markdown with frontmatter, by path, as
// spec/knowtation-cli-json.md promises them.
package notes

import (
	"rookery/internal/fault"
	"rookery/internal/team"
	"rookery/internal/tool"
	"rookery/internal/tools/state"
)

// Family is what the tools have in common. Answers in the bare form are those of the document, and so are
// failures: {error, code}.
var Family = &tool.Family{
	Name: "notes", Base: "/v1/vaults/{vault}",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Terse: true, Bare: bare, Exit: exit,
}

// A failure is the bare form of a fault.
type failure struct {
	Error string     `json:"error"`
	Code  fault.Code `json:"code"`
}

func bare(f *fault.Fault) any { return failure{f.Message, f.Code} }

// The exit codes of a command that failed. A command line that cannot be read exits with the first, too.
const (
	exitUsage   = 1 // an argument is wrong
	exitRuntime = 2 // anything else
)

func exit(c fault.Code) int {
	if c.Status() == fault.StatusInvalidArgument {
		return exitUsage
	}
	return exitRuntime
}

// Tools are the tools of the family, over these tenants.
func Tools(t *team.Teams) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}}
	return []*tool.Tool{
		f.get(), f.outline(), f.tree(), f.facets(), f.list(), f.search(), f.complete(),
		f.write(), f.export(),
	}
}

type tools struct{ state.Source }
