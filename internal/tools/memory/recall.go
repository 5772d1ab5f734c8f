package memory

import (
	"cmp"
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
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
	Intent string `json:"intent,omitempty" size:"paste"`
	// kind of work
	TaskType memory.TaskType `json:"task_type,omitempty"`
	// of this agent
	AgentID string `json:"agent_id,omitempty" complete:"agent"`
	// any words
	Query string `json:"query,omitempty" size:"paste"`

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
	case in.MemoryID+in.File+text+string(in.TaskType)+in.AgentID == "":
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
//
// A longer text is cut off after as many characters as a goal can have, so that the whole text of a
// goal still finds it. The search uses the first words only, and reading more would take long.
func (in *recallIn) text() string {
	text := strings.TrimSpace(in.Intent + " " + in.Query)
	if len(text) <= maxSearched {
		return text
	}
	characters := 0
	for i := range text {
		if characters++; characters > maxSearched {
			return text[:i]
		}
	}
	return text
}

// maxSearched is the number of characters of an intent and a query that are searched for.
const maxSearched = tool.MaxPart

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

// answer returns the output for the memories that were found, and records that they were accessed.
// The token estimate does not depend on earlier accesses, so it is the same for the same version.
//
// The accesses are counted after the memories are read, so an answer shows the count before this
// call. An answer without matches has the warning NO_RESULTS, and is not a failure. Total can be
// greater than the number of memories for three reasons: the limit, max_tokens, and the size of the
// answer.
func (r *recallRun) answer(ctx context.Context) (recallOut, error) {
	out := recallOut{
		Memories: []memory.Retrieved{}, Strategy: strings.Join(r.used, "+"), Total: r.total,
	}
	out.Note("version", r.Version())
	if err := r.addMemories(ctx, &out); err != nil {
		return out, err
	}
	if len(out.Memories) > 0 {
		out.Confidence = out.Memories[0].Confidence
	}
	if r.total == 0 {
		out.Strategy = cmp.Or(out.Strategy, r.requestedLevel())
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	out.Note("count", len(out.Memories))
	out.Note("total", r.total)
	if len(out.Memories) > 0 {
		r.Vault.Accessed(ctx, idsOf(out.Memories))
	}
	counted := out
	counted.Memories = make([]memory.Retrieved, len(out.Memories))
	for i, m := range out.Memories {
		counted.Memories[i] = withoutAccesses(m)
	}
	data, err := tool.Marshal(counted)
	out.Tokens = (len(data) + 3) / bytesOfToken
	return out, err
}

// withoutAccesses returns a memory without its access counts, so that its size depends only on the
// version.
func withoutAccesses(m memory.Retrieved) memory.Retrieved {
	if m.Whole != nil {
		whole := *m.Whole
		whole.AccessCount, whole.LastAccessed = 0, nil
		m.Whole = &whole
	}
	return m
}

// requestedLevel returns the level at which a call without a match searched: the first that it
// could have. The answer needs a level even if none contributed.
func (r *recallRun) requestedLevel() string {
	switch {
	case r.in.File != "":
		return levelFile
	case r.in.text() != "" && r.in.Strategy != "exact":
		return levelPattern
	}
	return levelQuery
}

// bytesOfToken is the approximate number of bytes of a token. Token counts depend on the model, so
// the estimate is only a guide for the caller.
const bytesOfToken = 4

// idsOf returns the ids of memories.
func idsOf(all []memory.Retrieved) []string {
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// addMemories adds the memories to the output. With max_tokens, each has the deepest depth that
// fits, and the output ends with the first memory that does not fit at any depth. So the best
// matches are shown in the most detail. Independent of that, an answer that is too large as a whole
// is cut, with a warning.
//
// The budget is max_tokens times bytesOfToken, in bytes of the memories only; the rest of the
// answer is not counted.
func (r *recallRun) addMemories(ctx context.Context, out *recallOut) error {
	depth := memory.Depth(r.in.Depth)
	t, err := newRenderer(ctx, r.view, depth, r.found)
	if err != nil {
		return err
	}
	left := r.in.MaxTokens * bytesOfToken
	for i, m := range r.found {
		told, err := t.render(ctx, m.Card, depth)
		if err != nil {
			return err
		}
		r.complete(&told, m)
		if r.in.MaxTokens > 0 {
			var fits bool
			if told, fits, err = r.shortened(ctx, t, told, m, left, i == 0); err != nil || !fits {
				return err
			}
			left -= sizeOf(told)
		}
		if !out.Fits(told) && len(out.Memories) > 0 {
			out.WarnCut("memories", len(out.Memories), len(r.found))
			return nil
		}
		out.Memories = append(out.Memories, told)
	}
	return nil
}

// sizeOf returns the size in bytes of a memory in an answer, including its separator. The access
// counts are not included, so that the same version is cut at the same place. It returns 0 if the
// memory cannot be encoded; the answer then fails later.
func sizeOf(m memory.Retrieved) int {
	data, err := tool.Marshal(withoutAccesses(m))
	if err != nil {
		return 0
	}
	return len(data) + 1
}

// shortened returns a memory at the deepest depth at which it has at most left bytes. The boolean
// reports whether it fits. The first memory is always included, at least as a summary, so that a
// small limit does not make the answer empty. A shortened memory names its depth.
func (r *recallRun) shortened(
	ctx context.Context, t *renderer, told memory.Retrieved, m match, left int, first bool,
) (memory.Retrieved, bool, error) {
	if sizeOf(told) <= left {
		return told, true, nil
	}
	for _, depth := range memory.Depth(r.in.Depth).Below() {
		var err error
		if told, err = t.render(ctx, m.Card, depth); err != nil {
			return told, false, err
		}
		r.complete(&told, m)
		told.Depth = depth
		if sizeOf(told) <= left {
			return told, true, nil
		}
	}
	return told, first, nil
}

// complete sets the fields that do not depend on the depth: the confidence, the memories that
// supersede it and, if the call requests them, the links and the explanation.
func (r *recallRun) complete(told *memory.Retrieved, m match) {
	told.Confidence, told.Fuzzy = m.confidence, m.fuzzy
	told.SupersededBy = r.memories.SupersededBy(m.ID)
	if r.in.IncludeLinks {
		told.Links = new(r.memories.AllLinks(m.ID))
	}
	if r.in.Explain {
		told.Explanation = &m.why
	}
}

// A renderer converts memories for answers, at a depth. The same renderer can be used for several
// depths up to the one for which it was created.
type renderer struct {
	view
	accesses map[string]repo.Access // nil except at the depth complete
}

// newRenderer returns a renderer for some memories. It prefetches their values if the depth needs
// them, so that the log is read once for all of them and not once for each. At the depth complete
// it also reads the access counts; an error of that read is returned.
func newRenderer(ctx context.Context, v view, depth memory.Depth, found []match) (*renderer, error) {
	t := &renderer{view: v}
	if depth.NeedsValue() {
		cards := make([]*memory.Card, 0, len(found))
		for _, m := range found {
			cards = append(cards, m.Card)
		}
		v.Vault.PrefetchMemories(ctx, cards)
	}
	if depth != memory.DepthComplete {
		return t, nil
	}
	var err error
	t.accesses, err = v.Vault.Accesses(ctx)
	return t, err
}

// render converts one memory at a depth. Up to the depth outcome the card contains all fields, and
// nothing is read.
func (t *renderer) render(ctx context.Context, c *memory.Card, depth memory.Depth) (memory.Retrieved, error) {
	if !depth.NeedsValue() {
		return c.Retrieve(depth, nil), nil
	}
	m, err := t.Vault.Memory(ctx, c)
	if err != nil {
		return memory.Retrieved{}, err
	}
	told := c.Retrieve(depth, m)
	if told.Whole != nil {
		a := t.accesses[c.ID]
		if told.AccessCount = a.Count; a.Count > 0 {
			told.LastAccessed = &a.Last
		}
	}
	return told, nil
}
