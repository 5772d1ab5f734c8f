package memory

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
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
			func(_ context.Context, tx *repo.Tx, out *importOut) error {
				out.DryRun = in.DryRun
				j := newImporter(author{c, in.Vault.Vault, tx}, out, others)
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
	if f := fault.Join(Family.Several, problems); f != nil {
		return nil, f
	}
	return all, nil
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
