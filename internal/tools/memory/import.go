package memory

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// mostImported is the maximum number of imported lines and Markdown files in one call. All of them
// become one commit. A larger export is imported in several calls, each with some of its lines.
const mostImported = 1000

// An importIn is the input of memory_import.
type importIn struct {
	tool.Vault
	// files of JSON Lines (.jsonl) or Markdown (.md), as memory_export makes them
	Files []importFile `json:"files"`
	tool.Mutation
}

// An importFile is one imported file. The suffix of Path decides its format: a Markdown file is one
// memory, every other file has one item on each line. Offset is the number of lines of the original
// file before Content, so that faults name the line numbers of that file if it is imported in
// parts.
type importFile struct {
	Path    string `json:"path" size:"id"`
	Content string `json:"content" max:"4194304"`
	// lines of the file in the calls before
	Offset int `json:"offset,omitempty" min:"0"`
}

// An importOut is the output of memory_import. Created counts the new memories, Skipped those whose
// id exists, and Others the other stored items, without the records of agents that memories need.
// LeftOut lists up to mostLeftOut lines of which something was not stored, each with the reason, and
// MoreLeftOut counts the others; they do not fail the call.
//
// A dry run reports the same counts, and stores nothing.
type importOut struct {
	tool.Aside `json:"-"`
	// memories
	Created int `json:"created"`
	// existing ones
	Skipped int `json:"skipped"`
	// agents, links, chapters and wisdom
	Others int `json:"others"`
	// lines and links that are not stored
	LeftOut []leftOut `json:"left_out,omitempty"`
	// number of lines and links that are not stored either, and not in left_out
	MoreLeftOut int `json:"more_left_out,omitempty"`

	DryRun bool `json:"dry_run,omitempty"`
}

// A leftOut is a line that was not imported, with the reason.
type leftOut struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// importAll returns the tool that imports the output of memory_export. It imports all lines or
// none, except lines that can only be left out. A repeated import adds nothing, because existing
// items are skipped; only memories without an id are created again.
//
// The lines are parsed and their agents claimed once, before the draft, which can run several
// times.
func (f tools) importAll() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_import", Short: "import", Family: Family, Title: "Import memories",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/memories/import"},
		Commands: []tool.Command{{Words: "memory import"}},
		Input: &tool.Files{
			Arg: "files", Body: "content", MaxFiles: mostImported, MaxBytes: 1 << 20, Any: true, Single: true,
			Split: map[string]tool.Split{".jsonl": tool.Lines},
		},
	}, func(ctx context.Context, c auth.Caller, in importIn) (importOut, error) {
		lines, err := in.lines()
		if err != nil {
			return importOut{}, err
		}
		others, err := f.claimAgents(ctx, c, in, lines)
		if err != nil {
			return importOut{}, err
		}
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation,
			func(_ context.Context, a author, out *importOut) error {
				out.DryRun = in.DryRun
				j := newImporter(a, out, others)
				for _, l := range lines {
					if err := j.addLine(l); err != nil {
						return err
					}
				}
				return nil
			})
	})
}

// claimAgents claims the agents of the lines that belong to no principal yet, before they are in
// the log; see newAgent. It returns PERMISSION_DENIED if an agent belongs to another principal,
// unless the caller is an admin, who can write for any agent: others then contains these agents. A
// dry run checks without claiming.
//
// Without the claim, an import could store memories for an id that another principal claims later,
// and then owns. The local principal needs no claims; others is nil then.
func (f tools) claimAgents(
	ctx context.Context, c auth.Caller, in importIn, lines []importLine,
) (others map[string]bool, err error) {
	if c.Principal == auth.Local {
		return nil, nil
	}
	t, err := f.Teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	isAdmin := c.Role(in.Vault.Vault).Allows(auth.Admin)
	asked := map[string]bool{"": true, auth.Local: true, c.Agent: true}
	others = map[string]bool{}
	for _, b := range lines {
		as := c
		if as.Agent = b.agent(); asked[as.Agent] {
			continue
		}
		asked[as.Agent] = true
		switch err := t.ClaimAgent(ctx, as, !in.DryRun); {
		case fault.Is(err, fault.PermissionDenied) && isAdmin:
			others[as.Agent] = true
		case err != nil:
			return nil, fault.Of(err).At(b.file, b.line).With("argument", "files")
		}
	}
	return others, nil
}

// agent returns the agent to which a line belongs, or "" if it names none. The line of an agent
// belongs to that agent itself.
func (b importLine) agent() string {
	if b.Kind == memory.KindAgent {
		return b.ID
	}
	return cmp.Or(b.AgentID, b.Agent)
}

// An importLine is a parsed line, with its file and line number.
type importLine struct {
	memory.ImportLine
	file string
	line int // from 1
}

// lines parses the files. It returns all problems as one fault. That is at most one problem for
// each file, because the parse of a file ends at its first problem.
func (in *importIn) lines() ([]importLine, error) {
	var all []importLine
	var problems []*fault.Fault
	for _, f := range in.Files {
		lines, err := f.lines()
		if err != nil {
			problems = append(problems, fault.Of(err))
		}
		all = append(all, lines...)
	}
	if len(all) > mostImported {
		problems = append(problems, fault.New(fault.BatchTooLarge, "one call imports at most %d lines, not %d",
			mostImported, len(all)).Fix("split them over several calls"))
	}
	return all, fault.Join(Family.Several, problems).Err()
}

// lines parses one file: a Markdown file is one memory, and in any other file every line is an
// item. Empty lines are skipped.
func (f importFile) lines() ([]importLine, error) {
	if ext := strings.ToLower(path.Ext(f.Path)); ext == ".md" || ext == ".markdown" {
		line, ok, err := memory.FromMarkdown(f.Content)
		if err != nil || !ok {
			return nil, f.lineFault(1, "it is not a memory from memory_export")
		}
		b, err := memory.ReadLine(line)
		if err != nil {
			return nil, f.lineFault(1, "its frontmatter is not that of a memory")
		}
		return []importLine{{b, f.Path, 1}}, nil
	}
	var all []importLine
	n := f.Offset
	for text := range strings.Lines(f.Content) {
		n++
		if strings.TrimSpace(text) == "" {
			continue
		}
		b, err := memory.ReadLine([]byte(text))
		if err != nil {
			return nil, f.lineFault(n, "the line is not a JSON object of an export")
		}
		all = append(all, importLine{b, f.Path, n})
	}
	return all, nil
}

// lineFault returns the fault of a line of the file, with its path and line number, counted from 1.
func (f importFile) lineFault(line int, what string) error {
	return fault.New(fault.InvalidQuery, "%s", what).At(f.Path, line).With("argument", "files")
}

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
