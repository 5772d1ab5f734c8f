package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A createChapterIn is the input of memory_create_chapter. One of three arguments selects the
// memories, in this order of precedence: MemoryIDs names them; AutoDetect finds clusters among the
// newest Limit memories between Since and Before; Tags alone selects all memories that have all of
// these tags.
//
// In the first two cases Tags selects nothing: the tags, like Topics, are added to the new
// chapters. Since and Before restrict the memories in the last two cases, and are refused with
// MemoryIDs. MinMemories is the least size of an automatic chapter, and Title the title of every
// chapter of the call.
type createChapterIn struct {
	tool.Vault
	// a chapter of these
	MemoryIDs []string `json:"memory_ids,omitempty" names:"target"`
	// of the chapter
	Title string `json:"title,omitempty"`
	// without memory_ids: all memories with these tags; otherwise tags of the chapter
	Tags []string `json:"tags,omitempty" size:"tag"`
	// topics of the chapter, besides those of its tags
	Topics []string `json:"topics,omitempty" size:"tag"`
	// the minimum number of memories of a chapter
	MinMemories int `json:"min_memories,omitempty" default:"3" min:"1" max:"200"`
	// a chapter for each tag that enough of the newest memories share
	AutoDetect bool `json:"auto_detect,omitempty"`
	// tags, auto_detect: no memories before
	Since tool.Instant `json:"since,omitzero"`
	// tags, auto_detect: no memories after
	Before tool.Instant `json:"before,omitzero"`
	// auto_detect: memories to look at
	Limit int `json:"limit,omitempty" default:"200" min:"1" max:"200"`
	tool.Mutation
}

// A createChapterOut is the output of memory_create_chapter. Chapters lists all chapters of the
// call, also those that existed before; TotalCreated counts only the new ones. The fields ChapterID
// to Origin repeat the first chapter, because the specification defines the answer for a single
// chapter.
//
// SkippedIDs lists the named memories that do not exist.
type createChapterOut struct {
	tool.Aside  `json:"-"`
	ChapterID   string   `json:"chapter_id,omitempty"`
	MemoryCount int      `json:"memory_count"`
	Summary     string   `json:"summary"`
	Learnings   []string `json:"learnings"`
	StartTS     int64    `json:"start_ts" format:"unix-ms"`
	EndTS       int64    `json:"end_ts" format:"unix-ms"`
	// manual or auto
	Origin string `json:"origin"`

	// all chapters that the call created or found
	Chapters     []chapter `json:"chapters"`
	TotalCreated int       `json:"total_created"`
	// of no memory
	SkippedIDs []string `json:"skipped_ids,omitempty"`
	DryRun     bool     `json:"dry_run,omitempty"`
}

// A chapter is a chapter as answers show it. Times are Unix milliseconds: StartTS and EndTS are the
// creation of its oldest and of its newest memory, CreatedAt is that of the chapter. MemoryIDs also
// lists memories that were deleted later; MemoryCount does not count them.
type chapter struct {
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Summary     string   `json:"summary"`
	Learnings   []string `json:"learnings,omitempty"`
	StartTS     int64    `json:"start_ts" format:"unix-ms"`
	EndTS       int64    `json:"end_ts" format:"unix-ms"`
	MemoryCount int      `json:"memory_count"`
	MemoryIDs   []string `json:"memory_ids,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Topics      []string `json:"topics,omitempty"`
	Origin      string   `json:"origin"`
	CreatedAt   int64    `json:"created_at" format:"unix-ms"`
	AgentID     string   `json:"agent_id"`
}

// chapterOf converts a stored chapter for an answer. Its count includes only the memories that
// still exist.
func chapterOf(x *memory.Index, k *memory.Item[memory.Chapter]) chapter {
	c := &k.Value
	return chapter{
		ID: k.ID, Title: c.Title, Summary: c.Summary, Learnings: c.Learnings, StartTS: c.Start, EndTS: c.End,
		MemoryCount: x.CountExisting(c), MemoryIDs: c.Memories, Tags: c.Tags, Topics: c.Topics, Origin: c.Origin,
		CreatedAt: c.Created, AgentID: c.Agent,
	}
}

// createChapter returns the tool that creates chapters: of the named memories, of the memories with
// some tags, or of each cluster that it detects. A call that gives none of these arguments is
// INVALID_QUERY.
func (f tools) createChapter() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_create_chapter", Short: "create_chapter", Family: Family, Title: "Create a chapter",
		Role: auth.Editor, Kind: tool.Write, List: "chapters",
		Route:    tool.Route{Method: "POST", Path: "/chapters"},
		Commands: []tool.Command{{Words: "chapter create", Args: []string{"memory_ids..."}}},
	}, func(ctx context.Context, c auth.Caller, in createChapterIn) (createChapterOut, error) {
		since, before, err := timeRange(in.Since, in.Before)
		if err != nil {
			return createChapterOut{}, err
		}
		if len(in.MemoryIDs) == 0 && len(in.Tags) == 0 && !in.AutoDetect {
			return createChapterOut{}, fault.New(fault.InvalidQuery, "give memory_ids, tags or auto_detect").
				With("argument", "memory_ids")
		}
		if len(in.MemoryIDs) > 0 && since+before != 0 {
			return createChapterOut{}, fault.New(fault.InvalidQuery,
				"since and before cannot be used together with memory_ids, which names the memories").
				With("argument", "memory_ids").Fix("give tags or auto_detect in place of memory_ids")
		}
		window := memory.Filter{Since: since, Before: before}
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation,
			func(_ context.Context, a author, out *createChapterOut) error {
				return in.run(a, window, out)
			})
	})
}

// run drafts the chapters. The fields of the first chapter are repeated at the top level of the
// output. The caller needs no permission for the memories: a chapter is a new item of its own
// agent.
func (in *createChapterIn) run(a author, window memory.Filter, out *createChapterOut) error {
	out.Chapters, out.Learnings, out.DryRun = []chapter{}, []string{}, in.DryRun
	var err error
	switch {
	case len(in.MemoryIDs) > 0:
		err = in.manual(a, out)
	case in.AutoDetect:
		err = in.detect(a, window, out)
	default:
		err = in.ofTags(a, window, out)
	}
	if err != nil || len(out.Chapters) == 0 {
		return err
	}
	first := out.Chapters[0]
	out.ChapterID, out.MemoryCount, out.Summary = first.ID, first.MemoryCount, first.Summary
	out.Learnings = append(out.Learnings, first.Learnings...)
	out.StartTS, out.EndTS, out.Origin = first.StartTS, first.EndTS, first.Origin
	return nil
}

// manual creates a chapter of the memories that the call names. Unknown ids are skipped and listed;
// if all are unknown, it returns NOT_FOUND. min_memories does not apply.
func (in *createChapterIn) manual(a author, out *createChapterOut) error {
	var cards []*memory.Card
	for _, id := range in.MemoryIDs {
		if c, ok := a.index().Card(id); ok {
			cards = append(cards, c)
		} else {
			out.SkippedIDs = append(out.SkippedIDs, id)
		}
	}
	if len(cards) == 0 {
		return checkExist(a.index(), in.MemoryIDs, "memory_ids")
	}
	made := memory.NewChapter(cards, in.Title, in.Tags, in.Topics)
	made.Origin = memory.OriginManual
	return in.add(a, made, out)
}

// ofTags creates a chapter of all memories in the window that have all the given tags. It returns
// INVALID_QUERY if they are fewer than min_memories. The key of the cluster contains the sorted
// tags, so that the order of the argument does not lead to a second chapter.
func (in *createChapterIn) ofTags(a author, window memory.Filter, out *createChapterOut) error {
	window.Tags = in.Tags
	cards := slices.SortedFunc(a.index().Ranked(window), func(a, b *memory.Card) int {
		return memory.ByAge(b, a)
	})
	if len(cards) < in.MinMemories {
		within := ""
		if window.Since+window.Before != 0 {
			within = " in this time"
		}
		return fault.New(fault.InvalidQuery, "only %d memories have all of these tags%s; a chapter needs %d",
			len(cards), within, in.MinMemories).With("reason", "not_enough_memories").With("found", len(cards)).
			Fix("give fewer tags, a longer time, or a smaller min_memories")
	}
	tags := slices.Sorted(slices.Values(in.Tags))
	return in.auto(a, memory.Cluster{Key: "tags:" + joined(tags), Cards: cards}, in.Title, out)
}

// detect creates a chapter for each cluster among the newest memories in the window, of which it
// reads at most limit. It returns INVALID_QUERY if there is no cluster. Without a title, a chapter
// is named after the tag, or the kind of work, that its memories share.
//
// A memory with several tags can be in several clusters, and so in several chapters.
func (in *createChapterIn) detect(a author, window memory.Filter, out *createChapterOut) error {
	var newest []*memory.Card
	for c := range a.index().Newest() {
		if !window.Has(c) {
			continue
		}
		if newest = append(newest, c); len(newest) == in.Limit {
			break
		}
	}
	for _, cluster := range memory.Clusters(newest, in.MinMemories) {
		if err := in.auto(a, cluster, cmp.Or(in.Title, "Topic: "+cluster.Key), out); err != nil {
			return err
		}
	}
	if len(out.Chapters) == 0 {
		return fault.New(fault.InvalidQuery, "no tag is shared by %d of the newest %d memories", in.MinMemories,
			len(newest)).With("reason", "not_enough_memories").With("found", len(newest)).
			Fix("give a smaller min_memories")
	}
	return nil
}

// auto creates the chapter of a cluster. If the same cluster already has a chapter of exactly these
// memories, it adds that one to the output instead. So a repeated call creates nothing, and one
// after new memories creates a new chapter beside the old one.
func (in *createChapterIn) auto(
	a author, cluster memory.Cluster, title string, out *createChapterOut,
) error {
	if k, made := a.index().ChapterOf(cluster); made {
		out.Chapters = append(out.Chapters, chapterOf(a.index(), k))
		return nil
	}
	made := memory.NewChapter(cluster.Cards, title, in.Tags, in.Topics)
	made.Origin, made.Cluster, made.Digest = memory.OriginAuto, cluster.Key, cluster.Digest()
	return in.add(a, made, out)
}

// add stages a chapter and records the caller's agent. It returns PERMISSION_DENIED if that agent
// belongs to another principal.
func (in *createChapterIn) add(a author, c memory.Chapter, out *createChapterOut) error {
	if err := a.checkAgent(); err != nil {
		return err
	}
	c.Agent, c.Principal, c.Created = a.Agent, a.Principal, a.now()
	id := a.tx.ID(memory.PrefixChapter)
	if err := a.tx.PutItem(memory.KindChapter, id, c); err != nil {
		return err
	}
	out.Chapters = append(out.Chapters, chapterOf(a.index(), &memory.Item[memory.Chapter]{ID: id, Value: c}))
	out.TotalCreated++
	return a.ensureAgent(a.Agent)
}

// joined joins texts into one key. Each text ends with a NUL, so different lists have different
// keys.
func joined(texts []string) string {
	text := ""
	for _, t := range texts {
		text += t + "\x00"
	}
	return text
}

// A listChaptersIn is the input of memory_list_chapters. Since and Before select the chapters that
// lie between them as a whole: with all their memories. Sort is recent, by the creation of the
// chapters, or start, by their oldest memory.
type listChaptersIn struct {
	tool.Vault
	// only these
	ChapterIDs []string `json:"chapter_ids,omitempty" complete:"chapter"`
	// with all of these
	Tags []string `json:"tags,omitempty" size:"tag"`
	// only chapters that begin since
	Since tool.Instant `json:"since,omitzero"`
	// only chapters that end before
	Before tool.Instant `json:"before,omitzero"`
	// chapters at most
	Limit int `json:"limit,omitempty" default:"10" min:"1" max:"200" means:"limit"`
	// newest first, by creation or by begin
	Sort string `json:"sort,omitempty" enum:"recent,start" default:"recent"`
	tool.AsOf
}

// A listChaptersOut is the output of memory_list_chapters. Total counts the chapters that match,
// also those beyond the limit.
type listChaptersOut struct {
	tool.Aside `json:"-"`
	Chapters   []chapter `json:"chapters"`
	// before limit
	Total int `json:"total"`
}

// listChapters returns the tool that lists chapters. It has no pages: limit bounds the list.
func (f tools) listChapters() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_list_chapters", Short: "list_chapters", Family: Family, Title: "List chapters",
		Role: auth.Reader, Kind: tool.Read, List: "chapters",
		Route:    tool.Route{Method: "GET", Path: "/chapters"},
		Commands: []tool.Command{{Words: "chapter list"}},
		Columns:  []string{"id", "title", "summary", "memory_count"},
		Empty: []tool.Empty{{Of: "chapters", Tool: "memory_create_chapter",
			Args: map[string]string{"auto_detect": "true"}}},
	}, f.chapters)
}

// chapters lists the chapters that match the call, newest first: by start time, or by creation. An
// unknown id among chapter_ids is NOT_FOUND. It reads all chapters of the vault. If the answer
// becomes too large, the list ends earlier, and the metadata reports has_more.
func (f tools) chapters(ctx context.Context, c auth.Caller, in listChaptersIn) (listChaptersOut, error) {
	out := listChaptersOut{Chapters: []chapter{}}
	since, before, err := timeRange(in.Since, in.Before)
	if err != nil {
		return out, err
	}
	v, err := f.view(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	for _, id := range in.ChapterIDs {
		if _, ok := v.memories.Chapter(id); !ok {
			return out, noChapter(id, "chapter_ids")
		}
	}
	var all []*memory.Item[memory.Chapter]
	for k := range v.memories.Chapters() {
		wanted := len(in.ChapterIDs) == 0 || slices.Contains(in.ChapterIDs, k.ID)
		if wanted && memory.HasTags(k.Value.Tags, in.Tags) && k.Value.Start >= since &&
			(before == 0 || k.Value.End <= before) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *memory.Item[memory.Chapter]) int {
		if in.Sort == "start" {
			return cmp.Or(cmp.Compare(b.Value.Start, a.Value.Start), cmp.Compare(a.ID, b.ID))
		}
		return cmp.Or(cmp.Compare(b.Value.Created, a.Value.Created), cmp.Compare(b.Value.Start, a.Value.Start),
			cmp.Compare(a.ID, b.ID))
	})
	out.Total = len(all)
	for _, k := range all[:min(len(all), in.Limit)] {
		item := chapterOf(v.memories, k)
		if !out.Fits(item) && len(out.Chapters) > 0 {
			break
		}
		out.Chapters = append(out.Chapters, item)
	}
	noteCounts(&out.Aside, v, len(out.Chapters), out.Total)
	return out, nil
}

// noteCounts adds the metadata of a list to an answer: the number of entries in it, and the total.
// An empty list gets the warning NO_RESULTS.
func noteCounts(a *tool.Aside, v view, count, total int) {
	a.Note("version", v.Version())
	a.Note("count", count)
	a.Note("total", total)
	a.Note("has_more", count < total)
	if total == 0 {
		a.Warn("NO_RESULTS", "nothing matches", nil)
	}
}

// noChapter returns the NOT_FOUND fault for an id that no chapter has, which was given in the named
// argument.
func noChapter(id, argument string) error {
	return fault.New(fault.NotFound, "there is no chapter %q", id).With("id", id).With("argument", argument)
}
