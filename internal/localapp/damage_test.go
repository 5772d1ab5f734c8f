package localapp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// history returns a closed data directory with a vault "v" of seven versions: v2 imports two notes
// and an invalid one, v4 is so large that its payload is an object, and the others are small
// changes.
func history(t *testing.T) string {
	t.Helper()
	app, dir := openVault(t)
	require.NoError(t, os.Chmod(dir, 0o700))
	via := local{app}
	put(t, via, map[string]string{
		"a.md": "first\n", "b.md": "second\n", "broken.md": "---\ntype: [item\n---\ntext\n",
	})
	must(t, via, "raven_add", args{"to": "a", "text": "one more line"})
	put(t, via, map[string]string{"large.md": large()})
	for i := range 3 {
		must(t, via, "raven_add", args{"to": "b", "text": fmt.Sprintf("line %d", i)})
	}
	require.NoError(t, app.Close())
	return dir
}

// large returns a text that cannot be compressed well.
func large() string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range 5000 {
		fmt.Fprintf(&b, "%x\n", r.Uint64())
	}
	return b.String()
}

// logOf opens the database of a closed data directory, and lists the runs of the vault "v".
func logOf(t *testing.T, dir string) (*bolttable.Table, []table.Item) {
	t.Helper()
	db, err := bolttable.Open(filepath.Join(dir, "rookery.db"), bolttable.Options{})
	require.NoError(t, err)
	var runs []table.Item
	for it, err := range db.Query(t.Context(), "local/v/1", "log/0", "log/999999999999") {
		require.NoError(t, err)
		runs = append(runs, it)
	}
	require.Len(t, runs, 7)
	return db, runs
}

// inLog changes the run of a version; nil removes it.
func inLog(version int, change func(data []byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		db, runs := logOf(t, dir)
		it := runs[version-1]
		op := table.Remove(it.Key)
		if it.Data = change(slices.Clone(it.Data)); it.Data != nil {
			op = table.Set(it)
		}
		require.NoError(t, db.Commit(t.Context(), op))
		require.NoError(t, db.Close())
	}
}

// inAudit changes the audit log.
func inAudit(change func(text string) string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		file := filepath.Join(folderOf(dir), ".raven", "audit.log")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		changed := change(string(text))
		require.NotEqual(t, string(text), changed)
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	}
}

// payloads returns the payload objects of the vault "v".
func payloads(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(
		filepath.Join(dir, "tenants", "local", "vaults", "v", "1", "payload", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func flipLast(data []byte) []byte {
	data[len(data)-1] ^= 1
	return data
}

func drop([]byte) []byte { return nil }

// A damage is one kind of damage of a data directory, and its expected finding.
type damage struct {
	name string
	do   func(t *testing.T, dir string)
	code fault.Code
	says string // in the message
	line int    // of the audit log, if it is that
}

// damages are the kinds of damage that must be found. The audit log has three lines of v2, and one
// of each later version.
var damages = []damage{
	{"a byte of a header", inLog(3, func(data []byte) []byte {
		return bytes.Replace(data, []byte(`"tool":"raven_add"`), []byte(`"tool":"raven_xdd"`), 1)
	}), fault.IndexError, "v4", 0},
	{"a byte of a payload", inLog(3, flipLast), fault.IndexError, "v3", 0},
	{"a run of the middle is gone", inLog(5, drop), fault.IndexError, "v6", 0},
	{"the newest run is gone", inLog(7, drop), fault.IndexError, "v7", 0},
	{"a byte of a payload object", func(t *testing.T, dir string) {
		data, err := os.ReadFile(payloads(t, dir)[0])
		require.NoError(t, err)
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(payloads(t, dir)[0], data, 0o600))
	}, fault.IndexError, "v4", 0},
	{"a payload object is gone", func(t *testing.T, dir string) {
		require.NoError(t, os.Remove(payloads(t, dir)[0]))
	}, fault.IndexError, "v4", 0},
	{"the audit log is cut", inAudit(func(text string) string { return text[:len(text)-10] }),
		fault.FileError, "v7", 8},
	{"the audit log is altered", inAudit(func(text string) string {
		return strings.Replace(text, `"added":2`, `"added":3`, 1)
	}), fault.FileError, "v3", 4},
	{"a line of the audit log is gone", inAudit(func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		return strings.Join(slices.Delete(lines, 4, 5), "")
	}), fault.FileError, "v4", 5},
	{"the audit log is longer", inAudit(func(text string) string { return text + "{}\n" }),
		fault.FileError, "no version", 9},
	{"the audit log is gone", func(t *testing.T, dir string) {
		require.NoError(t, os.Remove(filepath.Join(folderOf(dir), ".raven", "audit.log")))
	}, fault.FileError, "v2", 1},
}

// TestAuditVerify checks that every kind of damage is found with its position, and that nothing is
// found without damage (issue 7: "finds a removed or altered entry").
func TestAuditVerify(t *testing.T) {
	whole := history(t)
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			d.do(t, dir)
			app := open(t, dir)
			defer func() { require.NoError(t, app.Close()) }()
			f := refused(t, d.code, local{app}, "team_audit_verify", args{"vault": "v"})
			require.Contains(t, f.Message, d.says)
			require.NotEmpty(t, f.Fixes)
			if d.line > 0 {
				require.Equal(t, &fault.Location{File: ".raven/audit.log", Line: d.line}, f.Location)
			}
		})
	}
	app := open(t, whole)
	defer func() { require.NoError(t, app.Close()) }()
	out := must(t, local{app}, "team_audit_verify", args{"vault": "v"})
	require.JSONEq(t, `{"verified":true,"job":{"state":"done"},"commit_count":7,"audit_log":"verified","tenant":"verified",
		"tenant_commit_count":1,"refusal_count":0}`, jobID.ReplaceAllString(string(out.Data), ""))
	require.Equal(t, "v7", out.Meta.Version)
}

// TestAuditVerifyWhileWriting checks that a vault verifies at every moment while it is written:
// lines that are not appended yet are no damage.
func TestAuditVerifyWhileWriting(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	via, stop, done := local{app}, make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := call(t.Context(), via, "raven_add", args{"text": fmt.Sprint(i)}); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 20 {
		must(t, via, "team_audit_verify", args{"vault": "v"})
	}
	close(stop)
	require.NoError(t, <-done)
	c := auth.LocalCaller()
	c.Roles = map[string]auth.Role{"v": auth.Editor}
	_, err := app.Catalogue.Invoke(auth.WithCaller(t.Context(), c), "team_audit_verify",
		[]byte(`{"vault":"v"}`))
	require.True(t, fault.Is(err, fault.PermissionDenied), "%v", err)
}

// jobID matches the id of a job in an answer, which differs each time.
var jobID = regexp.MustCompile(`"id":"job-[0-9a-z]+",`)
