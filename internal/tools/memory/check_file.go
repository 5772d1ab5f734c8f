package memory

import (
	"context"
	_ "embed"
	"fmt"
	"path"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

//go:embed check_file.md
var checkFileDoc string

// The limits of a check (reference/memory.md §A6): it counts the failures among the mostChecked
// newest memories of a file, and shows the shownChecked newest.
const (
	mostChecked  = 10
	shownChecked = 3
)

type checkFileIn struct {
	tool.Vault
	File           string `json:"file" size:"id" alias:"path" jsonschema:"the file that you will change"`
	IntendedAction string `json:"intended_action,omitempty" size:"query" jsonschema:"the planned action; reports whether a similar one failed before"`
	tool.AsOf
}

type checkFileOut struct {
	tool.Aside   `json:"-"`
	File         string             `json:"file"`
	MemoryCount  int                `json:"memory_count" jsonschema:"of the ten newest"`
	FailureCount int                `json:"failure_count" jsonschema:"likewise"`
	Total        int                `json:"total" jsonschema:"memories of the file"`
	Message      string             `json:"message"`
	Memories     []memory.Retrieved `json:"memories" jsonschema:"the three newest, as summaries"`
	RecallHint   string             `json:"recall_hint,omitempty" jsonschema:"a call that returns more"`
	Conflict     *conflict          `json:"conflict,omitempty" jsonschema:"a failure similar to the intended action"`
}

// A conflict is an earlier failure that is similar to the intended action.
type conflict struct {
	MemoryID   string  `json:"memory_id"`
	Goal       string  `json:"goal"`
	Similarity float64 `json:"similarity"`
	Message    string  `json:"message"`
}

// checkFile returns the tool that reports earlier work on a file, and failures that are similar to
// an intended action.
func (f tools) checkFile() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "memory_check_file", Short: "check_file", Family: Family, Title: "Check a file before work",
		Doc: checkFileDoc, Role: auth.Reader, Kind: tool.Read, List: "memories",
		Route:    tool.Route{Method: "GET", Path: "/memories/check-file"},
		Commands: []tool.Command{{Words: "memory check-file", Args: []string{"file", "intended_action?"}}},
	}, func(_ context.Context, v view, in checkFileIn) (checkFileOut, error) {
		return check(v.memories, in), nil
	})
}

// check returns the summary of the memories about a file: those of the exact path, and those of
// paths that match it.
func check(x *memory.Index, in checkFileIn) checkFileOut {
	newest := memory.NewestFirst(append(x.OfFile(in.File, true), x.OfFile(in.File, false)...))
	out := checkFileOut{
		File: in.File, Total: len(newest), Memories: []memory.Retrieved{},
		Message: "No relevant memories found for this file.",
	}
	for _, c := range newest[:min(len(newest), mostChecked)] {
		out.MemoryCount++
		if !c.Outcome.Success {
			out.FailureCount++
		}
		if len(out.Memories) < shownChecked {
			told := c.Retrieve(memory.DepthSummary, nil)
			told.Confidence, told.SupersededBy = fitting, x.SupersededBy(c.ID)
			out.Memories = append(out.Memories, told)
		}
	}
	if out.Total > 0 {
		out.Message = message(path.Base(memory.CleanPath(in.File)), out.MemoryCount, out.FailureCount)
		out.RecallHint = fmt.Sprintf("recall({ file: %q, depth: \"reasoning\" })", in.File)
	}
	if c, ok := memory.FailedBefore(newest, in.IntendedAction); ok {
		out.Conflict = &conflict{
			c.ID, c.Goal, c.Similarity, "A similar action failed before on " + in.File,
		}
	}
	return out
}

// message returns the sentence that reports the number of memories of a file, and of failures among
// them.
func message(name string, count, failed int) string {
	text := fmt.Sprintf("[RUM] %s has %d memories", name, count)
	if count == 1 {
		text = fmt.Sprintf("[RUM] %s has 1 memory", name)
	}
	if failed > 0 {
		text += fmt.Sprintf(" (%d failed)", failed)
	}
	return text
}
