package memory

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
)

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
