package localapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A drawer makes random calls of tools about which it knows nothing: for each argument it uses the
// schema, the kind of values that complete it, and the content of the vault.
type drawer struct {
	r      *rand.Rand
	author repotest.Author
	values map[string][]string // by the kind that completes them; "" are texts of any kind
}

// fillers are texts for arguments that have no completion: days, words, fields and invalid values.
var fillers = []string{
	"2026-11-21", "2026-12-03", "2026-11", "tea", "lantern mill", `"buy" -oil`, "high", "low", "42",
	"name=Alice", "alice", "The Queen", "nowhere#else", "v1", "x", "2026-11-21T00:10", "past", "",
}

// call returns a random call of a tool.
func (d *drawer) call(made *tool.Tool) args {
	in := args{"vault": "v"}
	for _, a := range made.Args {
		if a.Shared || a.Name == "vault" || a.Name == "as_of" || strings.HasPrefix(a.Name, "page") {
			continue
		}
		if made.Name == "memory_list" && a.Name == "sort" {
			continue // by how often they were recalled: that is no part of a version
		}
		if made.Raises[a.Name].Role != "" {
			continue // it erases: what was answered before is answered no more
		}
		if a.Required || d.r.IntN(4) == 0 {
			in[a.Name] = d.value(a)
		}
	}
	return in
}

// value returns a random value of an argument.
func (d *drawer) value(a tool.Arg) any {
	s := a.Schema()
	switch kind := a.Kind(); {
	case len(s.Enum) > 0:
		return s.Enum[d.r.IntN(len(s.Enum))]
	case a.Complete == "vault":
		return "v"
	case len(s.Properties) > 0 || s.Items != nil && len(s.Items.Properties) > 0:
		return d.member(s)
	case a.List() && (a.Complete != "" || d.r.IntN(2) == 0):
		return []any{d.text(a.Complete), d.text(a.Complete)}
	case a.Bool():
		return d.r.IntN(2) == 0
	case kind == "integer", kind == "number":
		return d.r.IntN(6)
	case kind == "object", slices.Contains(s.Types, "object") && d.r.IntN(2) == 0:
		return map[string]any{d.text("field"): d.text("")}
	}
	return d.text(a.Complete)
}

// member returns a random value of a member of an object, or a random object.
func (d *drawer) member(s *jsonschema.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[d.r.IntN(len(s.Enum))]
	case s.Type == "boolean":
		return d.r.IntN(2) == 0
	case s.Type == "array":
		return []any{d.member(s.Items)}
	case len(s.Properties) > 0:
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) || d.r.IntN(3) == 0 {
				object[name] = d.member(s.Properties[name])
			}
		}
		return object
	case s.Type == "integer", s.Type == "number":
		return d.r.IntN(6)
	}
	return d.text("")
}

// text returns a random text that completes arguments of a kind; sometimes any text.
func (d *drawer) text(kind string) string {
	from := d.values[kind]
	if len(from) == 0 || d.r.IntN(10) == 0 {
		from = fillers
	}
	return from[d.r.IntN(len(from))]
}

// learn finds the content of the vault with the tools that list it.
func (d *drawer) learn(t testing.TB, via tool.Invoker) {
	d.values = map[string][]string{
		"trait": {"due", "priority", "level", "owner", "flag"}, "tag": {"tea", "important"},
		"type":  {"person", "task", "meeting", "page", "section", "daily"},
		"field": {"name", "boss", "due", "born", "value", "title"},
		"path":  {"schema.yaml", "raven.yaml", ".raven/audit.log", d.author.Path(), d.author.Path()},
	}
	objects := into[struct {
		Items []struct {
			ID   string
			Path string `json:"file_path"`
		}
	}](t, must(t, via, "raven_object_list", args{"limit": 200}))
	for _, o := range objects.Items {
		d.values["id"] = append(d.values["id"], o.ID)
		d.values["path"] = append(d.values["path"], o.Path)
	}
	d.values["id"] = append(d.values["id"], d.author.Path())
	d.values[""] = slices.Concat(fillers, d.values["id"])
	for _, kind := range []string{"memory", "agent", "chapter", "wisdom"} {
		found := into[struct{ Items []string }](t, must(t, via, "memory_complete", args{"kind": kind, "limit": 200}))
		d.values[kind] = found.Items
		d.values[""] = append(d.values[""], found.Items...)
	}
	for _, typ := range d.values["trait"] {
		a, err := call(t.Context(), via, "raven_trait_list", args{"trait_type": typ, "limit": 200})
		if err != nil {
			continue // the schema does not have it just now
		}
		for _, trait := range into[struct{ Items []struct{ ID string } }](t, a).Items {
			d.values[""] = append(d.values[""], trait.ID, trait.ID)
		}
	}
}

// A recordedAnswer is a call of a reading tool and its answer, without the parts that may differ between
// two answers about one version: the duration, the id of the request, and the freshness of the
// files.
type recordedAnswer struct {
	made   *tool.Tool
	in     args
	answer string
	good   bool
}

// ask calls a tool, as of a version if one is given and the tool supports that.
func ask(t testing.TB, via tool.Invoker, q recordedAnswer, asOf string) recordedAnswer {
	t.Helper()
	in := args{}
	for k, v := range q.in {
		in[k] = v
	}
	if asOf != "" {
		in["as_of"] = asOf
	}
	answer, err := via.Invoke(t.Context(), q.made.Name, marshalled(t, in))
	if err != nil {
		require.NotEqual(t, fault.Internal, fault.Of(err).Code, "%s %v: %v", q.made.Name, in, err)
		require.NotEqual(t, fault.IndexError, fault.Of(err).Code, "%s %v: %v", q.made.Name, in, err)
	}
	q.answer, q.good = comparable(answer, asOf), err == nil
	return q
}

// estimated matches an estimate of tokens, which may differ because the number of recalls of a
// memory may have more digits in another answer.
var estimated = regexp.MustCompile(`"token_estimate":\d+`)

// comparable returns an answer as of a version without the parts that may differ between two
// answers about the same version: the calls that a refusal suggests name the requested version.
func comparable(answer json.RawMessage, asOf string) string {
	text := estimated.ReplaceAllString(tooltest.Comparable(answer), `"token_estimate":0`)
	if asOf == "" {
		return text
	}
	named := `\"as_of\":\"` + asOf + `\"`
	return strings.ReplaceAll(strings.ReplaceAll(text, ","+named, ""), named, "")
}

// readers returns the tools of the vaults' families that read.
func readers() []*tool.Tool {
	var all []*tool.Tool
	for _, made := range allTools() {
		if made.Family.Name != "team" && !made.Kind.Changes() {
			all = append(all, made)
		}
	}
	return all
}

// writers returns those that write, except for the one that rebuilds the index.
func writers() []*tool.Tool {
	var all []*tool.Tool
	for _, made := range allTools() {
		writes := made.Family.Name == "raven" || made.Family.Name == "memory" && made.Input == nil
		if writes && made.Kind.Mutates() && made.Name != "raven_reindex" {
			all = append(all, made)
		}
	}
	return all
}

// hasPast reports whether a tool can answer as of a version.
func hasPast(made *tool.Tool) bool {
	_, ok := made.Arg("as_of")
	return ok
}

// question returns a random call of a reading tool: one that succeeds, if several attempts find
// one.
func (d *drawer) question(t testing.TB, via tool.Invoker, made *tool.Tool) recordedAnswer {
	t.Helper()
	q := recordedAnswer{}
	for range 20 {
		if q = ask(t, via, recordedAnswer{made: made, in: d.call(made)}, ""); q.good {
			break
		}
	}
	return q
}

// pagesBehind returns the pages after that of an answer, at most three.
func pagesBehind(t testing.TB, via tool.Invoker, q recordedAnswer) []recordedAnswer {
	t.Helper()
	var all []recordedAnswer
	for range 3 {
		var page struct {
			Meta struct {
				Next string `json:"next_page_token"`
			}
		}
		require.NoError(t, json.Unmarshal([]byte(q.answer), &page), "%s", q.answer)
		if page.Meta.Next == "" {
			break
		}
		in := args{"page_token": page.Meta.Next}
		for k, v := range q.in {
			if k != "page_token" {
				in[k] = v
			}
		}
		q = ask(t, via, recordedAnswer{made: q.made, in: in}, "")
		all = append(all, q)
	}
	return all
}

// String returns the call.
func (q recordedAnswer) String() string { return fmt.Sprint(q.made.Name, " ", q.in) }
