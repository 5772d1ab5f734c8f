package localapp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/mcptool"
)

// The budgets of an answer to a model. A token of such JSON is 3.7 to 4.3 bytes long, measured with
// the vocabularies o200k and cl100k.
const (
	maxWriteAnswer = 120 * 3.7 // of a usual write
	maxSlimItem    = 100 * 3.7 // of one item of a list with slim
)

// servedDemo serves a place with only the demo vault.
func servedDemo(t *testing.T) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), logs: &lockedBuffer{}}
	app, err := openApp(t.Context(), localapp.Config{
		Data: p.dir, Now: atNoon, Log: leaktest.Logger(t, p.logs),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	require.NoError(t, app.Demo(t.Context()))
	server := httptest.NewServer(app.Handler("1.2.3", nil))
	t.Cleanup(server.Close)
	p.app, p.base = app, server.URL
	return p
}

// A stranger is a model that knows only the list of tools at /mcp, and the answers.
type stranger struct {
	session *mcp.ClientSession
	listed  map[string][]string // arguments by tool
}

// newStranger connects to /mcp of a place.
func newStranger(t *testing.T, p *place) *stranger {
	t.Helper()
	s := &stranger{session: connect(t, p.base+mcptool.Path, ""), listed: map[string][]string{}}
	list, err := s.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, one := range list.Tools {
		data, err := json.Marshal(one.InputSchema)
		require.NoError(t, err)
		var schema struct{ Properties map[string]any }
		require.NoError(t, json.Unmarshal(data, &schema))
		s.listed[one.Name] = []string{}
		for name := range schema.Properties {
			s.listed[one.Name] = append(s.listed[one.Name], name)
		}
	}
	return s
}

// An envelopeOf is an answer with the members that a model uses.
type envelopeOf struct {
	OK    bool
	Data  map[string]any
	Error struct {
		Code    string
		Message string
		Details map[string]any
		Fixes   []string
	}
	Warnings []any
	Meta     struct{ Version string }
	text     string
}

// ask makes a call that uses only listed tools and arguments.
func (s *stranger) ask(t *testing.T, name string, in args) envelopeOf {
	t.Helper()
	require.Contains(t, s.listed, name)
	for a := range in {
		require.Contains(t, s.listed[name], a, name)
	}
	r, err := s.session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	require.NoError(t, err)
	var e envelopeOf
	e.text = r.Content[0].(*mcp.TextContent).Text
	require.NoError(t, json.Unmarshal([]byte(e.text), &e))
	require.Equal(t, !e.OK, r.IsError)
	return e
}

// do is ask for a call that must succeed.
func (s *stranger) do(t *testing.T, name string, in args) envelopeOf {
	t.Helper()
	e := s.ask(t, name, in)
	require.True(t, e.OK, e.text)
	return e
}

// write is do for a mutation: the answer must be short, and have no warnings.
func (s *stranger) write(t *testing.T, name string, in args) envelopeOf {
	t.Helper()
	e := s.do(t, name, in)
	require.LessOrEqual(t, len(e.text), int(maxWriteAnswer), e.text)
	require.NotContains(t, e.Data, "object")
	require.NotContains(t, e.Data, "trait")
	require.Empty(t, e.Warnings, e.text)
	return e
}

// items returns the items of a list.
func (e envelopeOf) items(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, item := range e.Data["items"].([]any) {
		all = append(all, item.(map[string]any))
	}
	return all
}

// TestEverydayTasks checks ten tasks of a working day, each with the calls of a model that knows
// only the list of /mcp.
func TestEverydayTasks(t *testing.T) {
	p := servedDemo(t)
	s := newStranger(t, p)

	t.Run("make a decision with a reference", func(t *testing.T) {
		schema := s.do(t, "raven_schema", args{})
		require.Contains(t, schema.text, `"name":"decision"`)
		s.write(t, "notes_write", args{"path": "decisions/use-oak.md",
			"frontmatter": args{"type": "decision", "project": "projects/lighthouse", "date": "2026-11-20"},
			"content":     "# Use oak\n\nOak lasts. Proposed by [[people/freya]].\n"})
		links := s.do(t, "raven_query", args{"query": "type:decision refs([[projects/lighthouse]])"})
		require.Contains(t, links.text, "decisions/use-oak")
	})

	var tasks []string
	t.Run("add two tasks with dates", func(t *testing.T) {
		for _, content := range []string{"Order the oak", "Ask the carpenter"} {
			s.write(t, "raven_add", args{"text": "@due(2020-01-01) " + content, "to": "decisions/use-oak"})
		}
	})

	t.Run("list what is overdue", func(t *testing.T) {
		e := s.do(t, "raven_query", args{"query": "trait:due .value==past within([[decisions/use-oak]])", "slim": true})
		for _, item := range e.items(t) {
			tasks = append(tasks, item["id"].(string))
			text, err := json.Marshal(item)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), int(maxSlimItem))
		}
		require.Len(t, tasks, 2)
	})

	t.Run("mark one as done", func(t *testing.T) {
		s.write(t, "raven_trait_update", args{"id": tasks[0], "set": args{"status": "done"}})
		e := s.do(t, "raven_query", args{"query": "trait:status .value==done within([[decisions/use-oak]])"})
		require.Len(t, e.items(t), 1)
	})

	t.Run("list who mentions a person", func(t *testing.T) {
		e := s.do(t, "raven_query", args{"query": "type:* refs([[people/freya]])"})
		require.Contains(t, e.text, `"decisions/use-oak"`)
		e = s.do(t, "raven_query", args{"query": "type:* refs(freya)"})
		require.Contains(t, e.text, `"decisions/use-oak"`)
	})

	t.Run("read a note", func(t *testing.T) {
		e := s.do(t, "notes_get", args{"path": "projects/lighthouse"})
		require.Contains(t, e.text, "Replace the lamp")
	})

	t.Run("change a sentence", func(t *testing.T) {
		s.write(t, "raven_edit", args{"id": "decisions/use-oak",
			"old_str": "Oak lasts.", "new_str": "Oak lasts longer than pine."})
	})

	t.Run("recover from a conflict", func(t *testing.T) {
		seen := s.do(t, "raven_object_get", args{"id": "projects/lighthouse"}).Meta.Version
		s.write(t, "raven_set", args{"id": "projects/lighthouse", "set": args{"status": "done"}})
		mine := args{"id": "projects/lighthouse", "set": args{"status": "paused"}, "if_version": seen}
		e := s.ask(t, "raven_set", mine)
		require.Equal(t, "CONFLICT", e.Error.Code)
		require.NotEmpty(t, e.Error.Details["latest_version"])
		mine["if_version"] = s.do(t, "raven_object_get", args{"id": "projects/lighthouse"}).Meta.Version
		s.write(t, "raven_set", mine)
	})

	t.Run("undo a mistake", func(t *testing.T) {
		wrong := s.write(t, "raven_add", args{"text": "Not here", "to": "people/freya"})
		s.write(t, "raven_undo", args{"version": wrong.Meta.Version})
		e := s.do(t, "notes_get", args{"path": "people/freya"})
		require.NotContains(t, e.text, "Not here")
	})

	t.Run("list who changed what last week", func(t *testing.T) {
		e := s.do(t, "raven_query", args{"query": `type:* .last_modified_at>="7 days ago"`, "slim": true})
		require.NotEmpty(t, e.items(t))
		e = s.do(t, "raven_history", args{"id": "decisions/use-oak"})
		require.GreaterOrEqual(t, len(e.items(t)), 4)
		require.Contains(t, e.items(t)[0], "principal")
	})
}

// TestSlimMutations checks that each mutation that returns a whole object or trait omits it with
// `slim`, over every way in, and that /mcp does so unless the call says otherwise.
func TestSlimMutations(t *testing.T) {
	p := servedDemo(t)
	session := connect(t, p.base+mcptool.Path, "")
	answer := func(path string, in args) map[string]any {
		s := session
		if path != mcptool.Path {
			s = connect(t, p.base+path, "")
		}
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "raven_set", Arguments: in})
		require.NoError(t, err)
		var e envelopeOf
		require.NoError(t, json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), &e))
		require.True(t, e.OK, e.Error.Message)
		return e.Data
	}
	in := func(more args) args {
		all := args{"id": "projects/lighthouse", "set": args{"status": "done"}}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	require.NotContains(t, answer(mcptool.Path, in(nil)), "object")
	require.Contains(t, answer(mcptool.Path, in(args{"slim": false})), "object")
	require.Contains(t, answer("/mcp/x/all", in(nil)), "object")
	require.NotContains(t, answer("/mcp/x/all", in(args{"slim": true})), "object")

	// A repeated call has the form that it requests, whatever the first call requested.
	key := args{"idempotency_key": "k"}
	require.NotContains(t, answer(mcptool.Path, in(key)), "object")
	require.Contains(t, answer("/mcp/x/all", in(key)), "object")

	for _, made := range allTools() {
		if made.Family.Name == "raven" && made.Kind.Mutates() &&
			!slices.Contains([]string{"raven_undo", "raven_reindex", "raven_schema_init",
				"raven_batch", "raven_query_save", "raven_query_remove",
				"raven_schema_add", "raven_schema_update", "raven_schema_remove", "raven_check_fix"}, made.Name) {
			require.True(t, made.Briefs(), made.Name)
		}
	}
}

// endpoints are paths of the endpoint, with headers, that offer different tools.
var endpoints = []struct{ path, tools string }{
	{mcptool.Path, ""}, {mcptool.Path + "/readonly", ""}, {mcptool.Path + "/x/all", ""},
	{mcptool.Path + "/x/raven", ""}, {mcptool.Path + "/x/team", ""},
	{mcptool.Path + "/readonly/x/raven", ""},
	{mcptool.Path, "raven_read,raven_search"},
}

// A headed adds a header to the requests of a client.
type headed struct{ tools string }

func (h headed) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.tools != "" {
		r = r.Clone(r.Context())
		r.Header.Set("X-MCP-Tools", h.tools)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestTextsNameWhatIsOffered checks that instructions and prompts name only tools that the client
// can call at its endpoint, and that a client which cannot write gets no text about writing.
func TestTextsNameWhatIsOffered(t *testing.T) {
	p := servedDemo(t)
	for _, at := range endpoints {
		client := mcp.NewClient(&mcp.Implementation{Name: "other", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: p.base + at.path, HTTPClient: &http.Client{Transport: headed{at.tools}},
		}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		list, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var offered []string
		for _, one := range list.Tools {
			offered = append(offered, one.Name)
		}
		texts := []string{session.InitializeResult().Instructions}
		require.LessOrEqual(t, strings.Count(texts[0], "\n"), 9, "ten lines")
		prompts, err := session.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		for _, one := range prompts.Prompts {
			in := map[string]string{"vault": "demo"}
			for _, a := range one.Arguments {
				if a.Name != "vault" {
					in[a.Name] = "people/freya"
				}
			}
			got, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: one.Name, Arguments: in})
			require.NoError(t, err)
			texts = append(texts, got.Messages[0].Content.(*mcp.TextContent).Text)
		}
		for _, text := range texts {
			for _, made := range allTools() {
				if namesTool(text, made.Name) {
					require.Contains(t, offered, made.Name, "%s: %s", at.path, text)
				}
			}
			if strings.Contains(at.path, "readonly") {
				require.NotRegexp(t, `(?i)to write|append|if_version|undo|idempotency`, text, at.path)
			}
		}
	}
}

// namesTool reports whether a text names a tool, and not only another one whose name begins with
// its name.
func namesTool(text, name string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z')
	}), name)
}

// TestPromptsNameTraitsOfTheVault checks that a prompt names only traits of the vault.
func TestPromptsNameTraitsOfTheVault(t *testing.T) {
	p := servedDemo(t)
	done(t, p.catalogue(), "team_vault_create", args{"name": "bare"})
	for _, name := range []string{"start_work", "record_learnt", "weekly_summary"} {
		for vault, has := range map[string]bool{"demo": true, "bare": false} {
			in := args{"vault": vault}
			if name == "start_work" {
				in["path"] = "main.go"
			}
			var out struct{ Text string }
			require.NoError(t, json.Unmarshal(dataFrom(t, p, "raven_prompt_"+name, in), &out))
			require.Equal(t, has, strings.Contains(out.Text, "due"), "%s in %s", name, vault)
			require.NotContains(t, out.Text, "todo", "a trait that neither vault has")
			require.NotContains(t, out.Text, "\n\n\n")
			require.NotContains(t, out.Text, "<no value>")
		}
	}
}

// TestReaderIsToldNothingOfWriting checks the instructions for a caller whose role is only to read.
func TestReaderIsToldNothingOfWriting(t *testing.T) {
	p := servedDemo(t)
	reader := auth.LocalCaller()
	reader.ReadOnly = true
	session := connect(t, p.mcpAs(t, reader), "")
	list, err := session.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	for _, one := range list.Prompts {
		require.NotEqual(t, "record_learnt", one.Name)
	}
}
