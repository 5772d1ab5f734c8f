package localapp_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A person has folders of notes, and in another directory the states of those that are served.
type person struct {
	*testing.T
	home, states string
}

// newPerson returns a person with a folder "v" of these files.
func newPerson(t *testing.T, files map[string]string) person {
	t.Helper()
	home := t.TempDir()
	p := person{t, home, filepath.Join(home, "states")}
	p.mkdir("v")
	for path, text := range files {
		p.write("v/"+path, text)
	}
	return p
}

// path returns the path of a file in the person's home directory.
func (p person) path(name string) string { return filepath.Join(p.home, name) }

func (p person) mkdir(name string) {
	p.Helper()
	require.NoError(p, os.MkdirAll(p.path(name), 0o755))
}

// write writes a file, as any editor does.
func (p person) write(name, text string) {
	p.Helper()
	p.mkdir(filepath.Dir(name))
	require.NoError(p, os.WriteFile(p.path(name), []byte(text), 0o644))
}

func (p person) config(folder string) localapp.Config {
	return localapp.Config{Folder: p.path(folder), State: p.states}
}

// open serves a folder in this process, and waits until it is read.
func (p person) open(folder string) *localapp.App {
	p.Helper()
	app, err := openApp(p.Context(), p.config(folder))
	require.NoError(p, err)
	require.NoError(p, app.CaughtUp(p.Context()))
	return app
}

func (p person) close(app *localapp.App) {
	p.Helper()
	require.NoError(p, app.Close())
}

// requireFault requires that a folder cannot be served.
func (p person) requireFault(cfg localapp.Config, code fault.Code, says string) *fault.Fault {
	p.Helper()
	_, err := openApp(p.Context(), cfg)
	require.Error(p, err)
	f := fault.Of(err)
	require.Equal(p, code, f.Code, f.Message)
	require.Contains(p, f.Message, says)
	return f
}

// eventually waits until a note has a text.
func eventually(t *testing.T, via tool.Invoker, id, says string) {
	t.Helper()
	require.Eventually(t, func() bool {
		a, err := call(t.Context(), via, "raven_read", args{"path": id})
		return err == nil && strings.Contains(string(a.Data), says)
	}, time.Minute, 10*time.Millisecond, "%s does not say %q", id, says)
}

// ids returns the ids of all objects of the vault "v".
func ids(t *testing.T, via tool.Invoker) []string {
	t.Helper()
	list := into[struct{ Items []struct{ ID string } }](t, must(t, via, "raven_object_list", nil))
	var all []string
	for _, o := range list.Items {
		all = append(all, o.ID)
	}
	return all
}

var vaultOfNotes = map[string]string{
	"a.md": "# A\n\nSee [[b]].\n", "sub/b.md": "# B\n", ".obsidian/app.json": "{}\n",
	".git/HEAD": "ref: x\n", "picture.png": "\x89PNG",
}

// TestServed checks the first start of a folder, an edit in it, a write to it, and the second
// start.
func TestServed(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	app := p.open("v")
	require.Equal(t, "v", app.Vault())
	require.Contains(t, strings.Join(app.StartMessages(), "\n"), p.path("v"))
	require.Empty(t, app.Changes())
	via, stop := serve(t, app)
	require.Equal(t, []string{"a", "sub/b"}, ids(t, via))
	require.Equal(t, "# A\n\nSee [[b]].\n", read(t, via, "a"))
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness)

	p.write("v/a.md", "# A\n\nSee [[b]].\n\nIn Obsidian.\n")
	p.write("v/new.md", "# New\n")
	eventually(t, via, "a", "In Obsidian.")
	eventually(t, via, "new", "New")
	must(t, via, "raven_add", args{"to": "sub/b", "text": "by an agent"})
	require.Equal(t, "# B\n\n- by an agent\n", folder(t, p.path("v"))["sub/b.md"])
	told := must(t, via, "raven_stats", nil)
	stop()
	p.close(app)

	app = p.open("v")
	require.Empty(t, app.Changes())
	require.Equal(t, told.Meta.Version, must(t, local{app}, "raven_stats", nil).Meta.Version,
		"a start takes nothing in where nobody changed anything")
	p.close(app)
	files := folder(t, p.path("v"))
	for path, text := range vaultOfNotes {
		if !strings.HasSuffix(path, ".md") {
			require.Equal(t, text, files[path])
		}
	}
	require.Len(t, files, len(vaultOfNotes)+3, "the new note, the audit log and the id")
}

// TestEditedWhileNobodyServes checks that a start ingests earlier edits.
func TestEditedWhileNobodyServes(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	p.close(p.open("v"))
	p.write("v/a.md", "# A\n\nchanged\n")
	p.write("v/c.md", "# C\n")
	require.NoError(t, os.Remove(p.path("v/sub/b.md")))
	app := p.open("v")
	defer p.close(app)
	via := local{app}
	require.Equal(t, []string{"a", "c"}, ids(t, via))
	require.Equal(t, "# A\n\nchanged\n", read(t, via, "a"))
	history := string(must(t, via, "raven_history", args{"id": "sub/b"}).Data)
	require.Contains(t, history, "reindex", "what was taken away is in the history")
}

// TestSecondServer checks that a folder is served by one process, and that the error of a second
// one has its address, also by another path.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	require.NoError(t, os.Symlink(p.path("v"), p.path("link")))
	app := p.open("v")
	p.requireFault(p.config("v"), fault.Unavailable, "another process is using the folder")
	via, stop := serve(t, app)
	must(t, via, "team_whoami", nil)
	for _, name := range []string{"v", "v/", "link", "link/", "./link/../v"} {
		_, err := openApp(t.Context(), localapp.Config{
			Folder: p.home + "/" + name, State: p.states,
		})
		var busy *localapp.InUse
		require.True(t, errors.As(err, &busy), "%s: %v", name, err)
		require.NotNil(t, busy.Operator)
		busy.Operator = nil
		require.Equal(t, localapp.InUse{Server: via.Base, Vault: "v", PID: os.Getpid()}, *busy)
		require.Contains(t, fault.Of(err).Message, via.Base)
	}
	stop()
	p.close(app)
	p.close(p.open("link"))
}

// TestMovedFolder moves a folder between two starts, and while it is served.
func TestMovedFolder(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	app := p.open("v")
	before := must(t, local{app}, "raven_stats", nil).Meta.Version
	p.close(app)
	require.NoError(t, os.Rename(p.path("v"), p.path("moved")))
	app = p.open("moved")
	via := local{app}
	require.Contains(t, strings.Join(app.Changes(), "\n"), p.path("v"))
	require.Equal(t, "v", app.Vault(), "the vault keeps its name")
	require.Equal(t, before, must(t, via, "raven_stats", nil).Meta.Version)

	require.NoError(t, os.Rename(p.path("moved"), p.path("again")))
	must(t, via, "raven_add", args{"to": "a", "text": "while it moves"})
	require.Contains(t, folder(t, p.path("again"))["a.md"], "while it moves")
	p.write("again/sub/b.md", "# B\n\nfrom there\n")
	eventually(t, via, "sub/b", "from there")
	require.NoDirExists(t, p.path("moved"))
	p.close(app)
	app = p.open("again")
	require.Contains(t, read(t, local{app}, "a"), "while it moves")
	p.close(app)
}

// TestCopiedFolder serves a folder and a copy of it at once: their vaults are independent.
func TestCopiedFolder(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	one := p.open("v")
	must(t, local{one}, "raven_add", args{"to": "a", "text": "before"})
	p.close(one)
	require.NoError(t, os.CopyFS(p.path("copy/v"), os.DirFS(p.path("v"))))
	one = p.open("v")
	other := p.open("copy/v")
	require.Empty(t, one.Changes())
	require.Contains(t, strings.Join(other.Changes(), "\n"), "copy of "+p.path("v"))
	for app, text := range map[*localapp.App]string{one: "of the original", other: "of the copy"} {
		require.Contains(t, read(t, local{app}, "a"), "before")
		must(t, local{app}, "raven_add", args{"to": "a", "text": text})
	}
	p.close(one)
	p.close(other)
	for name, text := range map[string]string{"v": "of the original", "copy/v": "of the copy"} {
		note := folder(t, p.path(name))["a.md"]
		require.Equal(t, 1, strings.Count(note, "of the"), note)
		require.Contains(t, note, text)
		app := p.open(name)
		require.Empty(t, app.Changes())
		require.Equal(t, note, read(t, local{app}, "a"))
		p.close(app)
	}
}

// ravenLog is an old audit log of a Raven; its last line is incomplete.
const ravenLog = `{"ts":"2024-03-01T10:00:00Z","op":"create","entity":"object","id":"a","type":"page"}
{"ts":"2024-03-02T10:00:00Z","op":"create","entity":"trait","id":"a.md:trait:7","parent":"a","trait":"due"}
{"ts":"2024-04-01T10:00:00Z","op":"update","entity":"object","id":"a","type":"page"}`

// TestAuditLogOfARaven checks that the data in the audit log of a folder is kept: ids, times and
// lines, before the first note is ingested.
func TestAuditLogOfARaven(t *testing.T) {
	t.Parallel()
	p := newPerson(t, map[string]string{
		"a.md": "# A\n", "b.md": "# B\n", ".raven/audit.log": ravenLog,
	})
	for range 2 {
		app := p.open("v")
		old := args{"created_before": "2024-03-02", "created_after": "2024-02-28"}
		list := must(t, local{app}, "raven_object_list", old)
		require.Equal(t, 1, strings.Count(string(list.Data), `"id":`), string(list.Data))
		require.Contains(t, string(list.Data), `"id":"a"`)
		p.close(app)
		log := folder(t, p.path("v"))[".raven/audit.log"]
		require.True(t, strings.HasPrefix(log, ravenLog+"\n"), log)
		for line := range strings.Lines(log) {
			require.True(t, json.Valid([]byte(line)), line)
		}
		require.Equal(t, 1, strings.Count(log, "2024-03-01T10:00:00Z"))
	}
}

// TestAuditLogThatIsNone checks that a file with the name of an audit log that cannot be ingested
// is not overwritten.
func TestAuditLogThatIsNone(t *testing.T) {
	t.Parallel()
	log := strings.Repeat("x", repo.MaxNote+1)
	p := newPerson(t, map[string]string{"a.md": "# A\n", ".raven/audit.log": log})
	app, err := openApp(t.Context(), p.config("v"))
	require.NoError(t, err)
	f := refused(t, fault.FileError, local{app}, "raven_stats", nil)
	require.Contains(t, f.Message, ".raven/audit.log")
	p.close(app)
	require.True(t, log == folder(t, p.path("v"))[".raven/audit.log"])
	require.NoError(t, os.Rename(p.path("v/.raven"), p.path("raven")))
	app = p.open("v")
	require.Equal(t, []string{"a"}, ids(t, local{app}))
	p.close(app)
}

// TestNamesOfFolders checks the name of a folder's vault, for all kinds of folder names.
func TestNamesOfFolders(t *testing.T) {
	t.Parallel()
	for name, vault := range map[string]string{
		"My Notes": "my-notes", "Größe & Maß": "grosse-and-mass", "日記": "ri-ji", "v.2": "v-2", "...": "vault",
	} {
		p := newPerson(t, nil)
		p.write(name+"/ein Tag.md", "# Tag\n")
		app := p.open(name + "/")
		require.Equal(t, vault, app.Vault(), name)
		in := args{"vault": app.Vault(), "path": "ein tag"}
		require.Contains(t, string(must(t, local{app}, "raven_read", in).Data), "Tag", name)
		must(t, local{app}, "raven_add", args{"vault": app.Vault(), "to": "ein Tag", "text": "x"})
		p.close(app)
		require.Equal(t, "# Tag\n\n- x\n", folder(t, p.path(name))["ein Tag.md"])
	}
}

// TestNotServed checks the paths that cannot be served as folders, and that nothing is created
// then.
func TestNotServed(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	data := p.path("data")
	p.close(open(t, data))
	p.requireFault(p.config("data"), fault.InvalidParameter, "data directory")
	p.requireFault(p.config("v/a.md"), fault.InvalidParameter, "is a file")
	p.requireFault(p.config("nowhere"), fault.NotFound, "there is no folder")
	both := p.config("v")
	both.Data = data
	p.requireFault(both, fault.InvalidParameter, "one of them")
	require.NoDirExists(t, p.states)
	require.NoDirExists(t, p.path("v/.rookery"))

	p.close(p.open("v"))
	states, err := os.ReadDir(p.states)
	require.NoError(t, err)
	require.Len(t, states, 1)
	state := filepath.Join(p.states, states[0].Name())
	f := p.requireFault(localapp.Config{Data: state}, fault.InvalidParameter, "state of a served folder")
	require.Equal(t, []string{"name the folder: rookery serve --vault DIR"}, f.Fixes)
}

// TestOneVault checks that a folder has one vault, that no other can be created, and that it cannot
// be deleted.
func TestOneVault(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	app := p.open("v")
	via := local{app}
	f := refused(t, fault.InvalidParameter, via, "team_vault_create", args{"name": "w"})
	require.Contains(t, f.Message, "one folder")
	refused(t, fault.DuplicateID, via, "team_vault_create", args{"name": "v"})
	refused(t, fault.InvalidParameter, via, "team_vault_delete", args{"name": "v"})
	p.close(app)
	require.Equal(t, "# B\n", folder(t, p.path("v"))["sub/b.md"])
}
