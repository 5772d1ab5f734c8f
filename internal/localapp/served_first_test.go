package localapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A firstReading is the first reading of a folder with 1200 notes and a schema, which stops when
// 500 notes are read.
type firstReading struct {
	person
	app    *localapp.App
	goOn   func()
	shut   func()             // closes the App
	told   []int              // reported progress
	waited chan time.Duration // how long calls would have waited
}

const readSchema = "types:\n  person:\n    default_path: people/\n    name_field: name\n" +
	"    fields:\n      name: { type: string }\n"

// firstWait is how long calls wait for a first reading.
const firstWait = 3 * time.Second

// readHalf opens a folder and returns when its first reading has stopped.
func readHalf(t *testing.T, waits bool) *firstReading {
	t.Helper()
	f := &firstReading{person: newPerson(t, map[string]string{
		"schema.yaml": readSchema, "people/zoe.md": "---\ntype: person\nname: Zoe\n---\n# Zoe\n",
		"zz/late.md": "# Late\n\nzebrafinch\n",
	}), waited: make(chan time.Duration, 100)}
	for i := range 1198 {
		f.write(fmt.Sprintf("v/n%04d.md", i), "# Note\n")
	}
	first, goOn := make(chan int), make(chan struct{})
	f.goOn = sync.OnceFunc(func() { close(goOn) })
	cfg := f.config("v")
	cfg.Progress = func(done, total int) {
		if f.told = append(f.told, done); len(f.told) == 1 {
			first <- total
			<-goOn
		}
	}
	over := make(chan time.Time)
	if !waits {
		close(over)
	}
	cfg = localapp.Waiting(cfg, func(d time.Duration) <-chan time.Time {
		f.waited <- d
		return over
	})
	var err error
	f.app, err = openApp(t.Context(), cfg)
	require.NoError(t, err)
	opened := make(chan error, 1) // the first call opens the vault
	go func() {
		_, err := call(context.WithoutCancel(t.Context()), local{f.app}, "raven_type", args{"list": true})
		opened <- err
	}()
	f.shut = sync.OnceFunc(func() {
		f.goOn()
		require.NoError(t, <-opened)
		require.NoError(t, f.app.Close())
	})
	t.Cleanup(f.shut)
	require.Equal(t, 1200, <-first)
	return f
}

// updating is the warning in an answer that the vault is being read.
type updating struct {
	Vault       string
	Read, Total int
}

// beside is the part of an answer without its data.
type beside struct {
	OK       bool
	Data     json.RawMessage
	Warnings []struct {
		Code, Message string
		updating
	}
	Error struct {
		Code       fault.Code
		Message    string
		RetryAfter int `json:"retry_after"`
		Details    updating
	}
}

// TestServesWhatItHasRead stops the first reading of a folder after its first piece: the notes that
// were read are served over every way in, and every answer says how much that is; no answer says
// that a note does not exist.
func TestServesWhatItHasRead(t *testing.T) {
	t.Parallel()
	f := readHalf(t, false)
	via, stop := serve(t, f.app)
	defer stop()
	mcp := tooltest.NewMCPClient(via.Base+mcptool.Path+"/x/all", nil)
	defer func() { _ = mcp.Close() }()
	for _, way := range []tooltest.Way{
		tooltest.Invoking("catalogue", local{f.app}), tooltest.Invoking("http", via),
		tooltest.Routes(f.app.Catalogue, via.Base), tooltest.Invoking("mcp", mcp),
		tooltest.Commands(allTools(), tooltest.InProcess(f.app.Catalogue, auth.LocalCaller())),
	} {
		for _, c := range []struct {
			tool, args string
			code       fault.Code // empty: it succeeds
		}{
			{"raven_stats", `{}`, ""},
			{"raven_object_list", `{"type":"person"}`, ""},
			{"raven_search", `{"query":"zebrafinch"}`, ""},
			{"team_vault_list", `{}`, ""},
			{"raven_read", `{"path":"zz/late"}`, fault.Unavailable},
			{"raven_object_get", `{"id":"people/zoe"}`, fault.Unavailable},
			{"raven_set", `{"id":"people/zoe","set":{"name":"Z"}}`, fault.Unavailable},
			{"raven_new", `{"type":"person","title":"Zoe"}`, fault.Conflict},
			{"raven_new", `{"type":"person","title":"Zoe","path":"people/ZOE"}`, fault.Conflict},
			{"raven_new", `{"type":"robot","title":"Zoe"}`, fault.InvalidType},
			{"raven_schema_type", `{"name":"person"}`, ""},
		} {
			raw, carried := way.Call(t, tooltest.NewCall(t, c.tool, c.args))
			if !carried {
				continue
			}
			var a beside
			require.NoError(t, json.Unmarshal(raw, &a), "%s", raw)
			require.Equal(t, c.code, a.Error.Code, "%s: %s", c.tool, raw)
			require.NotEmpty(t, a.Warnings, "%s", raw)
			require.Equal(t, "INDEX_UPDATING", a.Warnings[0].Code)
			require.Equal(t, updating{"v", 501, 1201}, a.Warnings[0].updating)
			require.Contains(t, a.Warnings[0].Message, "501 of 1201 files")
			if c.code == fault.Unavailable {
				require.Equal(t, 3, a.Error.RetryAfter)
				require.Equal(t, 501, a.Error.Details.Read)
				require.Contains(t, a.Error.Message, "not found yet")
			}
		}
	}
	require.Equal(t, firstWait, <-f.waited)
	require.Equal(t, 500, f.files())
	require.Equal(t, "updating", statsOf(t, via, nil).Freshness)
	out, errs, code := command(t, f.app, "object", "list", "--type", "person")
	require.Zero(t, code)
	require.Empty(t, out)
	require.Contains(t, errs, "INDEX_UPDATING")
	require.Contains(t, errs, "501 of 1201 files")
	_, errs, code = command(t, f.app, "read", "zz/late")
	require.Equal(t, 6, code)
	require.Contains(t, errs, "not found yet")

	f.goOn()
	require.NoError(t, f.app.CaughtUp(t.Context()))
	require.Equal(t, 1200, f.files())
	require.Empty(t, must(t, via, "raven_stats", nil).Warnings)
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness == "fresh" },
		time.Minute, time.Millisecond)
	require.Contains(t, read(t, via, "zz/late"), "zebrafinch")
	refused(t, fault.NotFound, via, "raven_read", args{"path": "nowhere"})
	require.Equal(t, []int{500, 1000, 1200}, f.told)
}

// files returns the number of notes of the vault.
func (f *firstReading) files() int {
	return into[struct {
		Count int `json:"file_count"`
	}](f.T, must(f.T, local{f.app}, "raven_stats", nil)).Count
}

// TestCallsWaitForTheFirstReading checks that a call waits for the end of the first reading, if
// that is soon, and that its answer then does not mention it.
func TestCallsWaitForTheFirstReading(t *testing.T) {
	t.Parallel()
	f := readHalf(t, true)
	require.Equal(t, firstWait, <-f.waited)
	answers := make(chan answer)
	go func() {
		a, err := call(t.Context(), local{f.app}, "raven_read", args{"path": "zz/late"})
		if err != nil {
			t.Errorf("it is not found: %v", err)
		}
		answers <- a
	}()
	require.Equal(t, firstWait, <-f.waited)
	select {
	case <-answers:
		t.Fatal("it is answered too early")
	default:
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := call(ctx, local{f.app}, "raven_read", args{"path": "zz/late"})
	require.True(t, fault.Is(err, fault.Unavailable), "who does not wait is answered at once: %v", err)
	f.goOn()
	a := <-answers
	require.Contains(t, string(a.Data), "zebrafinch")
	require.Empty(t, a.Warnings)
}

// A slowFolder cannot be listed until a test permits it.
type slowFolder struct {
	blob.Folder
	may <-chan struct{}
}

func (f slowFolder) Walk(
	ctx context.Context, prefix string, enter func(folder string) bool,
) iter.Seq2[blob.Object, error] {
	<-f.may
	return f.Folder.Walk(ctx, prefix, enter)
}

// TestFirstReadingOfADataDirectory checks the same warnings for a vault in a data directory while
// its notes/ is being read.
func TestFirstReadingOfADataDirectory(t *testing.T) {
	t.Parallel()
	app, dir := openVault(t)
	put(t, local{app}, map[string]string{"a.md": "# A\n"})
	require.NoError(t, app.Close())
	require.NoError(t, os.WriteFile(filepath.Join(folderOf(dir), "b.md"), []byte("# B\n"), 0o600))
	may := make(chan struct{})
	over := make(chan time.Time)
	close(over)
	cfg := localapp.Waiting(localapp.Config{Data: dir}, func(time.Duration) <-chan time.Time { return over })
	app, err := openApp(t.Context(), localapp.Between(cfg,
		func(t table.Table, f blob.Folder) (table.Table, blob.Folder) { return t, slowFolder{f, may} }))
	require.NoError(t, err)
	via := local{app}
	a := must(t, via, "raven_read", args{"path": "a"})
	require.Equal(t, "INDEX_UPDATING", a.Warnings[0].Code)
	refused(t, fault.Unavailable, via, "raven_read", args{"path": "b"})
	close(may)
	require.Eventually(t, func() bool {
		a, err := call(t.Context(), via, "raven_read", args{"path": "b"})
		return err == nil && len(a.Warnings) == 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, app.Close())
}

// TestReadOnce checks that a folder that has not changed is not read again by the next process.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	f := readHalf(t, false)
	f.goOn()
	require.NoError(t, f.app.CaughtUp(t.Context()))
	f.shut()
	cfg := f.config("v")
	cfg.Progress = func(int, int) { t.Error("nothing is to be read") }
	app, err := openApp(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, app.CaughtUp(t.Context()))
	f.close(app)
}

// TestBusyFolder serves a folder of thousands of notes, in which a program appends to a file
// without pause, also during the first reading: all notes are read, and an edit of another file is
// synced.
func TestBusyFolder(t *testing.T) {
	t.Parallel()
	const notes = 3000
	p := newPerson(t, nil)
	for i := range notes {
		p.write(fmt.Sprintf("v/n%04d.md", i), "# Note\n")
	}
	defer p.append("v/log.md")()
	app, err := openApp(t.Context(), p.config("v"))
	require.NoError(t, err)
	defer p.close(app)
	via, stop := serve(t, app)
	defer stop()
	require.NoError(t, app.CaughtUp(t.Context()))
	a := must(t, via, "raven_stats", nil)
	require.Empty(t, a.Warnings)
	require.GreaterOrEqual(t, into[struct {
		Count int `json:"file_count"`
	}](t, a).Count, notes+1)
	p.write("v/n0000.md", "# Note\n\nIn Obsidian.\n")
	eventually(t, via, "n0000", "In Obsidian.")
	require.NoError(t, os.Remove(p.path("v/n0001.md")))
	require.Eventually(t, func() bool {
		_, err := call(t.Context(), via, "raven_read", args{"path": "n0001"})
		return fault.Is(err, fault.NotFound)
	}, time.Minute, 10*time.Millisecond)
	eventually(t, via, "log", "line 30")
}

// append appends to a file four times a second, until stop is called.
func (p person) append(name string) (stop func()) {
	p.Helper()
	p.write(name, "# Log\n")
	file, err := os.OpenFile(p.path(name), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(p, err)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer file.Close()
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(time.Second / 4): // the pace of the program
			}
			if _, err := fmt.Fprintf(file, "line %d\n", n); err != nil {
				p.Errorf("append: %v", err)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// TestClosedWhileItReads ends a server during the first reading: the next start continues, and
// ingests nothing twice.
func TestClosedWhileItReads(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	for i := range 1200 {
		p.write(fmt.Sprintf("v/n%04d.md", i), "# Note\n")
	}
	reading := make(chan struct{}, 3)
	cfg := p.config("v")
	cfg.Progress = func(int, int) { reading <- struct{}{} }
	app, err := openApp(t.Context(), cfg)
	require.NoError(t, err)
	_, stop := serve(t, app)
	<-reading
	stop()
	p.close(app)
	app = p.open("v")
	defer p.close(app)
	log := folder(t, p.path("v"))[".raven/audit.log"]
	require.Len(t, into[struct{ Items []struct{ ID string } }](t,
		must(t, local{app}, "raven_object_list", args{"limit": 200})).Items, 200)
	seen := map[string]bool{}
	for _, line := range discovered.FindAllString(log, -1) {
		require.False(t, seen[line], "%s is told twice", line)
		seen[line] = true
	}
}

// discovered matches the objects that were found in the folder, in an audit log.
var discovered = regexp.MustCompile(`"discovered":\["object:[^"]*"\]`)
