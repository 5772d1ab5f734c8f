package memory

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A recallIn is the input of memory_recall. Its arguments are of three kinds. The selectors
// MemoryID, File, Intent, TaskType, AgentID and Query say where to look; at least one is required.
// The filters (those from SuccessOnly to Tags, and also TaskType and AgentID) restrict what is
// found at every level. The others determine the form of the answer.
type recallIn struct {
	tool.Vault
	// this one
	MemoryID string `json:"memory_id,omitempty" complete:"memory" names:"target"`
	// about this file: a path or its end, a folder that ends in /, or a pattern with * and **
	File string `json:"file,omitempty" size:"id"`
	// the planned work, in words
	Intent string `json:"intent,omitempty" size:"query"`
	// kind of work
	TaskType string `json:"task_type,omitempty" enum:"bug_fix,feature_add,refactor,investigation,test_write,documentation,optimization,security_fix,dependency_update,configuration,other"`
	// of this agent
	AgentID string `json:"agent_id,omitempty" complete:"agent"`
	// any words
	Query string `json:"query,omitempty" size:"query"`

	// only successful ones
	SuccessOnly bool `json:"success_only,omitempty"`
	// only failed ones
	FailuresOnly bool `json:"failures_only,omitempty"`
	// not before: Unix time, or RFC 3339
	Since tool.Instant `json:"since,omitzero"`
	// not after
	Before tool.Instant `json:"before,omitzero"`
	// with all of these
	Tags []string `json:"tags,omitempty" size:"tag"`

	// level of detail
	Depth string `json:"depth" enum:"summary,outcome,reasoning,full,complete"`
	// memories at most
	Limit int `json:"limit,omitempty" default:"5" min:"1" max:"100" means:"limit"`
	// include the ids of linked memories
	IncludeLinks bool `json:"include_links,omitempty"`
	// exact: no search by words; semantic: by meaning only
	Strategy string `json:"strategy,omitempty" enum:"exact,semantic,auto" default:"auto" rare:"true"`
	// explain why each memory matched
	Explain bool `json:"explain,omitempty" rare:"true"`
	// reduce the depth of some memories to limit the answer to about this many tokens
	MaxTokens int `json:"max_tokens,omitempty" min:"100" max:"100000" rare:"true"`
	tool.AsOf
}

// A recallOut is the output of memory_recall. Strategy names the levels that contributed memories,
// joined with "+", in the order in which they ran. Confidence is that of the first memory, or 0 if
// there is none. Total counts the matches of the levels that ran, also those beyond the limit.
// Tokens is the estimated size of the answer in tokens.
type recallOut struct {
	tool.Aside `json:"-"`
	Memories   []memory.Retrieved `json:"memories"`
	// direct, file, query, pattern, semantic, joined with +
	Strategy string `json:"query_strategy_used"`
	// of the first
	Confidence float64 `json:"confidence"`
	// before limit
	Total int `json:"total_matches"`
	// bytes of this answer / 4
	Tokens int `json:"token_estimate"`
}

// recall returns the tool that finds memories by id, file, filters or words. It changes nothing in
// the vault; only the count of accesses grows, which is not part of a version.
func (f tools) recall() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_recall", Short: "recall", Family: Family, Title: "Recall memories",
		Role: auth.Reader, Kind: tool.Read, List: "memories",
		Route:    tool.Route{Method: "POST", Path: "/memories/recall"},
		Commands: []tool.Command{{Words: "memory recall", Args: []string{"query?"}}},
		Empty:    []tool.Empty{{Of: "memories that match"}},
	}, f.recallMemories)
}

// A recallRun is the state of one call of memory_recall. A call goes through four steps: check
// validates the arguments, open reads the vault, run finds the memories level by level, and answer
// shows them. So only the memories of the answer, at most Limit, are read from the log; everything
// before works on the index.
type recallRun struct {
	view
	in     *recallIn
	filter memory.Filter // the conditions that every memory must meet
	search *search.Index // nil: no search by words

	ranks map[string]*rank // ranks that were looked up, by id
	found []match          // the memories of the answer, at most Limit
	seen  map[string]bool  // ids that were found, also those beyond the limit
	total int              // number of matches
	used  []string         // levels that contributed memories
}

// recallMemories finds the memories that match the call, and returns them at the requested depth.
func (f tools) recallMemories(ctx context.Context, c auth.Caller, in recallIn) (recallOut, error) {
	filter, err := in.check()
	if err != nil {
		return recallOut{}, err
	}
	r := &recallRun{in: &in, filter: filter, seen: map[string]bool{}}
	if err := r.open(ctx, f, c); err != nil {
		return recallOut{}, err
	}
	if err := r.run(ctx); err != nil {
		return recallOut{}, err
	}
	return r.answer(ctx)
}

// open reads the vault once, with its search index if the call may need a search by words. Both are
// of the same version, so the levels agree on which memories exist.
func (r *recallRun) open(ctx context.Context, f tools, c auth.Caller) (err error) {
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

// byWords reports whether the call can search by words if the other levels find too few memories.
// The search index is opened only then, because that costs time and memory.
func (in *recallIn) byWords() bool {
	return in.MemoryID == "" && in.text() != "" && in.Strategy != "exact"
}

// check returns the filter of the call. It returns INVALID_QUERY if the call has no criterion or
// contradicts itself, and EMBEDDING_UNAVAILABLE for the strategy semantic, which needs vectors that
// the server does not have. It also trims the spaces around File.
func (in *recallIn) check() (memory.Filter, error) {
	f := memory.Filter{Agent: in.AgentID, TaskType: in.TaskType, Tags: in.Tags}
	var err error
	if f.Since, f.Before, err = timeRange(in.Since, in.Before); err != nil {
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

// text returns the words to search for: the intent and the query together. It is "" if the call has
// no words.
func (in *recallIn) text() string { return strings.TrimSpace(in.Intent + " " + in.Query) }

// run finds memories level by level, until there are as many as the limit (reference/memory.md
// §A4). A call with an id has that level only. Otherwise the first level is the file or, in a call
// without a file, the filters, if there are no words or the strategy is exact. The last level is
// the search by words, which the strategy exact omits.
//
// So a call by file never returns memories of other files, unless it also has words; and in a call
// with words, the filters alone select nothing unless the strategy is exact.
//
// Each level applies the same filter. Between the levels the context is checked, because a level
// that was ended early would otherwise look as if it had found everything.
func (r *recallRun) run(ctx context.Context) error {
	in, going := r.in, state.KeepGoing(ctx)
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

// filters reports whether the call has filters in addition to the words.
func (in *recallIn) filters() bool {
	return in.SuccessOnly || in.FailuresOnly || in.TaskType != "" || in.AgentID != "" ||
		len(in.Tags) > 0 || !in.Since.IsZero() || !in.Before.IsZero()
}
