package memory

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A linkIn is the input of memory_link. It reads as a sentence: "source link_type target", such as
// "a fix caused_by a failure". Only the source is changed, so only the source must belong to the
// caller.
type linkIn struct {
	tool.Vault
	// mem_…, one of yours
	SourceID string `json:"source_id" complete:"memory" names:"target"`
	// mem_…
	TargetID string `json:"target_id" complete:"memory" names:"target"`
	// relation of the source to the target
	LinkType string `json:"link_type" enum:"caused_by,led_to,related_to,supersedes,blocked_by"`
	tool.Mutation
}

// A linkOut is the output of memory_link. Created is false if the link, or its inverse, existed.
// LinkID is set in any case; it is derived from the two memories and the type, see memory.LinkID.
type linkOut struct {
	tool.Aside `json:"-"`
	// false: the link existed already
	Created bool   `json:"created"`
	LinkID  string `json:"link_id"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

// link returns the tool that links one memory to another. Both must exist: an unknown one is
// NOT_FOUND.
func (f tools) link() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_link", Short: "link", Family: Family, Title: "Link two memories",
		Role: auth.Editor, Kind: tool.Write, Idempotent: true,
		Route:    tool.Route{Method: "POST", Path: "/memories/link"},
		Commands: []tool.Command{{Words: "memory link", Args: []string{"source_id", "link_type", "target_id"}}},
	}, func(ctx context.Context, c auth.Caller, in linkIn) (linkOut, error) {
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation, in.run)
	})
}

// run drafts the link. If it exists, or its inverse does, nothing is changed. A link of a memory to
// itself is INVALID_QUERY. The links of a memory are one item, so the new list replaces the old
// one.
func (in *linkIn) run(_ context.Context, a author, out *linkOut) error {
	if in.SourceID == in.TargetID {
		return fault.Of(selfLink()).With("argument", "target_id")
	}
	source, err := card(a.index(), in.SourceID, "source_id")
	if err != nil {
		return err
	}
	if _, err := card(a.index(), in.TargetID, "target_id"); err != nil {
		return err
	}
	if err := a.checkOwner(source.Agent); err != nil {
		return err
	}
	out.LinkID, out.DryRun = memory.LinkID(in.SourceID, in.LinkType, in.TargetID), in.DryRun
	links := a.index().Links(source.ID).Links
	if in.isThere(a) || !links.Add(in.LinkType, in.TargetID) {
		return nil
	}
	if err := checkLinks(links); err != nil {
		return err
	}
	links.V = memory.Format
	out.Created = true
	return a.tx.PutItem(memory.KindLinks, source.ID, links)
}

// checkLinks returns a fault if a memory has more links of a type than allowed. It is called with
// the links after a change.
func checkLinks(l memory.Links) error {
	for _, kind := range memory.LinkKinds() {
		if len(*l.Of(kind)) > memory.MaxLinks {
			return fault.New(fault.InvalidQuery, "a memory has at most %d links of a type", memory.MaxLinks).
				With("limit", memory.MaxLinks)
		}
	}
	return nil
}

// isThere reports whether the other memory has the inverse link: caused_by and led_to are inverse
// to each other. "A led_to B" and "B caused_by A" are the same fact, and have the same id; see
// memory.LinkID. The other types have no inverse that can be stored. For related_to that means that
// a pair of memories can be linked in both directions.
func (in *linkIn) isThere(a author) bool {
	inverse := map[string]string{
		memory.LedTo: memory.CausedBy, memory.CausedBy: memory.LedTo,
	}[in.LinkType]
	if inverse == "" {
		return false
	}
	other := a.index().Links(in.TargetID)
	return slices.Contains(*other.Of(inverse), in.SourceID)
}

// A traceIn is the input of memory_trace. Direction is causes, effects or both. MaxDepth is a
// number of links, and Depth the level of detail of the memories.
type traceIn struct {
	tool.Vault
	// the memory to start from
	MemoryID string `json:"memory_id" complete:"memory" names:"target"`
	// causes, effects, or both
	Direction string `json:"direction" enum:"causes,effects,both"`
	// the maximum number of links
	MaxDepth int `json:"max_depth,omitempty" default:"3" min:"1" max:"10"`
	// level of detail
	Depth string `json:"depth" enum:"summary,outcome,reasoning"`
	tool.AsOf
}

// A traceOut is the output of memory_trace. Chain lists the memories that were reached, without the
// origin; TotalNodes counts them with the origin, also those that a large answer omits.
type traceOut struct {
	tool.Aside `json:"-"`
	Origin     memory.Retrieved `json:"origin"`
	// the nearest first
	Chain []traceNode `json:"chain"`
	// the origin too
	TotalNodes int `json:"total_nodes"`
}

// A traceNode is a memory that a trace reached. Distance is the number of links from the origin, at
// least 1, on the shortest way. Relationship is caused_by for a cause and led_to for an effect.
type traceNode struct {
	Memory memory.Retrieved `json:"memory"`
	// caused_by or led_to
	Relationship string `json:"relationship"`
	// links from the origin
	Distance int `json:"distance"`
}

// trace returns the tool that follows the causes and effects of a memory. It counts no accesses.
func (f tools) trace() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "memory_trace", Short: "trace", Family: Family, Title: "Trace causes and effects",
		Role: auth.Reader, Kind: tool.Read, List: "chain",
		Route:    tool.Route{Method: "POST", Path: "/memories/trace"},
		Commands: []tool.Command{{Words: "memory trace", Args: []string{"memory_id"}}},
	}, traceMemory)
}

// traceMemory returns a memory and the memories that it is connected with as causes, effects or
// both, at most max_depth links away. The order is that of memory.Index.Trace. The origin shows all
// its links at every depth. The values of all memories are read together before the first is shown;
// see newRenderer.
//
// A memory in the chain has the confidence 1: it is connected, not similar.
func traceMemory(ctx context.Context, v view, in traceIn) (traceOut, error) {
	origin, err := card(v.memories, in.MemoryID, "memory_id")
	if err != nil {
		return traceOut{}, err
	}
	steps := v.memories.Trace(origin.ID, in.MaxDepth, in.Direction != "effects", in.Direction != "causes")
	found := []match{{Card: origin}}
	for _, s := range steps {
		found = append(found, match{Card: s.Card})
	}
	depth := memory.Depth(in.Depth)
	t, err := newRenderer(ctx, v, depth, found)
	if err != nil {
		return traceOut{}, err
	}
	out := traceOut{Chain: []traceNode{}, TotalNodes: len(found)}
	if out.Origin, err = t.render(ctx, origin, depth); err != nil {
		return out, err
	}
	shown := v.memories.AllLinks(origin.ID)
	out.Origin.Confidence, out.Origin.Links, out.Origin.SupersededBy = certain, &shown, shown.SupersededBy
	for _, s := range steps {
		told, err := t.render(ctx, s.Card, depth)
		if err != nil {
			return out, err
		}
		told.Confidence, told.SupersededBy = certain, v.memories.SupersededBy(s.ID)
		node := traceNode{told, s.Relation, s.Distance}
		if !out.Fits(node) {
			out.WarnCut("memories", len(out.Chain), len(steps))
			break
		}
		out.Chain = append(out.Chain, node)
	}
	return out, nil
}
