package localapp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// protocols are the newest protocol, whose sessions need no version, and several earlier ones.
var protocols = []string{"", "2025-11-25", "2025-06-18", "2024-11-05"}

// connect returns a session of a client that is not ours, in one version of the protocol.
func connect(t testing.TB, url, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "other", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() }) // its server is about to stop, too
	return session
}

// mcpAs returns the URL of an endpoint with all tools over the place, for a caller.
func (p *place) mcpAs(t testing.TB, c auth.Caller) string {
	t.Helper()
	who := func(*http.Request) (auth.Caller, error) { return c, nil }
	server := httptest.NewServer(httptool.New(p.app.Catalogue, httptool.Options{
		Authenticate: who,
		Mount: map[string]http.Handler{
			mcptool.Path: mcptool.New(p.app.Catalogue, mcptool.Options{Authenticate: who}),
		},
	}))
	t.Cleanup(server.Close)
	return server.URL + mcptool.Path + "/x/all"
}

// dataFrom calls a tool that must succeed, and returns its data.
func dataFrom(t testing.TB, p *place, name string, in map[string]any) json.RawMessage {
	t.Helper()
	var e struct{ Data json.RawMessage }
	require.NoError(t, json.Unmarshal(done(t, p.catalogue(), name, in), &e))
	return e.Data
}

// TestAidsEveryWay checks that prompts and completions have the same answers over every way in.
func TestAidsEveryWay(t *testing.T) {
	everyWay(t, []tooltest.Story{{Name: "aids", Steps: []tooltest.Step{
		{Tool: "raven_complete", Args: `{"vault":"main","kind":"id","prefix":"people/"}`, Want: `{"data":{"items":["people/alice","people/bob","people/windows"]},"meta":{"version":"v2"}}`},
		{Tool: "raven_complete", Args: `{"vault":"main","kind":"path","prefix":"p","limit":1}`, Want: `{"data":{"items":["people/"]},"meta":{"has_more":true}}`},
		{Tool: "raven_complete", Args: `{"vault":"main","kind":"type"}`, Want: `{"data":{"items":["book","company","daily","meeting","page","person","project","section"]}}`},
		{Tool: "raven_complete", Args: `{"vault":"main","kind":"trait","prefix":"d"}`, Want: `{"data":{"items":["due"]}}`},
		{Tool: "raven_complete", Args: `{"kind":"tag"}`, Want: `{"data":{"items":[]}}`},
		{Tool: "raven_complete", Args: `{"vault":"none","kind":"id"}`, Code: fault.NotFound},
		{Tool: "raven_complete", Args: `{"vault":"main","kind":"vault"}`, Code: fault.InvalidValue},
		{Tool: "raven_complete", Args: `{"vault":"main","kind":"id","page_token":"x"}`, Code: fault.InvalidValue},
		{Tool: "team_complete", Want: `{"data":{"items":["main"]}}`},
		{Tool: "team_complete", Args: `{"prefix":"x"}`, Want: `{"data":{"items":[]}}`},
		{Tool: "team_vault_create", Args: `{"name":"spare"}`},
		{Tool: "team_complete", Args: `{"kind":"vault","limit":1}`, Want: `{"data":{"items":["main"]},"meta":{"has_more":true}}`},
		{Tool: "team_vault_delete", Args: `{"name":"spare"}`},
		{Tool: "team_complete", Want: `{"data":{"items":["main"]}}`}, // a vault in the trash cannot be used
		{Tool: "raven_prompt_start_work", Args: `{"vault":"main","path":"people/alice"}`, Want: `{"meta":{"version":"v2"}}`},
		{Tool: "raven_prompt_record_learnt", Args: `{"vault":"main","about":"the \"zebra\" question"}`},
		{Tool: "raven_prompt_weekly_summary", Args: `{"vault":"main"}`},
		{Tool: "raven_prompt_weekly_summary", Args: `{"vault":"none"}`, Code: fault.NotFound},
	}}})
}

func TestResourcesOverMCP(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "spare"})
	for _, version := range protocols {
		t.Run(version, func(t *testing.T) {
			session := connect(t, p.base+mcptool.Path, version)
			var uris []string
			for r, err := range session.Resources(t.Context(), nil) {
				require.NoError(t, err)
				require.NotEmpty(t, r.Description)
				uris = append(uris, r.URI)
			}
			require.Equal(t, []string{
				"rookery://guide/agents", "rookery://guide/orientation", "rookery://guide/notes", "rookery://guide/tree", "rookery://guide/queries",
				"rookery://guide/order",
				"rookery://guide/memory", "rookery://guide/ci", "rookery://guide/vaults", "rookery://guide/http",
				"rookery://guide/people", "rookery://guide/obsidian", "rookery://guide/hosting",
				"rookery://guide/access", "rookery://guide/cloud", "rookery://guide/deploy",
				"rookery://main/schema", "rookery://spare/schema",
			}, uris)
			templates, err := session.ListResourceTemplates(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, templates.ResourceTemplates, 1)
			require.Equal(t, "rookery://{vault}/notes/{+path}",
				templates.ResourceTemplates[0].URITemplate)
			p.requireResources(t, session)
		})
	}
}

// requireResources reads resources of the fixture: each is the answer of its tool.
func (p *place) requireResources(t *testing.T, session *mcp.ClientSession) {
	for uri, path := range map[string]string{
		"rookery://main/notes/people/alice":                        "people/alice.md",
		"rookery://main/notes/people/alice.md":                     "people/alice.md",
		"rookery://main/notes/people%2Falice.md":                   "people/alice.md",
		"rookery://main/notes/people/alice#notes":                  "people/alice#notes",
		"rookery://main/notes/people/alice%23notes":                "people/alice#notes",
		"rookery://main/notes/ünï/코드.md":                           "ünï/코드.md",
		"rookery://main/notes/%C3%BCn%C3%AF/%EC%BD%94%EB%93%9C.md": "ünï/코드.md",
		"rookery://main/notes/schema.yaml":                         "schema.yaml",
		"rookery://main/notes/broken.md":                           "broken.md",
	} {
		var note struct{ Content string }
		require.NoError(t, json.Unmarshal(
			dataFrom(t, p, "raven_read", map[string]any{"vault": "main", "path": path}), &note))
		text, mime := readResource(t, session, uri)
		require.Equal(t, note.Content, text, uri)
		require.Equal(t, "text/markdown", mime)
	}
	schema, mime := readResource(t, session, "rookery://main/schema")
	require.Equal(t, "application/json", mime)
	require.JSONEq(t,
		string(dataFrom(t, p, "raven_schema", map[string]any{"vault": "main"})), schema)
	guide, _ := readResource(t, session, "rookery://guide/agents")
	require.True(t, strings.HasPrefix(guide, "# Rookery for agents\n"))
}

func readResource(t *testing.T, session *mcp.ClientSession, uri string) (text, mime string) {
	t.Helper()
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	require.NoError(t, err, uri)
	require.Len(t, read.Contents, 1)
	require.Equal(t, uri, read.Contents[0].URI)
	return read.Contents[0].Text, read.Contents[0].MIMEType
}

// TestBadResources reads invalid resources: each is refused as one that does not exist, and nothing
// leaks.
func TestBadResources(t *testing.T) {
	p := newPlace(t)
	uris := []string{
		"rookery://main/none", "rookery://guide/schema.yaml", "rookery://guide/../agents",
		"rookery://../schema", "rookery://%2e%2e/schema", "rookery://main%2Fnotes/a", "file:///etc/passwd",
	}
	for _, name := range strangeNames {
		if !strings.ContainsAny(name, "\x00\n") { // no URI and no header contains these
			uris = append(uris, "rookery://main/notes/"+name)
		}
	}
	for _, version := range protocols {
		session := connect(t, p.base+mcptool.Path, version)
		want := int64(-32002)
		if version == "" {
			want = jsonrpc.CodeInvalidParams
		}
		for _, uri := range uris {
			_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			require.Equal(t, want, requireRPC(t, p, err), "%.100s", uri)
		}
	}
	require.NotContains(t, p.logs.String(), p.dir)
}

// requireRPC returns the code of an error of the protocol, and requires that the error is short and
// leaks nothing.
func requireRPC(t *testing.T, p *place, err error) int64 {
	t.Helper()
	var failed *jsonrpc.Error
	require.ErrorAs(t, err, &failed)
	text := failed.Message + string(failed.Data)
	for _, secret := range []string{textCanary, fieldCanary, p.dir} {
		require.NotContains(t, text, secret)
	}
	require.Less(t, len(text), 4000)
	return failed.Code
}

// TestAidsWithEveryRole checks everything that is generated from the catalogue: the resources and
// prompts of a vault that the caller cannot see are refused like those of one that does not exist,
// and are in no list; those of a vault that it can see exist.
func TestAidsWithEveryRole(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "dark"})
	for _, role := range allRoles {
		for _, version := range protocols[:2] {
			t.Run(fmt.Sprint(role, version), func(t *testing.T) {
				session := connect(t, p.mcpAs(t, as(role, false)), version)
				for _, made := range p.app.Catalogue.Tools() {
					for _, r := range made.Resources {
						requireUnseen(t, func(vault string) error {
							_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{
								URI: r.Expand(map[string]string{"vault": vault, "path": "people/alice"}),
							})
							return err
						}, role)
					}
					if made.Prompt && (role == auth.Nobody || followed(made, role)) {
						requireUnseen(t, promptAt(t, session, made), role)
					}
				}
				requireUnlisted(t, session, role)
			})
		}
	}
}

// followed reports whether a role may call each tool that a prompt names.
func followed(made *tool.Tool, role auth.Role) bool {
	return !slices.ContainsFunc(made.Uses, func(name string) bool {
		return !known(name).Usable(as(role, false))
	})
}

// promptAt returns a function that gets a prompt for a vault.
func promptAt(t *testing.T, session *mcp.ClientSession, made *tool.Tool) func(string) error {
	return func(vault string) error {
		in := map[string]string{"vault": vault}
		for _, a := range made.Args {
			if a.Required {
				in[a.Name] = "people/alice"
			}
		}
		_, err := session.GetPrompt(t.Context(),
			&mcp.GetPromptParams{Name: made.LocalName(), Arguments: in})
		return err
	}
}

// requestID matches the id of a request in an error.
var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

// requireUnseen requires that read is refused for the vault `dark` as for one that does not exist,
// and is not refused for `main` if the role permits it there.
func requireUnseen(t *testing.T, read func(vault string) error, role auth.Role) {
	t.Helper()
	plain := func(vault string) string {
		var failed *jsonrpc.Error
		require.ErrorAs(t, read(vault), &failed)
		text := fmt.Sprintf("%d %s %s", failed.Code, failed.Message, failed.Data)
		return strings.ReplaceAll(requestID.ReplaceAllString(text, ""), vault, "")
	}
	require.Equal(t, plain("gone"), plain("dark"))
	if role == auth.Nobody {
		require.Equal(t, plain("gone"), plain("main"))
		return
	}
	require.NoError(t, read("main"))
}

// requireUnlisted requires that no list and no completion names a vault that the role does not see.
func requireUnlisted(t *testing.T, session *mcp.ClientSession, role auth.Role) {
	t.Helper()
	resources, err := session.ListResources(t.Context(), nil)
	require.NoError(t, err)
	prompts, err := session.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	vaults := []string{}
	for _, r := range resources.Resources {
		vault, isVault := strings.CutSuffix(strings.TrimPrefix(r.URI, "rookery://"), "/schema")
		if isVault {
			vaults = append(vaults, vault)
		}
	}
	if role == auth.Nobody {
		require.Empty(t, vaults)
		require.Empty(t, prompts.Prompts)
		return
	}
	require.Equal(t, []string{"main"}, vaults)
	require.Len(t, prompts.Prompts, len(slices.DeleteFunc(slices.Clone(allTools()),
		func(made *tool.Tool) bool { return !made.Prompt || !followed(made, role) })))
	done, err := session.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: prompts.Prompts[0].Name},
		Argument: mcp.CompleteParamsArgument{Name: "vault"},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"main"}, done.Completion.Values)
}

// TestPromptsOverMCP gets each prompt with all its arguments and with the required ones: the text
// is the answer of its tool.
func TestPromptsOverMCP(t *testing.T) {
	p := newPlace(t)
	for _, version := range protocols {
		session := connect(t, p.base+mcptool.Path, version)
		listed, err := session.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		var names []string
		for _, prompt := range listed.Prompts {
			names = append(names, prompt.Name)
			in := map[string]string{"vault": "main"}
			requirePrompt(t, p, session, prompt, in, func(a *mcp.PromptArgument) bool { return a.Required })
			for _, given := range []string{"people/alice", "internal/auth/token.go"} {
				in := map[string]string{"vault": "main"}
				for _, a := range prompt.Arguments {
					if a.Name != "vault" {
						in[a.Name] = given
					}
				}
				requirePrompt(t, p, session, prompt, in, nil)
			}
		}
		require.Equal(t, []string{"after_failure", "record_learnt", "start_work", "weekly_summary"}, names)
		_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "start_work"})
		require.Equal(t, int64(jsonrpc.CodeInvalidParams), requireRPC(t, p, err))
		require.ErrorContains(t, err, `argument "path" is missing`)
	}
}

// requirePrompt gets a prompt. Arguments for which fill returns true are filled in first.
func requirePrompt(
	t *testing.T, p *place, session *mcp.ClientSession, prompt *mcp.Prompt,
	in map[string]string, fill func(*mcp.PromptArgument) bool,
) {
	t.Helper()
	for _, a := range prompt.Arguments {
		if fill != nil && fill(a) {
			in[a.Name] = "inbox"
		}
	}
	got, err := session.GetPrompt(t.Context(),
		&mcp.GetPromptParams{Name: prompt.Name, Arguments: in})
	require.NoError(t, err)
	require.Len(t, got.Messages, 1)
	text := got.Messages[0].Content.(*mcp.TextContent).Text
	args := map[string]any{}
	for name, value := range in {
		args[name] = value
		require.Contains(t, text, `"`+value+`"`, prompt.Name)
	}
	var answered struct{ Text string }
	require.NoError(t, json.Unmarshal(dataFrom(t, p, promptTool(prompt.Name), args), &answered))
	require.Equal(t, answered.Text, text)
	requireCallsAreGood(t, text)
}

var (
	toolName = regexp.MustCompile("`((?:raven|team|vault|memory)_[a-z_]+)`")
	toolCall = regexp.MustCompile("`((?:raven|team|vault|memory)_[a-z_]+)`(?: with)? `(\\{[^`]*\\})`")
)

// requireCallsAreGood requires that a text names only existing tools, and shows only arguments that
// they have.
func requireCallsAreGood(t *testing.T, text string) {
	t.Helper()
	require.NotEmpty(t, toolName.FindAllString(text, -1))
	for _, m := range toolName.FindAllStringSubmatch(text, -1) {
		require.NotNil(t, known(m[1]), "%s is no tool", m[1])
	}
	for _, m := range toolCall.FindAllStringSubmatch(text, -1) {
		var in map[string]any
		require.NoError(t, json.Unmarshal([]byte(m[2]), &in), m[2])
		for name, value := range in {
			a, ok := known(m[1]).Arg(name)
			require.True(t, ok, "%s has no argument %s", m[1], name)
			require.True(t, takes(a.Schema(), value), "%s %s", m[1], m[2])
		}
	}
}

// promptTool returns the long name of the tool of a prompt.
func promptTool(name string) string {
	for _, made := range allTools() {
		if made.Prompt && made.Short == name {
			return made.Name
		}
	}
	return ""
}

// TestCompletionsOverMCP completes the variables of the template and the arguments of prompts.
func TestCompletionsOverMCP(t *testing.T) {
	p := newPlace(t)
	note := &mcp.CompleteReference{Type: "ref/resource", URI: "rookery://{vault}/notes/{+path}"}
	work := &mcp.CompleteReference{Type: "ref/prompt", Name: "start_work"}
	about := &mcp.CompleteReference{Type: "ref/prompt", Name: "record_learnt"}
	for _, version := range protocols {
		session := connect(t, p.base+mcptool.Path, version)
		for _, c := range []struct {
			ref         *mcp.CompleteReference
			name, typed string
			vault       string
			want        []string
		}{
			{note, "vault", "", "", []string{"main"}},
			{note, "path", "people/", "main", []string{
				"people/alice.md", "people/bob.md", "people/windows.md"}},
			{note, "path", "people/alice#t", "", []string{"people/alice#tasks"}},
			{note, "path", "p", "gone", []string{}},
			{work, "path", "p", "", []string{"people/", "projects/"}},
			{about, "about", "people/a", "", []string{"people/alice"}},
			{about, "about", strings.Repeat("x", 3000), "", []string{}},
		} {
			params := &mcp.CompleteParams{
				Ref: c.ref, Argument: mcp.CompleteParamsArgument{Name: c.name, Value: c.typed},
			}
			if c.vault != "" {
				params.Context = &mcp.CompleteContext{Arguments: map[string]string{"vault": c.vault}}
			}
			got, err := session.Complete(t.Context(), params)
			require.NoError(t, err)
			require.Equal(t, c.want, got.Completion.Values, "%v", c)
		}
	}
}

// TestCompleteFolderByFolder checks the completion of ids and paths, and that its pages have every
// value once.
func TestCompleteFolderByFolder(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "deep"})
	files := map[string]string{
		"a.md": "# A\n\n## One\n\n## Two\n", "a/b.md": "", "a/b/c.md": "", "a-b.md": "", "a0.md": "",
		"daily/2026-01-01.md": "## Standup\n", "z.md": "#tag1 #tag2 #other\n",
	}
	done(t, p.catalogue(), "team_vault_import",
		map[string]any{"vault": "deep", "notes": notesOf(files)})
	for _, c := range []struct {
		kind, prefix string
		want         []string
	}{
		{"id", "", []string{"a-b", "a", "a/", "a0", "daily/", "z"}},
		{"path", "", []string{"a-b.md", "a.md", "a/", "a0.md", "daily/", "z.md"}},
		{"id", "a", []string{"a-b", "a", "a/", "a0"}},
		{"id", "a/", []string{"a/b", "a/b/"}},
		{"id", "a/b", []string{"a/b", "a/b/"}},
		{"id", "a.", []string{}},
		{"path", "a.", []string{"a.md"}},
		{"path", "a.md", []string{"a.md"}},
		{"id", "a.md", []string{}},
		{"id", "a#", []string{"a#one", "a#two"}},
		{"path", "a.md#t", []string{"a.md#two"}},
		{"id", "2026-01-01#", []string{"2026-01-01#standup"}},
		{"id", "none#", []string{}},
		{"id", "a#one#", []string{}},
		{"id", "../", []string{}},
		{"id", "\x00", []string{}},
		{"tag", "", []string{"other", "tag1", "tag2"}},
		{"tag", "tag", []string{"tag1", "tag2"}},
		{"type", "pa", []string{"page"}},
		{"trait", "zzz", []string{}},
	} {
		for _, limit := range []int{1, 2, 50} {
			require.Equal(t, c.want, completedBy(t, p, c.kind, c.prefix, limit), "%v", c)
		}
	}
}

// completedBy returns the values of all pages.
func completedBy(t *testing.T, p *place, kind, prefix string, limit int) []string {
	t.Helper()
	items, token := []string{}, ""
	for {
		in := map[string]any{"vault": "deep", "kind": kind, "prefix": prefix, "limit": limit}
		if token != "" {
			in["page_token"] = token
		}
		var page struct {
			Data struct{ Items []string }
			Meta struct {
				HasMore bool   `json:"has_more"`
				Next    string `json:"next_page_token"`
			}
		}
		require.NoError(t, json.Unmarshal(done(t, p.catalogue(), "raven_complete", in), &page))
		require.LessOrEqual(t, len(page.Data.Items), limit)
		items = append(items, page.Data.Items...)
		require.Equal(t, page.Meta.HasMore, page.Meta.Next != "")
		if token = page.Meta.Next; token == "" {
			return items
		}
	}
}

// TestShellCompletes requests completions from the command line, in process and over HTTP.
func TestShellCompletes(t *testing.T) {
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "spare"})
	done(t, p.catalogue(), "team_vault_import", map[string]any{"vault": "main",
		"notes": notesOf(map[string]string{"tagged.md": "# T\n\n#harbour\n"})})
	in := p.shell("main")
	over := in
	over.Connect = tooltest.Served(p.base)
	for _, s := range []tooltest.Shell{in, over} {
		for line, want := range map[string][]string{
			"read p":                          {"people/", "projects/"},
			"read people/a":                   {"people/alice.md"},
			"read people/alice#":              {"people/alice#deep", "people/alice#notes", "people/alice#tasks"},
			"object get people/b":             {"people/bob"},
			"set people/b":                    {"people/bob"},
			"set people/bob email=x phone=":   {},
			"edit people/a":                   {"people/alice"},
			"delete people/w":                 {"people/windows"},
			"add hello --to in":               {"inbox"},
			"new pe":                          {"person"},
			"new --type pro":                  {"project"},
			"object list --type m":            {"meeting"},
			"schema type bo":                  {"book"},
			"schema trait p":                  {"priority"},
			"vault delete s":                  {"spare"},
			"stats --vault m":                 {"main"},
			"--vault s":                       {"spare"},
			"complete ta":                     {"tag"},
			"prompt start-work people/b":      {"people/bob.md"},
			"--vault spare object get people": {},
			"--vault gone object get people":  {},
			"--vault main object get inb":     {"inbox"},
			"read ../":                        {},
			"read nothing-of-that-name":       {},
		} {
			values, printed := completions(t, s, line)
			require.Zero(t, printed.Exit)
			require.Equal(t, want, values, line)
		}
	}
}

// completions returns the completions of the last word of a line. Standard error must contain only
// the line that cobra always writes. A request that exceeds the time limit is repeated.
func completions(
	t *testing.T, s tooltest.Shell, line string,
) ([]string, tooltest.Printed) {
	t.Helper()
	var printed tooltest.Printed
	for range 10 {
		pressed := time.Now()
		printed = s.Run(t, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if time.Since(pressed) < 2*time.Second {
			break
		}
	}
	require.Regexp(t, `^Completion ended with directive: [A-Za-z, ]+\n$`, printed.Err, line)
	lines := strings.Split(strings.TrimSuffix(printed.Out, "\n"), "\n")
	require.Regexp(t, `^:\d+$`, lines[len(lines)-1])
	values := []string{}
	for _, value := range lines[:len(lines)-1] {
		if !strings.HasPrefix(value, "_activeHelp_") {
			values = append(values, value)
		}
	}
	return values, printed
}

// TestEveryTypedArgumentCompletes checks that the kind of completion of each argument is one that a
// tool completes, so that no tag has a typing error.
func TestEveryTypedArgumentCompletes(t *testing.T) {
	var kinds []string
	for _, made := range allTools() {
		kinds = append(kinds, made.Completes...)
	}
	tagged := 0
	for _, made := range allTools() {
		for _, a := range made.Args {
			if a.Complete != "" {
				tagged++
				require.True(t, slices.Contains(kinds, a.Complete), "%s %s", made.Name, a.Name)
			}
		}
	}
	require.Greater(t, tagged, 20)
}
