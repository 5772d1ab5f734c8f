package tool_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

func TestResourceMatchesAndExpands(t *testing.T) {
	r := tool.Resource{URI: "rookery://{vault}/notes/{+path}"}
	require.Equal(t, []string{"vault", "path"}, r.Vars())
	for uri, want := range map[string]map[string]string{
		"rookery://main/notes/a":         {"vault": "main", "path": "a"},
		"rookery://main/notes/a/b.md":    {"vault": "main", "path": "a/b.md"},
		"rookery://main/notes/a%2Fb.md":  {"vault": "main", "path": "a/b.md"},
		"rookery://main/notes/a%20b#c":   {"vault": "main", "path": "a b#c"},
		"rookery://main/notes/a%20b%23c": {"vault": "main", "path": "a b#c"},
		"rookery://main/notes//a":        {"vault": "main", "path": "/a"},
		"rookery://main/notes/100%25?x":  {"vault": "main", "path": "100%?x"},
		"rookery://main/notes/ünï":       {"vault": "main", "path": "ünï"},
		"rookery://m%61in/notes/%252e":   {"vault": "main", "path": "%2e"},
		"rookery://main/notes/":          nil,
		"rookery://main/notes":           nil,
		"rookery:///notes/a":             nil,
		"rookery://main/other/a":         nil,
		"rookery://ma%2Fin/notes/a":      nil,
		"rookery://main/notes/%":         nil,
		"rookery://main/notes/%zz":       nil,
		"rookery://main/notes/%ff":       nil,
		"rookery://main/notes/\xff":      nil,
		"other://main/notes/a":           nil,
		"":                               nil,
	} {
		got, ok := r.Match(uri)
		require.Equal(t, want != nil, ok, uri)
		if !ok {
			continue
		}
		require.Equal(t, want, got, uri)
		again, ok := r.Match(r.Expand(got))
		require.True(t, ok, uri)
		require.Equal(t, want, again, uri)
	}
	closed := tool.Resource{URI: "rookery://{vault}/schema"}
	_, ok := closed.Match("rookery://main/schema/more")
	require.False(t, ok)
	require.Equal(t, "rookery://a%20b/schema", closed.Expand(map[string]string{"vault": "a b"}))
}

var family = &tool.Family{
	Name: "f", Base: "/v1", Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
	Several: fault.InvalidParameter,
}

type kindIn struct {
	Kind string `json:"kind" enum:"word"`
	tool.CompletionIn
}

// aid returns a tool that answers with some words.
func aid(name string, s tool.Spec) *tool.Tool {
	s.Name, s.Family, s.Title, s.Doc, s.Role = name, family, name, name+".", auth.Reader
	return tool.New(s, func(_ context.Context, _ auth.Caller, in kindIn) (tool.Values, error) {
		out := tool.Values{Items: []string{in.Prefix + "a", in.Prefix + "b"}}
		if len(out.Items) > in.Limit {
			out.Items = out.Items[:in.Limit]
			out.More(out.Items[0])
		}
		return out, nil
	})
}

func TestComplete(t *testing.T) {
	cat, err := tool.NewCatalogue([]*tool.Tool{aid("words", tool.Spec{Completes: []string{"word"}})},
		tool.Options{})
	require.NoError(t, err)
	ask := func(u tool.CompletionRequest) (tool.CompletionPage, error) {
		return tool.Complete(t.Context(), cat, cat.Tools(), u)
	}
	done, err := ask(tool.CompletionRequest{Kind: "word", Prefix: "x", Vault: "not asked for"})
	require.NoError(t, err)
	require.Equal(t, tool.CompletionPage{Items: []string{"xa", "xb"}}, done)
	done, err = ask(tool.CompletionRequest{Kind: "word", Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, done.Items)
	require.NotEmpty(t, done.Next)
	done, err = ask(tool.CompletionRequest{Kind: "other"})
	require.NoError(t, err)
	require.Empty(t, done.Items)
	_, err = ask(tool.CompletionRequest{Kind: "word", Limit: 1000})
	require.True(t, fault.Is(err, fault.InvalidParameter), "%v", err)
}

// TestAidsAreUnique checks that two tools cannot share the key of an aid.
func TestAidsAreUnique(t *testing.T) {
	resource := func(uri string) tool.Spec {
		return tool.Spec{Resources: []tool.Resource{{URI: uri}}}
	}
	for name, pair := range map[string][2]tool.Spec{
		"kind":     {{Completes: []string{"word"}}, {Completes: []string{"other", "word"}}},
		"prompt":   {{Prompt: true, Short: "p"}, {Prompt: true, Short: "p"}},
		"resource": {resource("x:{prefix}"), resource("x:{prefix}")},
	} {
		_, err := tool.NewCatalogue(
			[]*tool.Tool{aid("one", pair[0]), aid("two", pair[1])}, tool.Options{})
		require.ErrorContains(t, err, "tools one and two share the", name)
	}
}

func TestMalformedAids(t *testing.T) {
	type bare struct{}
	for name, s := range map[string]tool.Spec{
		"a variable that is no argument": {Resources: []tool.Resource{{URI: "x:{nothing}"}}},
		"each of two variables": {Resources: []tool.Resource{
			{URI: "x:{kind}/{prefix}", Each: true}}},
		"each of none": {Resources: []tool.Resource{{URI: "x:y", Each: true}}},
	} {
		require.Panics(t, func() { aid("words", s) }, name)
	}
	require.Panics(t, func() {
		s := tool.Spec{Name: "w", Family: family, Title: "t", Doc: "d", Role: auth.Reader,
			Completes: []string{"word"}}
		tool.New(s, func(context.Context, auth.Caller, bare) (tool.Values, error) {
			return tool.Values{}, nil
		})
	}, "it completes, and takes no prefix")
}

func TestAid(t *testing.T) {
	require.True(t, (&tool.Spec{Prompt: true}).Aid())
	require.True(t, (&tool.Spec{Completes: []string{"word"}}).Aid())
	require.False(t, (&tool.Spec{Resources: []tool.Resource{{URI: "x"}}}).Aid())
}

func TestOptions(t *testing.T) {
	a, ok := aid("words", tool.Spec{}).Arg("kind")
	require.True(t, ok)
	require.Equal(t, []string{"word"}, a.Options("w"))
	require.Empty(t, a.Options("x"))
	require.Empty(t, tool.Arg{}.Options(""))
	data, err := json.Marshal(tool.Arg{}.Options(""))
	require.NoError(t, err)
	require.Equal(t, "[]", string(data))
}
