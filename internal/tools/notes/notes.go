// Package notes contains the tools of the notes family, which access notes as Markdown with
// frontmatter, by path (spec/knowtation-cli-json.md).
//
// The specification is that of another product, whose clients use these tools unchanged. Names of
// arguments, the forms of answers, slugs and the order of lists therefore follow it, and the
// frontmatter is read as JavaScript programs read it (markdown.StrictHead). Where the specification
// allows it, the tools do more: answers have the version of the vault, and tools that read notes
// take as_of.
//
// # Reading
//
// The tools that read one note (get.go, outline.go, tree.go, facets.go) find it by its path with
// document, which returns its text as frontmatter and body (get.go, path.go). The tools that list
// or search notes share a filter (filter.go). It decides about most notes from their rows in the
// index, which are small and adjacent in memory, and reads the others from their cards; no text is
// read. list.go selects one page of the result with a pageSelector (pick.go), whose memory does not grow
// with the vault. search.go ranks by words, and keyword.go finds an exact text: the search index
// names the candidates, and their texts are read to verify them.
//
// # Writing
//
// write.go creates or changes one note. import.go imports the files of other products
// (importnote.go, with package convert), of vaults (importvault.go) and of memories
// (importmemory.go). export.go and exportpage.go return notes as files. All writes are drafts of
// package mutation, which adds dry runs, expected versions and idempotency.
package notes

import (
	"embed"
	"fmt"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is the family of these tools. In the bare form, answers and failures have the format of
// the specification; a failure is {error, code}. Every invalid argument has the code
// INVALID_PARAMETER, unless a tool says otherwise.
var Family = &tool.Family{
	Name: "notes", Base: "/v1/vaults/{vault}", Docs: docs,
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
	Terse: true, Bare: bare, Exit: exit,
}

// docs contains the documentation of the tools, each in a file that is named after the tool.
//
//go:embed *.md
var docs embed.FS

// A failure is a fault in the bare form.
type failure struct {
	Error string     `json:"error"`
	Code  fault.Code `json:"code"`
}

// bare converts a fault to the bare form. The message contains the location in a file, because the
// form has no other member for it. Fixes and details are not part of the form.
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

// exit returns the exit code for a fault: exitUsage if the caller can correct the arguments, and
// otherwise exitRuntime.
//
// The codes are those of the specification.
func exit(c fault.Code) int {
	if c.Status() == fault.StatusInvalidArgument {
		return exitUsage
	}
	return exitRuntime
}

// Tools returns the tools of the family for these tenants. memories reads the files of an import of
// memories.
func Tools(t *tenant.Registry, memories MemoryReader) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}, memories}
	return []*tool.Tool{
		f.get(), f.outline(), f.tree(), f.facets(), f.list(), f.search(), f.complete(),
		f.write(), f.export(), f.importFiles(),
	}
}

// A tools has the functions of the tools as methods, and the access to vaults that they share.
type tools struct {
	state.Source
	memories MemoryReader // imports memories
}
