package memory

import (
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// The kinds of values that can be completed. The tag `complete` of an argument names one.
const (
	kindMemory  = "memory"
	kindAgent   = "agent"
	kindChapter = "chapter"
	kindWisdom  = "wisdom"
)

// A completeIn is the input of the tool that completes ids. Kind is one of the kinds above.
type completeIn struct {
	tool.Vault
	// the kind of suggestions
	Kind string `json:"kind" enum:"memory,agent,chapter,wisdom"`
	tool.CompletionIn
}

// complete returns the tool that completes the ids of memories, agents, chapters and wisdom.
func (f tools) complete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_complete", Short: "complete", Family: Family, Title: "Complete an id of a memory",
		Role: auth.Reader, Kind: tool.Read,
		Route:     tool.Route{Method: "GET", Path: "/memory-complete"},
		Commands:  []tool.Command{{Words: "complete memory", Args: []string{"kind", "prefix?"}}},
		Completes: []string{kindMemory, kindAgent, kindChapter, kindWisdom},
	}, f.completeID)
}

// completeID lists the ids that begin with the typed prefix, sorted, at the newest version of the
// vault.
func (f tools) completeID(ctx context.Context, c auth.Caller, in completeIn) (tool.Values, error) {
	return f.Complete(ctx, c, in.Vault.Vault, in.CompletionIn, func(v state.View) iter.Seq2[string, string] {
		return idsOfKind(v.Index.Memories(), in.Kind)
	})
}

// idsOfKind yields the ids of a kind, in order, each with a short description: the goal of a
// memory, the specialization of an agent, the title of a chapter, the summary of wisdom. It yields
// nothing for another kind. An agent without a record is not listed.
func idsOfKind(x *memory.Index, kind string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		switch kind {
		case kindMemory:
			for c := range x.Cards("") {
				if !yield(c.ID, c.Goal) {
					return
				}
			}
		case kindAgent:
			pairs(yield, x.Agents(), func(a *memory.Agent) string { return a.Specialization })
		case kindChapter:
			pairs(yield, x.Chapters(), func(c *memory.Chapter) string { return c.Title })
		case kindWisdom:
			pairs(yield, x.AllWisdom(), func(w *memory.Wisdom) string { return w.Summary })
		}
	}
}

// pairs yields the id of each value, with its description from about, until yield returns false.
func pairs[T any](yield func(string, string) bool, all iter.Seq[*memory.Item[T]], about func(*T) string) {
	for k := range all {
		if !yield(k.ID, about(&k.Value)) {
			return
		}
	}
}
