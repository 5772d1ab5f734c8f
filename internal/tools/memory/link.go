package memory

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
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
		return draft(ctx, f, c, in.Vault.Vault, &in.Mutation,
			func(_ context.Context, tx *repo.Tx, out *linkOut) error {
				return in.run(author{c, in.Vault.Vault, tx}, out)
			})
	})
}

// run drafts the link. If it exists, or its inverse does, nothing is changed. A link of a memory to
// itself is INVALID_QUERY. The links of a memory are one item, so the new list replaces the old
// one.
func (in *linkIn) run(a author, out *linkOut) error {
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
