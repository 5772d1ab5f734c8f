package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// mostSynthesized is the maximum number of chapters from which wisdom is made if the call names
// none: the newest ones. A call that names chapters has no such limit.
const mostSynthesized = 50

// A synthesizeIn is the input of memory_synthesize. Tags selects chapters only if ChapterIDs is
// empty.
type synthesizeIn struct {
	tool.Vault
	// of these chapters
	ChapterIDs []string `json:"chapter_ids,omitempty" complete:"chapter" names:"target"`
	// of the newest chapters that have all of these
	Tags []string `json:"tags,omitempty" size:"tag"`
	// the minimum number of chapters
	MinChapters int `json:"min_chapters,omitempty" default:"2" min:"1" max:"200"`
	tool.Mutation
}

// A synthesizeOut is the output of memory_synthesize. The fields up to EndTS are those of the
// specification; Wisdom contains the same values in the form in which memory_recall_wisdom returns
// them. Times are Unix milliseconds.
type synthesizeOut struct {
	tool.Aside `json:"-"`
	WisdomID   string   `json:"wisdom_id,omitempty"`
	Summary    string   `json:"summary"`
	Insights   []string `json:"insights"`
	// tags and topics of two chapters or more
	Patterns      []string `json:"patterns"`
	BestPractices []string `json:"best_practices"`
	ChapterCount  int      `json:"chapter_count"`
	StartTS       int64    `json:"start_ts" format:"unix-ms"`
	EndTS         int64    `json:"end_ts" format:"unix-ms"`
	Wisdom        wisdom   `json:"wisdom"`
	DryRun        bool     `json:"dry_run,omitempty"`
}

// A wisdom is wisdom as answers show it. Times are Unix milliseconds.
type wisdom struct {
	ID            string   `json:"id"`
	Summary       string   `json:"summary"`
	Insights      []string `json:"insights,omitempty"`
	Patterns      []string `json:"patterns,omitempty"`
	BestPractices []string `json:"best_practices,omitempty"`
	Tags          []string `json:"tags,omitempty"`
	StartTS       int64    `json:"start_ts" format:"unix-ms"`
	EndTS         int64    `json:"end_ts" format:"unix-ms"`
	ChapterIDs    []string `json:"chapter_ids,omitempty"`
	CreatedAt     int64    `json:"created_at" format:"unix-ms"`
	AgentID       string   `json:"agent_id"`
}

// wisdomOf converts stored wisdom for an answer. chapters includes the ids of its chapters.
func wisdomOf(id string, w *memory.Wisdom, chapters bool) wisdom {
	out := wisdom{
		ID: id, Summary: w.Summary, Insights: w.Insights, Patterns: w.Patterns, BestPractices: w.BestPractices,
		Tags: w.Tags, StartTS: w.Start, EndTS: w.End, CreatedAt: w.Created, AgentID: w.Agent,
	}
	if chapters {
		out.ChapterIDs = w.Chapters
	}
	return out
}

// synthesize returns the tool that creates wisdom from chapters. No model is involved: the result
// follows from the chapters by fixed rules; see memory.NewWisdom. A repeated call without an
// idempotency key creates a second item.
func (f tools) synthesize() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_synthesize", Short: "synthesize", Family: Family, Title: "Create wisdom from chapters",
		Role: auth.Editor, Kind: tool.Write,
		Route:    tool.Route{Method: "POST", Path: "/wisdom"},
		Commands: []tool.Command{{Words: "wisdom synthesize", Args: []string{"chapter_ids..."}}},
	}, func(ctx context.Context, c auth.Caller, in synthesizeIn) (synthesizeOut, error) {
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation, in.run)
	})
}

// run drafts the wisdom. It returns INVALID_QUERY if there are fewer chapters than min_chapters,
// and PERMISSION_DENIED if the caller's agent belongs to another principal.
func (in *synthesizeIn) run(_ context.Context, a author, out *synthesizeOut) error {
	if err := a.checkAgent(); err != nil {
		return err
	}
	chapters, err := in.chapters(a.index())
	if err != nil {
		return err
	}
	if len(chapters) < in.MinChapters {
		return fault.New(fault.InvalidQuery, "there are %d such chapters; wisdom needs %d", len(chapters),
			in.MinChapters).With("reason", "not_enough_chapters").With("found", len(chapters)).
			Try("memory_list_chapters", fault.Args{}).
			Fix("create chapters first with memory_create_chapter, or give a smaller min_chapters")
	}
	w := memory.NewWisdom(chapters)
	w.Agent, w.Principal, w.Created = a.Agent, a.Principal, a.now()
	id := a.tx.ID(memory.PrefixWisdom)
	if err := a.tx.PutItem(memory.KindWisdom, id, w); err != nil {
		return err
	}
	*out = synthesizeOut{
		WisdomID: id, Summary: w.Summary, Insights: w.Insights, Patterns: w.Patterns,
		BestPractices: w.BestPractices, ChapterCount: len(chapters), StartTS: w.Start, EndTS: w.End,
		Wisdom: wisdomOf(id, &w, true), DryRun: in.DryRun,
	}
	return a.ensureAgent(a.Agent)
}

// chapters returns the chapters that the call names, without duplicates, or else the newest ones
// that have all the given tags. It returns NOT_FOUND for an unknown id.
func (in *synthesizeIn) chapters(x *memory.Index) ([]*memory.Item[memory.Chapter], error) {
	var all []*memory.Item[memory.Chapter]
	for _, id := range withoutDuplicates(in.ChapterIDs) {
		k, ok := x.Chapter(id)
		if !ok {
			return nil, noChapter(id, "chapter_ids")
		}
		all = append(all, k)
	}
	if len(in.ChapterIDs) > 0 {
		return all, nil
	}
	for k := range x.Chapters() {
		if memory.HasTags(k.Value.Tags, in.Tags) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *memory.Item[memory.Chapter]) int {
		return cmp.Or(cmp.Compare(b.Value.Created, a.Value.Created), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), mostSynthesized)], nil
}

// A recallWisdomIn is the input of memory_recall_wisdom. All given conditions must be met; without
// any, the newest wisdom is listed.
type recallWisdomIn struct {
	tool.Vault
	// this one
	WisdomID string `json:"wisdom_id,omitempty" complete:"wisdom"`
	// with all of these
	Tags []string `json:"tags,omitempty" size:"tag"`
	// any words
	Query string `json:"query,omitempty" size:"query"`
	// at most
	Limit int `json:"limit,omitempty" default:"5" min:"1" max:"200" means:"limit"`
	// include the ids of its chapters
	IncludeChapters bool `json:"include_chapters,omitempty"`
	tool.AsOf
}

// A recallWisdomOut is the output of memory_recall_wisdom. Total counts all wisdom that matches,
// also beyond the limit.
type recallWisdomOut struct {
	tool.Aside `json:"-"`
	Wisdom     []wisdom `json:"wisdom"`
	// before limit
	Total int `json:"total"`
}

// recallWisdom returns the tool that finds wisdom by id, tags or words.
func (f tools) recallWisdom() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_recall_wisdom", Short: "recall_wisdom", Family: Family, Title: "Recall wisdom",
		Role: auth.Reader, Kind: tool.Read, List: "wisdom",
		Route:    tool.Route{Method: "GET", Path: "/wisdom"},
		Commands: []tool.Command{{Words: "wisdom recall", Args: []string{"query?"}}},
		Columns:  []string{"id", "summary", "patterns", "best_practices"},
		Empty:    []tool.Empty{{Of: "wisdom", Tool: "memory_synthesize"}},
	}, f.listWisdom)
}

// listWisdom lists the wisdom that matches the call, at most limit entries. A large answer ends
// earlier.
func (f tools) listWisdom(ctx context.Context, c auth.Caller, in recallWisdomIn) (recallWisdomOut, error) {
	out := recallWisdomOut{Wisdom: []wisdom{}}
	v, err := f.view(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	found, err := in.find(v.memories)
	if err != nil {
		return out, err
	}
	out.Total = len(found)
	for _, w := range found[:min(len(found), in.Limit)] {
		item := wisdomOf(w.ID, &w.Value, in.IncludeChapters)
		if !out.Fits(item) && len(out.Wisdom) > 0 {
			break
		}
		out.Wisdom = append(out.Wisdom, item)
	}
	noteCounts(&out.Aside, v, len(out.Wisdom), out.Total)
	return out, nil
}

// find returns the wisdom that matches the call. With a query, the wisdom with the most matching
// words is first; otherwise, or with as many, the newest. An unknown id is NOT_FOUND. It reads all
// wisdom of the vault: there is no search index for it, because a vault has little of it.
func (in *recallWisdomIn) find(x *memory.Index) ([]*memory.Item[memory.Wisdom], error) {
	if in.WisdomID != "" {
		if _, ok := x.Wisdom(in.WisdomID); !ok {
			return nil, fault.New(fault.NotFound, "there is no wisdom %q", in.WisdomID).
				With("id", in.WisdomID).With("argument", "wisdom_id")
		}
	}
	words := strings.Fields(strings.ToLower(in.Query))
	var all []*memory.Item[memory.Wisdom]
	score := map[string]int{}
	for k := range x.AllWisdom() {
		if in.WisdomID != "" && k.ID != in.WisdomID || !memory.HasTags(k.Value.Tags, in.Tags) {
			continue
		}
		score[k.ID] = wordsIn(&k.Value, words)
		if len(words) == 0 || score[k.ID] > 0 {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *memory.Item[memory.Wisdom]) int {
		return cmp.Or(cmp.Compare(score[b.ID], score[a.ID]), cmp.Compare(b.Value.Created, a.Value.Created),
			cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// wordsIn returns how many of the words occur in the wisdom. The words must be in lower case. A
// word also counts inside a longer one. Best practices are not searched, because they are insights
// too.
func wordsIn(w *memory.Wisdom, words []string) (n int) {
	text := strings.ToLower(strings.Join(slices.Concat([]string{w.Summary}, w.Insights, w.Patterns), "\n"))
	for _, word := range words {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}
