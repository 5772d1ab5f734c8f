package tool

import (
	"context"
	"encoding/json"
	"slices"

	"rookery/internal/fault"
)

// MaxValues is how many values complete an argument at once, wherever it is typed.
const MaxValues = 100

// Completing is embedded in the input of every tool that completes. Beside it such a tool takes
// `kind`, one of its Spec's Completes, `vault`, if the values are those of a vault, and `of`, if they
// are those of one thing.
type Completing struct {
	Prefix string `json:"prefix,omitempty" max:"1024" jsonschema:"what is typed so far"`
	Page
}

// Values is the output of every tool that completes: the values that begin with the prefix, in their
// order, each once. One that ends in a slash or an equals sign is the beginning of others. The meta
// says whether there are more; it does not count them, for that would cost as much as to list them.
type Values struct {
	Aside `json:"-"`
	Items []string          `json:"items"`
	About map[string]string `json:"about,omitempty" jsonschema:"what some of the items are, in a few words"`
}

// More notes that there are values behind this page, whose last key this is.
func (v *Values) More(last string) {
	v.Note("has_more", true)
	v.Note("next_page_token", Token(last))
}

// An Unfinished is an argument that is being typed.
type Unfinished struct {
	Kind      string // of the argument's Complete
	Of        string // the value of the argument's Of; empty: it is not known
	Prefix    string
	Vault     string // empty: the vault that is implied
	Limit     int    // 0: MaxValues
	PageToken string
}

// Completed is what may become of it.
type Completed struct {
	Items []string
	About map[string]string // what some of them are, in a few words
	Next  string            // the token of the next page; empty: there are no more
}

// Complete asks the tool that completes values of this kind for some. Without such a tool there are
// none. It is a call as any other: the caller is asked for its role and counted, and what it may not
// see is not there.
func Complete(
	ctx context.Context, inv Invoker, tools []*Tool, u Unfinished,
) (Completed, error) {
	i := slices.IndexFunc(tools, func(t *Tool) bool { return slices.Contains(t.Completes, u.Kind) })
	if i < 0 {
		return Completed{}, nil
	}
	answer, err := inv.Invoke(ctx, tools[i].Name, u.args(tools[i]))
	if err != nil {
		return Completed{}, err
	}
	var e struct {
		Data Completed
		Meta struct {
			Next string `json:"next_page_token"`
		}
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		return Completed{}, fault.New(fault.Internal, "the completions are unreadable").Because(err)
	}
	return Completed{e.Data.Items, e.Data.About, e.Meta.Next}, nil
}

// args are the arguments of the call.
func (u Unfinished) args(t *Tool) json.RawMessage {
	limit := u.Limit
	if limit == 0 {
		limit = MaxValues
	}
	args := map[string]any{"kind": u.Kind, "prefix": u.Prefix}
	if a, ok := t.Meant(MeansLimit); ok {
		args[a.Name] = limit
	}
	if a, ok := t.Meant(MeansToken); ok && u.PageToken != "" {
		args[a.Name] = u.PageToken
	}
	if _, ok := t.Arg("of"); ok && u.Of != "" {
		args["of"] = u.Of
	}
	if _, ok := t.Arg("vault"); ok && u.Vault != "" {
		args["vault"] = u.Vault
	}
	return mustMarshal(args)
}
