package memory

import (
	"context"
	_ "embed"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

//go:embed recall.md
var recallDoc string

type recallIn struct {
	tool.Vault
	MemoryID string `json:"memory_id,omitempty" complete:"memory" names:"target" jsonschema:"this one"`
	File     string `json:"file,omitempty" size:"id" jsonschema:"about this file: a path or its end, a folder that ends in /, or a pattern with * and **"`
	Intent   string `json:"intent,omitempty" size:"query" jsonschema:"the planned work, in words"`
	TaskType string `json:"task_type,omitempty" enum:"bug_fix,feature_add,refactor,investigation,test_write,documentation,optimization,security_fix,dependency_update,configuration,other" jsonschema:"kind of work"`
	AgentID  string `json:"agent_id,omitempty" max:"512" complete:"agent" jsonschema:"of this agent"`
	Query    string `json:"query,omitempty" size:"query" jsonschema:"any words"`

	SuccessOnly  bool         `json:"success_only,omitempty" jsonschema:"only successful ones"`
	FailuresOnly bool         `json:"failures_only,omitempty" jsonschema:"only failed ones"`
	Since        tool.Instant `json:"since,omitzero" jsonschema:"not before: Unix time, or RFC 3339"`
	Before       tool.Instant `json:"before,omitzero" jsonschema:"not after"`
	Tags         []string     `json:"tags,omitempty" size:"tag" jsonschema:"with all of these"`

	Depth        string `json:"depth" enum:"summary,outcome,reasoning,full,complete" jsonschema:"level of detail"`
	Limit        int    `json:"limit,omitempty" default:"5" min:"1" max:"100" means:"limit" jsonschema:"memories at most"`
	IncludeLinks bool   `json:"include_links,omitempty" jsonschema:"include the ids of linked memories"`
	Strategy     string `json:"strategy,omitempty" enum:"exact,semantic,auto" default:"auto" rare:"true" jsonschema:"exact: no search by words; semantic: by meaning only"`
	Explain      bool   `json:"explain,omitempty" rare:"true" jsonschema:"explain why each memory matched"`
	MaxTokens    int    `json:"max_tokens,omitempty" min:"100" max:"100000" rare:"true" jsonschema:"reduce the depth of some memories to limit the answer to about this many tokens"`
	tool.AsOf
}

type recallOut struct {
	tool.Aside `json:"-"`
	Memories   []memory.Retrieved `json:"memories"`
	Strategy   string             `json:"query_strategy_used" jsonschema:"direct, file, query, pattern, semantic, joined with +"`
	Confidence float64            `json:"confidence" jsonschema:"of the first"`
	Total      int                `json:"total_matches" jsonschema:"before limit"`
	Tokens     int                `json:"token_estimate" jsonschema:"bytes of this answer / 4"`
}

func (f tools) recall() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_recall", Short: "recall", Family: Family, Title: "Recall memories", Doc: recallDoc,
		Role: auth.Reader, Kind: tool.Read, List: "memories",
		Route:    tool.Route{Method: "POST", Path: "/memories/recall"},
		Commands: []tool.Command{{Words: "memory recall", Args: []string{"query?"}}},
		Empty:    []tool.Empty{{Of: "memories that match"}},
	}, f.recallMemories)
}

// A recalling answers one call.
type recalling struct {
	view
	in     *recallIn
	filter memory.Filter
	search *search.Index // nil: no words are looked for

	merits map[string]*merit // that were looked up, by id
	found  []match
	seen   map[string]bool
	total  int
	used   []string // levels that contributed
}

func (f tools) recallMemories(ctx context.Context, c auth.Caller, in recallIn) (recallOut, error) {
	filter, err := in.check()
	if err != nil {
		return recallOut{}, err
	}
	r := &recalling{in: &in, filter: filter, seen: map[string]bool{}}
	if err := r.open(ctx, f, c); err != nil {
		return recallOut{}, err
	}
	if err := r.run(ctx); err != nil {
		return recallOut{}, err
	}
	return r.answer(ctx)
}

// open reads the vault once: with its search index, if words may be looked for.
func (r *recalling) open(ctx context.Context, f tools, c auth.Caller) (err error) {
	if !r.in.byWords() {
		r.view, err = f.view(ctx, c, r.in.Vault.Vault, r.in.AsOf)
		return err
	}
	v, s, err := f.SearchableMemories(ctx, c, r.in.Vault.Vault, r.in.AsOf)
	if err != nil {
		return err
	}
	r.view = view{View: state.View{Vault: v, Index: s.Index}, memories: s.Index.Memories()}
	r.search = s.Search
	return nil
}

// byWords reports whether memories are looked for by words, if there are too few without.
func (in *recallIn) byWords() bool {
	return in.MemoryID == "" && in.text() != "" && in.Strategy != "exact"
}

// check returns the filter of the call. A call that asks for nothing is a fault.
func (in *recallIn) check() (memory.Filter, error) {
	f := memory.Filter{Agent: in.AgentID, TaskType: in.TaskType, Tags: in.Tags}
	var err error
	if f.Since, f.Before, err = between(in.Since, in.Before); err != nil {
		return f, err
	}
	in.File = strings.TrimSpace(in.File)
	switch text := in.text(); {
	case in.MemoryID+in.File+text+in.TaskType+in.AgentID == "":
		return f, fault.New(fault.InvalidQuery, "give at least one of memory_id, file, intent, task_type, "+
			"agent_id and query").With("available", []string{
			"memory_id", "file", "intent", "task_type", "agent_id", "query",
		})
	case in.SuccessOnly && in.FailuresOnly:
		return f, fault.New(fault.InvalidQuery, "success_only and failures_only exclude each other").
			With("argument", "failures_only")
	case in.Strategy == semantic && text == "":
		return f, fault.New(fault.InvalidQuery, "the strategy semantic needs an intent or a query").
			With("argument", "strategy")
	case in.Strategy == semantic:
		return f, fault.New(fault.EmbeddingUnavailable, "this deployment has no vectors for a semantic search").
			Fix("use the strategy auto, which searches by words")
	}
	if in.SuccessOnly || in.FailuresOnly {
		f.Success = &in.SuccessOnly
	}
	return f, nil
}

// text is what is looked for by words: the intent and the query are one.
func (in *recallIn) text() string { return strings.TrimSpace(in.Intent + " " + in.Query) }

// run finds memories, level by level, until there are enough (reference/memory.md §A4).
func (r *recalling) run(ctx context.Context) error {
	in, going := r.in, state.Going(ctx)
	switch {
	case in.MemoryID != "":
		return r.direct()
	case in.File != "":
		r.byFile(going)
	case in.text() == "" || in.Strategy == "exact" && in.filters():
		r.structural(going)
	}
	if err := ctx.Err(); err != nil || r.search == nil || len(r.found) >= in.Limit {
		return err
	}
	return r.byWords(ctx)
}

// filters reports whether the call says which memories it wants beside the words.
func (in *recallIn) filters() bool {
	return in.TaskType != "" || in.AgentID != "" || len(in.Tags) > 0 || !in.Since.IsZero() || !in.Before.IsZero()
}
