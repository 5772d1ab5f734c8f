package memory

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/memory"
	"rookery/internal/repo"
	"rookery/internal/search"
	"rookery/internal/tool"
	"rookery/internal/tools/state"
)

//go:embed recall.md
var recallDoc string

type recallIn struct {
	tool.Vault
	MemoryID string `json:"memory_id,omitempty" complete:"memory" names:"target" jsonschema:"this one"`
	File     string `json:"file,omitempty" size:"id" jsonschema:"about this file: a path or its end, a folder with / behind it, or a pattern with * and **"`
	Intent   string `json:"intent,omitempty" size:"query" jsonschema:"what you are about to do, in words"`
	TaskType string `json:"task_type,omitempty" enum:"bug_fix,feature_add,refactor,investigation,test_write,documentation,optimization,security_fix,dependency_update,configuration,other" jsonschema:"kind of work"`
	AgentID  string `json:"agent_id,omitempty" max:"512" complete:"agent" jsonschema:"of this agent"`
	Query    string `json:"query,omitempty" size:"query" jsonschema:"any words"`

	SuccessOnly  bool         `json:"success_only,omitempty" jsonschema:"only what succeeded"`
	FailuresOnly bool         `json:"failures_only,omitempty" jsonschema:"only what failed"`
	Since        tool.Instant `json:"since,omitzero" jsonschema:"not before: Unix time, or RFC 3339"`
	Before       tool.Instant `json:"before,omitzero" jsonschema:"not after"`
	Tags         []string     `json:"tags,omitempty" size:"tag" jsonschema:"with all of these"`

	Depth        string `json:"depth" enum:"summary,outcome,reasoning,full,complete" jsonschema:"how much to tell of each"`
	Limit        int    `json:"limit,omitempty" default:"5" min:"1" max:"100" means:"limit" jsonschema:"memories at most"`
	IncludeLinks bool   `json:"include_links,omitempty" jsonschema:"with the ids of linked memories"`
	Strategy     string `json:"strategy,omitempty" enum:"exact,semantic,auto" default:"auto" rare:"true" jsonschema:"exact: no search by words; semantic: by meaning only"`
	Explain      bool   `json:"explain,omitempty" rare:"true" jsonschema:"say why each was found"`
	MaxTokens    int    `json:"max_tokens,omitempty" min:"100" max:"100000" rare:"true" jsonschema:"tell less of some, so that the answer has so many at most"`
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

// The levels at which a memory is found, and the words for them in answers.
const (
	levelDirect  = "direct"
	levelFile    = "file"
	levelQuery   = "query"
	levelPattern = "pattern"
	semantic     = "semantic"
)

// certain is the confidence in a memory that was asked for by its id, and fitting that in one that is just what was
// asked for by its file or by filters (reference/memory-build.md §2.23).
const (
	certain = 1.0
	fitting = .95
)

// ruled is how a confidence is reckoned that is none of words.
const ruled = "rule"

// A match is a memory that was found, and why.
type match struct {
	*memory.Card
	level      string
	confidence float64
	fuzzy      bool
	why        memory.Explanation
}

// A recalling answers one call.
type recalling struct {
	view
	in     *recallIn
	filter memory.Filter
	search *search.Index // nil: no words are looked for

	found []match
	seen  map[string]bool
	total int
	used  []string // levels that contributed
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
		return f, fault.New(fault.InvalidQuery, "say what to recall: one of memory_id, file, intent, task_type, "+
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
		return f, fault.New(fault.EmbeddingUnavailable, "this deployment has no vectors: nothing is found by meaning").
			Fix("use the strategy auto: it finds by words")
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

// direct finds the memory of an id.
func (r *recalling) direct() error {
	c, err := card(r.memories, r.in.MemoryID, "memory_id")
	if err != nil {
		return err
	}
	r.used = []string{levelDirect}
	if r.filter.Has(c) {
		r.add(match{Card: c, level: levelDirect, confidence: certain, why: memory.Explanation{Match: "exact"}})
	}
	return nil
}

// add adds a memory, unless it is there or there are enough, and counts it.
func (r *recalling) add(m match) {
	if r.seen[m.ID] {
		return
	}
	r.seen[m.ID] = true
	r.total++
	if len(r.found) >= r.in.Limit {
		return
	}
	if !slices.Contains(r.used, m.level) {
		r.used = append(r.used, m.level)
	}
	if m.why.Fit == "" {
		m.why.Fit = ruled
	}
	m.why.Level = m.level
	r.found = append(r.found, m)
}

// byFile finds the memories of a file: of its very path, and if these are too few of paths that match.
func (r *recalling) byFile(going func() bool) {
	for _, exact := range []bool{true, false} {
		if !exact && r.total >= r.in.Limit {
			return
		}
		r.addRanked(func(yield func(match)) {
			for _, m := range r.memories.OfFile(r.in.File, exact) {
				if !going() {
					return
				}
				if r.filter.Has(m.Card) {
					yield(fileMatch(m))
				}
			}
		})
	}
}

// fileMatch is why a memory was found by a file.
func fileMatch(m memory.FileMatch) match {
	found := match{
		Card: m.Card, level: levelFile, confidence: fitting,
		why: memory.Explanation{Match: "exact", File: m.Path},
	}
	if !m.Exact {
		found.confidence, found.why.Match = min(fitting, .5+.45*m.Share), levelPattern
	}
	return found
}

// addRanked adds memories in their order, those that others supersede behind all others.
func (r *recalling) addRanked(each func(yield func(match))) {
	var superseded []match
	each(func(m match) {
		if len(r.memories.SupersededBy(m.ID)) > 0 {
			superseded = append(superseded, m)
			return
		}
		r.add(m)
	})
	for _, m := range superseded {
		r.add(m)
	}
}

// structural finds the memories that pass the filters.
func (r *recalling) structural(going func() bool) {
	r.addRanked(func(yield func(match)) {
		for c := range r.memories.Ranked(r.filter) {
			if !going() {
				return
			}
			yield(match{
				Card: c, level: levelQuery, confidence: fitting, why: memory.Explanation{Match: "structural"},
			})
		}
	})
}

// byWords finds memories by words.
func (r *recalling) byWords(ctx context.Context) error {
	q := search.PlainQuery(r.in.text())
	res, err := r.search.Search(q, search.Options{
		Limit: r.in.Limit - len(r.found), Snippet: -1, Ended: ctx.Err,
		Filter: func(id string) bool {
			c, ok := r.memories.Card(id)
			return ok && !r.seen[id] && r.filter.Has(c)
		},
	})
	if err != nil {
		return err
	}
	rest := res.Total - len(res.Items)
	cards := make([]*memory.Card, 0, len(res.Items))
	for _, hit := range res.Items {
		c, _ := r.memories.Card(hit.Doc)
		cards = append(cards, c)
	}
	r.Vault.PrefetchMemories(ctx, cards)
	for i, hit := range res.Items {
		c := cards[i]
		m, err := r.Vault.Memory(ctx, c)
		if err != nil {
			return err
		}
		r.add(wordMatch(q, r.search, c, m, hit.Score))
	}
	r.total += rest
	return nil
}

// How sure it is that a memory is meant which has some share of the words asked for: no word, and all of them.
// It is a rule until the search itself is calibrated.
const (
	leastSure = .05
	mostSure  = .9
)

// byCoverage is how a confidence is reckoned of the words that a memory has.
const byCoverage = "coverage"

// wordMatch is why a memory was found by words.
func wordMatch(q search.Query, x *search.Index, c *memory.Card, m *memory.Memory, score float64) match {
	matched, lacking := x.Coverage(q, repo.SearchMemory(c, m))
	coverage := 0.0
	if n := len(matched) + len(lacking); n > 0 {
		coverage = float64(len(matched)) / float64(n)
	}
	return match{
		Card: c, level: levelPattern, fuzzy: true, confidence: leastSure + (mostSure-leastSure)*coverage*coverage,
		why: memory.Explanation{
			Match: "fuzzy", Coverage: &coverage, Matched: matched, Missing: lacking, Score: &score, Fit: byCoverage,
		},
	}
}

// answer tells of the memories that were found.
func (r *recalling) answer(ctx context.Context) (recallOut, error) {
	out := recallOut{
		Memories: []memory.Retrieved{}, Strategy: strings.Join(r.used, "+"), Total: r.total,
	}
	out.Note("version", r.Version())
	if err := r.tell(ctx, &out); err != nil {
		return out, err
	}
	if len(out.Memories) > 0 {
		out.Confidence = out.Memories[0].Confidence
	}
	if r.total == 0 {
		if out.Strategy == "" {
			out.Strategy = r.asked()
		}
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

// withoutAccesses returns a memory without how often it was recalled, so that sizes are the same for one version.
func withoutAccesses(m memory.Retrieved) memory.Retrieved {
	if m.Whole != nil {
		whole := *m.Whole
		whole.AccessCount, whole.LastAccessed = 0, nil
		m.Whole = &whole
	}
	return m
}

// asked is the level at which a call looked that found nothing.
func (r *recalling) asked() string {
	switch {
	case r.in.File != "":
		return levelFile
	case r.in.text() != "" && r.in.Strategy != "exact":
		return levelPattern
	}
	return levelQuery
}

// bytesOfToken is about how many bytes a token has.
const bytesOfToken = 4

func idsOf(all []memory.Retrieved) []string {
	var ids []string
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	return ids
}

// tell fills the memories of the answer, each as deep as there is room for.
func (r *recalling) tell(ctx context.Context, out *recallOut) error {
	depth := memory.Depth(r.in.Depth)
	t, err := newTeller(ctx, r.view, depth, r.found)
	if err != nil {
		return err
	}
	left := r.in.MaxTokens * bytesOfToken
	for i, m := range r.found {
		told, err := t.tell(ctx, m.Card, depth)
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

// sizeOf is how many bytes a memory takes in an answer.
func sizeOf(m memory.Retrieved) int {
	data, err := tool.Marshal(withoutAccesses(m))
	if err != nil {
		return 0
	}
	return len(data) + 1
}

// shortened is a memory at the deepest depth at which it fits into so many bytes, and whether there is one. The first
// is always told, as a summary at least.
func (r *recalling) shortened(
	ctx context.Context, t *teller, told memory.Retrieved, m match, left int, first bool,
) (memory.Retrieved, bool, error) {
	if sizeOf(told) <= left {
		return told, true, nil
	}
	for _, depth := range memory.Depth(r.in.Depth).Below() {
		var err error
		if told, err = t.tell(ctx, m.Card, depth); err != nil {
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

// complete adds what does not depend on the depth.
func (r *recalling) complete(told *memory.Retrieved, m match) {
	told.Confidence, told.Fuzzy = m.confidence, m.fuzzy
	told.SupersededBy = r.memories.SupersededBy(m.ID)
	if r.in.IncludeLinks {
		shown := r.memories.Shown(m.ID)
		told.Links = &shown
	}
	if r.in.Explain {
		told.Explanation = &m.why
	}
}

// A teller tells of memories at a depth.
type teller struct {
	view
	accesses map[string]repo.Access // of those at the depth complete
}

// newTeller puts at hand what is needed to tell of some memories.
func newTeller(ctx context.Context, v view, depth memory.Depth, found []match) (*teller, error) {
	t := &teller{view: v}
	if depth.Deep() {
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

// tell tells of one memory.
func (t *teller) tell(ctx context.Context, c *memory.Card, depth memory.Depth) (memory.Retrieved, error) {
	if !depth.Deep() {
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
