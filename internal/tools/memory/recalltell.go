package memory

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
		if out.Strategy == "" {
			out.Strategy = r.requestedLevel()
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
		shown := r.memories.AllLinks(m.ID)
		told.Links = &shown
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
