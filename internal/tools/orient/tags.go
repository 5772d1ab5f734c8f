package orient

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// mostListed is the maximum limit of a list of tags or fields.
const mostListed = 200

// A tagsIn is the input of vault_tags.
type tagsIn struct {
	tool.Vault
	// tags to list at most
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200"`
	tool.AsOf
}

// A tagsOut is the answer of vault_tags.
type tagsOut struct {
	tool.Aside `json:"-"`
	// the most common first
	Tags []TagCount `json:"tags"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// tags returns the tool that lists the tags that most notes have, with the number of notes of each.
// Only tags in the frontmatter are counted, not those in texts.
func (f tools) tags() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_tags", Family: Family, Title: "Count the tags of a vault",
		Role: auth.Reader, Kind: tool.Read, List: "tags",
		Route:    tool.Route{Method: "GET", Path: "/tags"},
		Commands: []tool.Command{{Words: "tags"}},
		Empty:    []tool.Empty{{Of: "tags in frontmatter"}},
	}, func(ctx context.Context, c auth.Caller, in tagsIn) (tagsOut, error) {
		out := tagsOut{Tags: []TagCount{}}
		s, err := f.open(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return tagsOut{}, err
		}
		first, total := topCounts(s.Index.HeadTags(), in.Limit)
		out.Tags, out.Freshness = tagCounts(first), s.freshness.state
		truncation{
			code: "TAGS_TRUNCATED", what: "tags", shown: in.Limit, total: total,
			more: limitAdvice(in.Limit, mostListed),
		}.warn(&out.Aside)
		return out, nil
	})
}
