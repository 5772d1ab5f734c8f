// Package notes contains the tools of the notes family, which access notes as Markdown with
// frontmatter, by path (spec/knowtation-cli-json.md).
package notes

import (
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is the family of these tools. In the bare form, answers and failures have the format of
// the specification; a failure is {error, code}.
var Family = &tool.Family{
	Name: "notes", Base: "/v1/vaults/{vault}",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Terse: true, Bare: bare, Exit: exit,
}

// A failure is a fault in the bare form.
type failure struct {
	Error string     `json:"error"`
	Code  fault.Code `json:"code"`
}

// bare converts a fault to the bare form. The message contains the location in a file, because the
// form has no other member for it.
func bare(f *fault.Fault) any {
	message := f.Message
	if at := f.Location; at != nil && at.Line > 0 {
		message = fmt.Sprintf("%s:%d: %s", at.File, at.Line, message)
	} else if at != nil {
		message = at.File + ": " + message
	}
	return failure{message, f.Code}
}

// The exit codes of a command that failed. A command line that cannot be parsed also exits with
// exitUsage.
const (
	exitUsage   = 1 // an argument is wrong
	exitRuntime = 2 // anything else
)

// exit returns the exit code for a fault.
func exit(c fault.Code) int {
	if c.Status() == fault.StatusInvalidArgument {
		return exitUsage
	}
	return exitRuntime
}

// Tools returns the tools of the family for these tenants. memories reads the files of an import of
// memories.
func Tools(t *team.Teams, memories MemoryReader) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}, memories}
	return []*tool.Tool{
		f.get(), f.outline(), f.tree(), f.facets(), f.list(), f.search(), f.complete(),
		f.write(), f.export(), f.importFiles(),
	}
}

type tools struct {
	state.Source
	memories MemoryReader // imports memories
}
