package tree_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
	"github.com/rookeryhq/rookery/internal/tools/tree"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// args are the arguments of a call.
type args = map[string]any

// noon is the time of every call.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A place is the tools of the family, over a vault "v".
type place struct {
	catalogue *tool.Catalogue
	tool.Invoker
	teams *tenant.Registry
	table *tabletest.Flaky // which counts
	close func()
}

// open opens a place whose vault has these files.
func open(t testing.TB, files map[string]string) *place {
	t.Helper()
	p := openAt(t, t.TempDir())
	t.Cleanup(p.close)
	p.fill(t, files)
	return p
}

// openAt opens a place over what a directory has, until it is closed.
func openAt(t testing.TB, dir string) *place {
	t.Helper()
	return openWith(t, dir, nil, false)
}

// openWith opens a place over what a directory has, whose table fails as planned. With folders, files have the notes of
// each vault, and edits of them are picked up.
func openWith(t testing.TB, dir string, plan func(tabletest.Call) tabletest.Fault, folders bool) *place {
	t.Helper()
	return opening{plan: plan, folders: folders}.open(t, dir)
}

// An opening says how a place is opened.
type opening struct {
	plan    func(tabletest.Call) tabletest.Fault // of the table
	bucket  func(blob.Bucket) blob.Bucket        // what is in front of the bucket; nil: nothing
	folders bool                                 // files have the notes of each vault
	now     time.Time                            // zero: noon
}

// open opens a place over what a directory has.
func (o opening) open(t testing.TB, dir string) *place {
	t.Helper()
	now := func() time.Time {
		if !o.now.IsZero() {
			return o.now
		}
		return noon
	}
	db, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: now})
	require.NoError(t, err)
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	var faced blob.Bucket = bucket
	if o.bucket != nil {
		faced = o.bucket(bucket)
	}
	counted := tabletest.NewFlaky(db, o.plan)
	teams := tenant.NewRegistry(tenant.Options{
		Table: counted, Bucket: faced, Texts: repo.NewTexts(64 << 20), Now: now, Log: slog.New(slog.DiscardHandler),
		Background: o.folders, Folders: o.folders,
	})
	caller := auth.LocalCaller()
	require.NoError(t, teams.Make(t.Context(), caller.Tenant))
	cat, err := tool.NewCatalogue(append(tree.Tools(teams), teamtools.Tools(teams, teamtools.Options{})...),
		tool.Options{Now: now})
	require.NoError(t, err)
	return &place{cat, tooltest.As(cat, caller), teams, counted, func() {
		teams.Close()
		require.NoError(t, bucket.Close())
		require.NoError(t, db.Close())
	}}
}

// fill creates the vault with these files.
func (p *place) fill(t testing.TB, files map[string]string) {
	t.Helper()
	_, err := p.Invoke(t.Context(), "team_vault_create", json.RawMessage(`{"name":"v"}`))
	require.NoError(t, err)
	p.put(t, files)
}

// put replaces files of the vault, 100 in a call.
func (p *place) put(t testing.TB, files map[string]string) {
	t.Helper()
	for paths := range slices.Chunk(slices.Sorted(maps.Keys(files)), 100) {
		var list []args
		for _, path := range paths {
			list = append(list, args{"path": path, "text": files[path]})
		}
		_, err := p.Invoke(t.Context(), "team_vault_import",
			marshalled(t, args{"vault": "v", "mode": "replace", "notes": list}))
		require.NoError(t, err)
	}
}

// file is the text of a file of the vault.
func (p *place) file(t testing.TB, path string) string {
	t.Helper()
	return p.files(t)[path]
}

// files are the texts of all files of the vault.
func (p *place) files(t testing.TB) map[string]string {
	t.Helper()
	answer, err := p.Invoke(t.Context(), "team_vault_export", json.RawMessage(`{"vault":"v"}`))
	require.NoError(t, err)
	all := map[string]string{}
	for _, note := range decode(t, answer)["data"].(args)["notes"].([]any) {
		all[note.(args)["path"].(string)] = note.(args)["text"].(string)
	}
	return all
}

func marshalled(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data, err := tool.Marshal(v)
	require.NoError(t, err)
	return data
}

func decode(t testing.TB, data []byte) args {
	t.Helper()
	var out args
	require.NoError(t, json.Unmarshal(data, &out), string(data))
	return out
}

// data is the data of the answer of a call that succeeds, by the name in the document.
func (p *place) data(t testing.TB, name string, in args) args {
	t.Helper()
	answer, err := p.call(t, name, in)
	require.NoError(t, err, "%s %v: %s", name, in, answer)
	return answer
}

// refused is the fault of a call that fails.
func (p *place) refused(t testing.TB, name string, in args) *fault.Fault {
	t.Helper()
	answer, err := p.call(t, name, in)
	require.Error(t, err, "%s %v: %s", name, in, answer)
	return fault.Of(err)
}

// call makes a call on the vault, for a bare answer.
func (p *place) call(t testing.TB, name string, in args) (args, error) {
	t.Helper()
	all := args{"vault": "v", "envelope": false}
	maps.Copy(all, in)
	answer, err := p.Invoke(t.Context(), "tree_"+name, marshalled(t, all))
	return decode(t, answer), err
}

// token is the newest version token.
func (p *place) token(t testing.TB) string {
	t.Helper()
	return p.data(t, "get_node", args{"nodeId": "/"})["versionToken"].(string)
}

// write is the data of the answer of a mutation with the newest version token.
func (p *place) write(t testing.TB, name string, in args) args {
	t.Helper()
	return p.data(t, name, p.with(t, in))
}

// with are arguments with the newest version token.
func (p *place) with(t testing.TB, in args) args {
	all := args{"versionToken": p.token(t)}
	maps.Copy(all, in)
	return all
}

// ids are the addresses of the items of a list, with blanks between them.
func ids(answer args) string {
	var all []string
	for _, item := range answer["items"].([]any) {
		all = append(all, item.(args)["nodeId"].(string))
	}
	return strings.Join(all, " ")
}

// names are the names of the items of a list.
func names(answer args) string {
	var all []string
	for _, item := range answer["items"].([]any) {
		all = append(all, item.(args)["name"].(string))
	}
	return strings.Join(all, " ")
}

// website is the fixture W of reference/tree.md, C10, with the other notes of it.
var website = map[string]string{
	"projects/website.md": "---\ntype: project\n---\n\n# Website\n\nIntro.\n\n## Goals\n\nG text.\n\n### Q1\n\nq1 text\n\n" +
		"## Risks\n::risk(id=r, severity=2)\n\nR text.\n\n## Notes\n\n```\n## not a heading\n```\n",
	"projects/api.md":     "---\ntype: project\nstatus: paused\n---\n\nUses [[projects/website#goals]].\n",
	"people/alice.md":     "---\ntype: person\nname: Alice\n---\n",
	"daily/2025-02-01.md": "A day.\n",
	"schema.yaml": "version: 2\ntypes:\n  project: {}\n  risk:\n    fields:\n      severity: {type: number}\n" +
		"  person:\n    fields:\n      name: {type: string, required: true}\n",
}

// w is the address of the website, or of a section of it.
func w(section string) string { return "projects/website" + section }
