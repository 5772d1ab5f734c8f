package memory

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A listIn is the input of memory_list. Without a session, the list has the memories of all
// sessions of the calling agent. Sort is recent, importance or access_count, each in descending
// order.
type listIn struct {
	tool.Vault
	// only those of this session
	SessionID string `json:"session_id,omitempty" max:"128"`
	// not before: Unix time, or RFC 3339
	Since tool.Instant `json:"since,omitzero"`
	// memories of a page
	Limit int `json:"limit,omitempty" default:"20" min:"1" max:"200" means:"limit"`
	// the order
	Sort string `json:"sort,omitempty" enum:"recent,importance,access_count" default:"recent"`
	// meta.next_page_token of the page before
	PageToken string `json:"page_token,omitempty" size:"token" means:"token"`
	tool.AsOf
}

// A listOut is the output of memory_list: one page. Total counts the memories of all pages.
type listOut struct {
	tool.Aside `json:"-"`
	Memories   []memoryRow `json:"memories"`
	// on all pages
	Total int `json:"total"`
}

// A memoryRow is one memory of a list. AccessCount counts the recalls that returned the memory; it
// can be a minute late.
type memoryRow struct {
	ID             string  `json:"id"`
	CreatedAt      int64   `json:"created_at" format:"unix-ms"`
	IntentGoal     string  `json:"intent_goal" title:"goal"`
	OutcomeSuccess bool    `json:"outcome_success" title:"success"`
	OutcomeSummary string  `json:"outcome_summary" title:"summary"`
	Importance     float64 `json:"importance"`
	AccessCount    int     `json:"access_count"`
}

// list returns the tool that lists the memories of the calling agent, in pages. To find memories of
// other agents, use memory_recall.
func (f tools) list() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_list", Short: "list", Family: Family, Title: "List your memories",
		Role: auth.Reader, Kind: tool.Read, List: "memories",
		Route:    tool.Route{Method: "GET", Path: "/memories"},
		Commands: []tool.Command{{Words: "memory list"}},
		Columns:  []string{"id", "created_at", "intent_goal", "outcome_success", "outcome_summary"},
		Empty:    []tool.Empty{{Of: "memories of yours"}},
	}, f.listMemories)
}

// listMemories returns one page of the memories of the caller's agent. The total counts all of them
// since the given time. A page token is the key of the last memory of the page before.
//
// It visits all memories of the agent for each page, because the total counts them; only those of
// the page become items. A page ends at the limit, or when the answer is full. With the order
// access_count, a recall between two pages can change the order: a memory can then occur on both
// pages, or on neither.
func (f tools) listMemories(ctx context.Context, c auth.Caller, in listIn) (listOut, error) {
	out := listOut{Memories: []memoryRow{}}
	since, _, err := timeRange(in.Since, tool.Instant{})
	if err != nil {
		return out, err
	}
	after, err := tool.ReadToken("page_token", in.PageToken, Family)
	if err != nil {
		return out, err
	}
	v, err := f.view(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	accesses, err := v.Vault.Accesses(ctx)
	if err != nil {
		return out, err
	}
	l := listing{view: v, sort: in.Sort, accesses: accesses}
	last, more, going := "", false, state.KeepGoing(ctx)
	for m := range l.all(c.Agent, in.SessionID) {
		if !going() {
			return out, ctx.Err()
		}
		if m.Created < since {
			continue
		}
		out.Total++
		if more || after != "" && l.key(m) <= after {
			continue
		}
		if more = len(out.Memories) == in.Limit; more {
			continue
		}
		item := memoryRow{
			m.ID, m.Created, m.Goal, m.Outcome.Success, m.Outcome.Summary, m.Importance, accesses[m.ID].Count,
		}
		if more = !out.Fits(item) && len(out.Memories) > 0; more {
			continue
		}
		out.Memories, last = append(out.Memories, item), l.key(m)
	}
	if after != "" && !isHex(after) {
		return out, state.OtherList(Family)
	}
	out.Note("version", v.Version())
	out.Paged(len(out.Memories), out.Total, more, last)
	if out.Total == 0 {
		out.Warn("NO_RESULTS", "nothing matches", nil)
	}
	return out, nil
}

// isHex reports whether a text consists of hexadecimal digits and hyphens, like the keys of all
// orders. It detects the token of a list of another tool, but not one of another order.
func isHex(s string) bool {
	_, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	return err == nil
}

// A listing sorts the memories of a list. It reads them from the view, and the access counts from a
// copy made at the start of the call.
//
// The key of an entry is computed from the view alone, except for the order access_count.
type listing struct {
	view
	sort     string
	accesses map[string]repo.Access // by memory id
}

// all yields the memories of an agent, in order. A session that is not empty restricts them to that
// session. The index has the order recent already; for the others all memories are collected and
// sorted.
func (l listing) all(agent, session string) iter.Seq[*memory.Card] {
	newest := l.memories.NewestOf(agent, session)
	if l.sort == "recent" {
		return newest
	}
	all := slices.Collect(newest)
	slices.SortFunc(all, func(a, b *memory.Card) int { return cmp.Compare(l.key(a), l.key(b)) })
	return slices.Values(all)
}

// key returns the sort key of a memory: keys sort as texts in the order of the list. So the counts
// are subtracted from a large number, and bytes are in hexadecimal. Equal importance or count is
// followed by recency, and that by a value that is unique, so no two memories have the same key.
func (l listing) key(c *memory.Card) string {
	switch l.sort {
	case "importance":
		return hex.EncodeToString([]byte(c.Rank()))
	case "access_count":
		return fmt.Sprintf("%016x-%s", 1<<62-l.accesses[c.ID].Count, l.recency(c))
	}
	return l.recency(c)
}

// recency returns a text that sorts newer memories first.
func (l listing) recency(c *memory.Card) string { return hex.EncodeToString([]byte(c.Recency())) }
