// Package notes has the tools of the notes family: notes as Markdown with frontmatter, by path, as
// spec/knowtation-cli-json.md promises them.
package notes

import (
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
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

// bare has the place in a file in its message, since it has no other member for that.
func bare(f *fault.Fault) any {
	message := f.Message
	if at := f.Location; at != nil && at.Line > 0 {
		message = fmt.Sprintf("%s:%d: %s", at.File, at.Line, message)
	} else if at != nil {
		message = at.File + ": " + message
	}
	return failure{message, f.Code}
}

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

// Tools are the tools of the family, over these tenants. The reader is for imports of memories.
func Tools(t *team.Teams, memories MemoryReader) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}, memories}
	return []*tool.Tool{
		f.get(), f.outline(), f.tree(), f.facets(), f.list(), f.search(), f.complete(),
		f.write(), f.export(), f.importFiles(),
	}
}

type tools struct {
	state.Source
	memories MemoryReader
}
