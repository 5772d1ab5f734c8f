package localapp_test

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// newDemo returns a place with only the demo vault.
func newDemo(t testing.TB) *place {
	t.Helper()
	p := &place{dir: t.TempDir()}
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: p.dir, Now: atNoon, Server: config.Config{
			PublicURL: "https://notes.example.test",
			Issuers:   []config.Issuer{{Issuer: "https://login.example.test", Tenant: auth.Local}},
		}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	require.NoError(t, app.Demo(t.Context()))
	p.app = app
	return p
}

// TestHelp checks that every command has a help text with its purpose, its arguments, its flags and
// an example.
func TestHelp(t *testing.T) {
	s := newDemo(t).shell("demo")
	for _, made := range allTools() {
		require.NotEmpty(t, made.Commands, "%s is no command", made.Name)
		require.NotEmpty(t, made.Prose().Commands, "%s has no example", made.Name)
		for _, way := range made.Commands {
			printed := s.Run(t, append(strings.Fields(way.Words), "--help")...)
			require.Zero(t, printed.Exit, printed.Err)
			require.Empty(t, printed.Err)
			require.Contains(t, printed.Out, made.Prose().Summary)
			require.Contains(t, printed.Out, "Usage:\n  rookery "+way.Words)
			first := strings.TrimSuffix(made.Prose().Commands[0], " --json")
			require.Contains(t, printed.Out, "Examples:\n  "+first)
			places := map[string]bool{}
			for _, entry := range way.Args {
				name, _, _ := tool.Positional(entry)
				places[name] = true
				label := strings.ToUpper(tool.Kebab(name))
				require.Contains(t, printed.Out, label, way.Words)
			}
			for _, a := range made.Args {
				if !a.Shared && a.Name != "vault" && !places[a.Name] && way.Set[a.Name] == "" {
					require.Regexp(t, "--"+a.Flag+`\s`, printed.Out, "%s %s", way.Words, a.Name)
				}
			}
		}
	}
}

// TestExamplesRun checks that every command line in the tools' documents runs on the demo vault,
// with a fresh one for each tool. Two of them need the vault that the previous one creates. The
// answers that /docs shows have the shapes of the answers to the first examples, if the processes do
// not sleep: whether a sleeping one has compared the files, which two answers tell, is drawn.
func TestExamplesRun(t *testing.T) {
	answers := map[string]any{}
	for _, made := range allTools() {
		t.Run(made.Name, func(t *testing.T) {
			p := newDemo(t)
			t.Chdir(t.TempDir())
			require.NoError(t, os.Mkdir("notes", 0o700))
			require.NoError(t, os.WriteFile(filepath.Join("notes", "a.md"), []byte("# A\n"), 0o600))
			p.prepare(t, made)
			ids := strings.NewReplacer(exampleToken, p.token(t), exampleJob, p.job(t))
			s, first := p.shell("demo"), &answering{name: made.Name}
			s.Connect = first.over(s.Connect)
			for _, line := range made.Prose().Commands {
				words := tooltest.Words(ids.Replace(line))
				require.Equal(t, "rookery", words[0])
				printed := s.Run(t, words[1:]...)
				if made.Name == "team_job_cancel" { // the job of the test has ended
					require.Contains(t, printed.Err, "it cannot be cancelled any more")
					continue
				}
				require.Zero(t, printed.Exit, "%s: %s%s", line, printed.Out, printed.Err)
			}
			if first.answer != nil {
				var answer any
				require.NoError(t, json.Unmarshal(first.answer, &answer))
				answers[made.Name] = shortened(settled(answer))
			}
		})
	}
	if !asleepNow() {
		compareAnswers(t, answers)
	}
}

// exampleMemories are the memories in the tools' documents, and their chapters.
const exampleMemories = `{"id":"mem_1b4e28ba-2fa1-41d2-883f-0016d3cca427","tags":["auth"],"intent":{"goal":"g","task_type":"other"},"outcome":{"success":false,"summary":"s"}}
{"id":"mem_6fa459ea-ee8a-43a4-894e-db77e160355e","tags":["auth"],"intent":{"goal":"h","task_type":"other"},"outcome":{"success":true,"summary":"s"}}
{"kind":"chapter","id":"chapter_1b4e28ba-2fa1-41d2-883f-0016d3cca427","summary":"s","tags":["auth"],"memories":[]}
{"kind":"chapter","id":"chapter_6fa459ea-ee8a-43a4-894e-db77e160355e","summary":"s","tags":["auth"],"memories":[]}
`

// exampleToken is the id of a token in the tools' documents.
const exampleToken = "acme_k3v7mq2xw5n4yt6a"

// exampleJob is the id of a job in the tools' documents.
const exampleJob = "job-05mhxk7q3c9z8n4t6w2r1v0yba"

// job runs a job, and returns its id.
func (p *place) job(t testing.TB) string {
	t.Helper()
	var made struct {
		Data struct{ Job struct{ ID string } }
	}
	answer := done(t, p.catalogue(), "team_audit_verify", map[string]any{"vault": "demo"})
	require.NoError(t, json.Unmarshal(answer, &made))
	return made.Data.Job.ID
}

// token creates an API token, and returns its id.
func (p *place) token(t testing.TB) string {
	t.Helper()
	var made struct{ Data struct{ ID string } }
	answer := done(t, p.catalogue(), "team_token_create", map[string]any{"name": "x", "role": "reader"})
	require.NoError(t, json.Unmarshal(answer, &made))
	return made.Data.ID
}

// prepare creates the state that the example of a tool needs: the vault `research`, perhaps in the
// trash, the vault `archive`, a member, an issuer.
func (p *place) prepare(t testing.TB, made *tool.Tool) {
	t.Helper()
	text := strings.Join(made.Prose().Commands, "\n")
	switch {
	case made.Family.Name == "memory":
		done(t, p.catalogue(), "memory_import", map[string]any{"vault": "demo", "files": []map[string]string{
			{"path": "memories.jsonl", "content": exampleMemories}}})
		require.NoError(t, os.WriteFile("memories.jsonl", []byte(exampleMemories), 0o600))
	case strings.Contains(text, "vault set archive"):
		done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "archive"})
	case strings.Contains(text, "member remove bob"):
		done(t, p.catalogue(), "team_member_set", map[string]any{"subject": "bob", "role": "reader"})
	case strings.Contains(text, "issuer remove github"):
		done(t, p.catalogue(), "team_issuer_set", map[string]any{
			"name": "github", "issuer": "https://token.actions.githubusercontent.com", "role": "editor",
			"claims": map[string]string{"repository": "acme/app"},
		})
	}
	if strings.Contains(text, "restore people/freya") {
		done(t, p.catalogue(), "raven_delete", map[string]any{"vault": "demo", "id": "people/freya"})
	}
	if strings.Contains(text, "query remove overdue") {
		done(t, p.catalogue(), "raven_query_save", map[string]any{
			"vault": "demo", "name": "overdue", "query": "trait:due .value==past"})
	}
	if strings.Contains(text, "bookmark remove current") {
		p.bookmark(t, "current")
	}
	if strings.Contains(text, "snapshot ") && strings.Contains(text, "before-cleanup") && made.Name != "tree_snapshot_create" {
		p.snapshot(t, "before-cleanup")
	}
	if strings.Contains(text, "import generic-csv contacts.csv") {
		writeExports(t)
	}
	if strings.Contains(text, "vault delete research") || strings.Contains(text, "vault restore research") ||
		strings.Contains(text, "vault erase research") || strings.Contains(text, "schema init --vault research") {
		done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "research"})
	}
	if strings.Contains(text, "vault restore research") {
		done(t, p.catalogue(), "team_vault_delete", map[string]any{"name": "research"})
	}
}

// bookmark creates a bookmark.
func (p *place) bookmark(t testing.TB, label any) {
	t.Helper()
	done(t, p.catalogue(), "tree_bookmark", map[string]any{
		"vault": "demo", "nodeId": "people/freya", "label": label, "versionToken": "v1"})
}

// snapshot creates a snapshot.
func (p *place) snapshot(t testing.TB, label any) {
	t.Helper()
	done(t, p.catalogue(), "tree_snapshot_create", map[string]any{"vault": "demo", "label": label, "versionToken": "v1"})
}

// writeExports writes the files of other programs that the examples name.
func writeExports(t testing.TB) {
	t.Helper()
	require.NoError(t, os.WriteFile("contacts.csv", []byte("name,town\nAlice,Bergen\n"), 0o600))
	f, err := os.Create("export.zip")
	require.NoError(t, err)
	w := zip.NewWriter(f)
	to, err := w.Create("conversations.json")
	require.NoError(t, err)
	_, err = to.Write([]byte(`[{"id":"1","title":"A chat","mapping":{"m":{"message":{"content":{"parts":["Hello"]}}}}}]`))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
}

// TestExampleInputs checks that every JSON example of the tools' documents is a call that succeeds
// on the demo vault.
func TestExampleInputs(t *testing.T) {
	t.Parallel()
	examples := 0
	for _, made := range allTools() {
		for _, input := range jsonBlocks(made.Prose().Text) {
			examples++
			p := newDemo(t)
			var in map[string]any
			require.NoError(t, json.Unmarshal([]byte(input), &in), "%s: %s", made.Name, input)
			if vault, ok := in["vault"]; ok && vault != "demo" {
				done(t, p.catalogue(), "team_vault_create", map[string]any{"name": vault})
			}
			if made.Name == "raven_restore" {
				done(t, p.catalogue(), "raven_delete", map[string]any{"vault": "demo", "id": "people/freya"})
			}
			if made.Name == "raven_query_remove" {
				done(t, p.catalogue(), "raven_query_save", map[string]any{"vault": "demo", "name": in["name"], "query": "section"})
			}
			if made.Name == "tree_remove_bookmark" {
				p.bookmark(t, in["label"])
			}
			if label, ok := in["snapshotId"]; ok {
				p.snapshot(t, label)
			}
			if made.Name == "tree_snapshot_diff" {
				p.snapshot(t, in["a"])
			}
			if made.Name == "team_vault_erase" {
				done(t, p.catalogue(), "team_vault_create", map[string]any{"name": in["name"]})
			}
			done(t, p.catalogue(), made.Name, in)
		}
	}
	require.Greater(t, examples, 5)
}

// jsonBlocks returns the fenced blocks of JSON in a text.
func jsonBlocks(text string) []string {
	var blocks []string
	for _, after := range strings.Split(text, "```json\n")[1:] {
		block, _, _ := strings.Cut(after, "\n```")
		blocks = append(blocks, block)
	}
	return blocks
}

// TestSchemaCommandsRun checks that each example in the list of commands runs, as the document
// says.
func TestSchemaCommandsRun(t *testing.T) {
	p := newDemo(t)
	answer := done(t, p.catalogue(), "raven_schema_commands", map[string]any{})
	var listed struct {
		Data struct{ Commands map[string]json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(answer, &listed))
	for _, made := range allTools() {
		for _, way := range made.Commands {
			first, _, _ := strings.Cut(way.Words, " ")
			entry := string(listed.Data.Commands[first])
			for _, line := range made.Prose().Commands {
				require.Contains(t, entry, string(marshalled(t, line)), way.Words)
			}
		}
	}
}

// TestUnknownWords checks that the error for an unknown command, flag or type suggests the nearest
// one.
func TestUnknownWords(t *testing.T) {
	s := newDemo(t).shell("demo")
	for _, c := range []struct {
		line, hint string
		exit       int
	}{
		{"objekt list", "object", 1},
		{"object lits", "list", 1},
		{"raed inbox", "read", 1},
		{"read inbox --line 1", "--lines", 1},
		{"object list --type persn", "person", 2},
		{"object list --type person --field emial=x", "email", 2},
	} {
		printed := s.Run(t, tooltest.Words(c.line)...)
		require.Equal(t, c.exit, printed.Exit, "%s: %s", c.line, printed.Err)
		require.Contains(t, printed.Err, c.hint, c.line)
	}
}

// TestFirstTools checks that /mcp lists the tools that an agent needs first, in at most 16,000
// bytes.
func TestFirstTools(t *testing.T) {
	p := newPlace(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	t.Logf("%d bytes", len(body))
	require.LessOrEqual(t, len(body), 16000)
	var listed struct {
		Result struct{ Tools []struct{ Name string } }
	}
	require.NoError(t, json.Unmarshal(body, &listed))
	var names []string
	for _, made := range listed.Result.Tools {
		names = append(names, made.Name)
	}
	// The tools of CONTRACT §6 that exist, and those that stand in for the others.
	require.Equal(t, []string{
		"vault_overview", "notes_search", "notes_get", "notes_write", "raven_query", "raven_schema", "raven_object_get",
		"raven_set", "raven_add", "raven_edit", "raven_trait_update", "raven_history", "raven_undo",
		"memory_recall", "memory_store", "memory_check_file",
	}, names)
}

// TestDemoIsSound checks that every note of the demo vault parses, and that the principal has all
// permissions.
func TestDemoIsSound(t *testing.T) {
	p := newDemo(t)
	answer := done(t, p.catalogue(), "raven_stats", map[string]any{"vault": "demo"})
	require.Empty(t, tooltest.Missing(json.RawMessage(`{"data":{"quarantined_count":0}}`), answer))
	require.Equal(t, auth.Admin, auth.LocalCaller().Role("demo"))
	require.NoError(t, p.app.Demo(t.Context()), "a second time changes nothing")
}
