package state

import (
	"context"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

// mostAbout is the maximum size in bytes of the label of a suggestion.
const mostAbout = 80

// Complete returns completion suggestions from the newest state of a vault: one page of the values
// that begin with in.Prefix. The function values must yield each value with its label, in ascending
// order of the values; an empty label is left out, and a long one is shortened to mostAbout bytes.
// A page has at most in.Limit values. If the context ends, Complete returns its error.
func (s Source) Complete(
	ctx context.Context, c auth.Caller, vault string, in tool.CompletionIn,
	values func(View) iter.Seq2[string, string],
) (tool.Values, error) {
	v, err := s.View(ctx, c, vault)
	if err != nil {
		return tool.Values{}, err
	}
	out, err := Suggestions(ctx, s.Family, in, values(v))
	out.Note("version", v.Version())
	return out, err
}

// Suggestions returns the page of Complete from values of any source.
func Suggestions(
	ctx context.Context, f *tool.Family, in tool.CompletionIn, values iter.Seq2[string, string],
) (tool.Values, error) {
	out := tool.Values{Items: []string{}}
	after, err := in.After(f)
	if err != nil {
		return out, err
	}
	going := KeepGoing(ctx)
	for value, about := range values {
		if !going() {
			break
		}
		if value <= after || !strings.HasPrefix(value, in.Prefix) {
			continue
		}
		if len(out.Items) == in.Limit {
			out.More(out.Items[in.Limit-1])
			break
		}
		out.Items = append(out.Items, value)
		if about != "" {
			if out.About == nil {
				out.About = map[string]string{}
			}
			out.About[value] = tool.Beginning(about, mostAbout)
		}
	}
	return out, ctx.Err()
}
