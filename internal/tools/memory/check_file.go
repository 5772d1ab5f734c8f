package memory

import (
	"context"
	"fmt"
	"path"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The limits of a check (reference/memory.md §A6): it counts the failures among the mostChecked
// newest memories of a file, and shows the shownChecked newest. They keep the answer short, because
// an agent asks before each change of a file.
const (
	mostChecked  = 10
	shownChecked = 3
)

// A checkFileIn is the input of memory_check_file. File can be a path, a path that ends with a
// slash for everything below a folder, or a pattern; see memory.Index.OfFile. IntendedAction is a
// sentence that is compared with the goals of failures; it is optional.
type checkFileIn struct {
	tool.Vault
	// the file that you will change
	File string `json:"file" size:"id" alias:"path"`
	// the planned action; reports whether a similar one failed before
	IntendedAction string `json:"intended_action,omitempty" size:"query"`
	tool.AsOf
}

// A checkFileOut is the output of memory_check_file. MemoryCount is the number of the memories that
// were looked at, at most mostChecked, and FailureCount the number of failures among them. Total is
// the number of all memories of the file. Message is a sentence that an agent can print as it is,
// and RecallHint the call that returns more; it is empty if there are no memories.
type checkFileOut struct {
	tool.Aside `json:"-"`
	File       string `json:"file"`
	// of the ten newest
	MemoryCount int `json:"memory_count"`
	// likewise
	FailureCount int `json:"failure_count"`
	// memories of the file
	Total   int    `json:"total"`
	Message string `json:"message"`
	// the three newest, as summaries
	Memories []memory.Retrieved `json:"memories"`
	// a call that returns more
	RecallHint string `json:"recall_hint,omitempty"`
	// a failure similar to the intended action
	Conflict *conflict `json:"conflict,omitempty"`
}

// A conflict is an earlier failure that is similar to the intended action. Similarity is from 0 to
// 1.
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
		Role: auth.Reader, Kind: tool.Read, List: "memories",
		Route:    tool.Route{Method: "GET", Path: "/memories/check-file"},
		Commands: []tool.Command{{Words: "memory check-file", Args: []string{"file", "intended_action?"}}},
	}, func(_ context.Context, v view, in checkFileIn) (checkFileOut, error) {
		return check(v.memories, in), nil
	})
}

// check returns the summary of the memories about a file: those of the exact path, and those of
// paths that match it. All are treated alike, from the newest to the oldest. Failures that are
// similar to the intended action are searched among more memories than are counted; see
// memory.FailedBefore.
//
// The confidence of each memory is that of a match by file, also for a path that matches only in
// part.
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
// them. name is the last element of the path.
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
