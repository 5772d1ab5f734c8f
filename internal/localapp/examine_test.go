package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// examined returns all findings of a full examination of a directory.
func examined(t *testing.T, dir string) []doctor.Finding {
	t.Helper()
	found := localapp.Examine(t.Context(), localapp.Examination{Data: dir, Full: true})
	for _, f := range found {
		require.NotEmpty(t, f.Check)
		require.NotEmpty(t, f.Message, "%+v", f)
		require.Equal(t, f.Level == doctor.LevelError, f.Code != "", "%+v", f)
		require.True(t, f.Level != doctor.LevelError && f.Level != doctor.LevelWarning || f.Fix != "", "%+v", f)
	}
	return found
}

// only returns the findings of one check.
func only(found []doctor.Finding, check string) []doctor.Finding {
	var some []doctor.Finding
	for _, f := range found {
		if f.Check == check {
			some = append(some, f)
		}
	}
	return some
}

// requireFinding requires that one of the findings has a state, a code and a text in its message.
func requireFinding(t *testing.T, found []doctor.Finding, s doctor.Level, c fault.Code, says string) {
	t.Helper()
	for _, f := range found {
		if f.Level == s && f.Code == c && strings.Contains(f.Message, says) {
			return
		}
	}
	require.Fail(t, "no such finding", "%s %s %q in %+v", s, c, says, found)
}

// stamps returns the sizes and times of everything below a directory.
func stamps(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all[path] = fmt.Sprintf("%v %d %v", info.Mode(), info.Size(), info.ModTime())
		return err
	}))
	return all
}

// TestExamineWhole checks that the only finding in a good directory is a note that does not parse,
// and that the examination changes nothing.
func TestExamineWhole(t *testing.T) {
	dir := history(t)
	files, before := folder(t, dir), stamps(t, dir)
	found := examined(t, dir)
	for _, f := range found {
		require.NotEqual(t, doctor.LevelError, f.Level, "%+v", f)
		require.NotEqual(t, doctor.LevelSkipped, f.Level, "%+v", f)
		require.True(t, f.Level == doctor.LevelOK || f.Check == "notes" || f.Check == "space", "%+v", f)
	}
	require.Equal(t, files, folder(t, dir))
	require.Equal(t, before, stamps(t, dir))
	notes := only(found, "notes")
	require.Len(t, notes, 1)
	require.Equal(t, doctor.LevelWarning, notes[0].Level)
	require.Contains(t, notes[0].Message, "broken.md:3: ")
	for check, says := range map[string]string{
		"log": "v7, 4 notes", "chain": "7 commits in an unbroken chain, verified against", "audit log": "8 lines",
		"payloads": "1 object", "lock": "no process",
	} {
		requireFinding(t, only(found, check), doctor.LevelOK, "", says)
	}
	requireFinding(t, only(found, "cursors"), doctor.LevelOK, "", "checkout is at v7")
	requireFinding(t, only(found, "cursors"), doctor.LevelOK, "", "audit is at v7")

	none := localapp.Examine(t.Context(), localapp.Examination{Data: dir, Vault: "w"})
	requireFinding(t, none, doctor.LevelError, fault.NotFound, `no vault "w"`)
}

// TestExamineDamage checks that a full examination finds all damage that a verification of the
// history finds.
func TestExamineDamage(t *testing.T) {
	whole := history(t)
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o700))
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			d.do(t, dir)
			requireFinding(t, examined(t, dir), doctor.LevelError, d.code, d.says)
		})
	}
}

// TestExamineFiles checks the findings about files, each with a fix: edits that are not ingested
// yet, edits that wait for a decision, files that cannot be ingested, and edits that could not be
// merged.
func TestExamineFiles(t *testing.T) {
	dir := history(t)
	app := open(t, dir)
	put(t, local{app}, numbered(25))
	write := func(path, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folderOf(dir), path), []byte(text), 0o600))
	}
	write("a.md", "\xff\n")
	write("b.conflict-v3.md", "theirs\n")
	must(t, local{app}, "raven_reindex", nil)
	removeNumbered(t, dir, 25)
	must(t, local{app}, "raven_reindex", nil)
	write("new.md", "new\n")
	must(t, local{app}, "raven_reindex", args{"dry_run": true})
	require.Equal(t, []string{"new.md"}, statsOf(t, local{app}, nil).Pending)
	says := []string{
		"1 file changed outside, and not yet synced: new.md",
		"25 files changed outside need confirmation, because 25 are deleted and 0 have an earlier text again: many/00.md",
		"a.md is skipped: it is not UTF-8",
	}
	look := func(found []doctor.Finding) {
		files := only(found, "files")
		require.Len(t, files, len(says))
		for _, one := range says {
			requireFinding(t, files, doctor.LevelWarning, "", one)
		}
		requireFinding(t, only(found, "conflicts"), doctor.LevelWarning, "", "1 copy of a text that could "+
			"not be merged: b.conflict-v3.md")
	}
	c, stop := serve(t, app)
	must(t, c, "team_whoami", nil) // it has left its address
	look(examined(t, dir))
	stop()
	require.NoError(t, app.Close())
	look(examined(t, dir))
}

// TestExamineTrash checks that a vault in the trash is examined too, because it can be restored.
func TestExamineTrash(t *testing.T) {
	dir := history(t)
	app := open(t, dir)
	must(t, local{app}, "team_vault_delete", args{"name": "v"})
	require.NoError(t, app.Close())
	requireFinding(t, examined(t, dir), doctor.LevelOK, "", "v8, 4 notes, in the trash")
	inLog8 := filepath.Join(folderOf(dir), ".raven", "audit.log")
	require.NoError(t, os.Truncate(inLog8, 5))
	requireFinding(t, examined(t, dir), doctor.LevelError, fault.FileError, "line 1 of")
}

// TestExamineDirectory checks the findings about a path that is no directory, or not a data
// directory, or is incomplete.
func TestExamineDirectory(t *testing.T) {
	database := func(change func(data []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, "rookery.db")
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, change(data), 0o600))
		}
	}
	whole := history(t)
	for _, c := range []struct {
		name  string
		do    func(t *testing.T, dir string)
		state doctor.Level
		code  fault.Code
		says  string
	}{
		{"gone", func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
			doctor.LevelError, fault.NotFound, "there is no data directory"},
		{"a file", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		}, doctor.LevelError, fault.NotFound, "there is no data directory"},
		{"without a database", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "rookery.db")))
		}, doctor.LevelError, fault.IndexNotFound, "and no database: v"},
		{"without vaults", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "tenants")))
			require.NoError(t, os.Remove(filepath.Join(dir, "rookery.db")))
		}, doctor.LevelError, fault.NotFound, "there is no rookery.db"},
		{"open to others", func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o755)) },
			doctor.LevelWarning, "", "other users of this machine have permissions for the directory"},
		{"closed to its owner", func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o500)) },
			doctor.LevelError, fault.FileError, "its owner has no permission"},
		{"a cut database", database(func(data []byte) []byte { return data[:3*4096] }),
			doctor.LevelError, fault.IndexError, "damaged"},
		{"an empty database", database(func([]byte) []byte { return nil }),
			doctor.LevelError, fault.IndexNotFound, "and no database: v"},
		{"something else", database(func(data []byte) []byte { return bytes.Repeat([]byte("x"), len(data)) }),
			doctor.LevelError, fault.IndexError, "damaged"},
		{"a damaged page", database(func(data []byte) []byte {
			for at := 0; at < len(data); at += 4096 {
				if page := data[at : at+4096]; bytes.Contains(page, []byte(`"tool":"raven_add"`)) {
					copy(page, make([]byte, 16))
				}
			}
			return data
		}), doctor.LevelError, fault.IndexError, "damaged"},
		{"a newer format", func(t *testing.T, dir string) {
			db, _ := logOf(t, dir)
			control, err := db.Get(t.Context(), table.Key{Part: "local/v/1", Sort: "log/~"})
			require.NoError(t, err)
			control.Data = bytes.Replace(control.Data, []byte(`"format":1`), []byte(`"format":99`), 1)
			require.NoError(t, db.Commit(t.Context(), table.Set(control)))
			require.NoError(t, db.Close())
		}, doctor.LevelError, fault.IndexIncompatible, "newer format"},
		{"temporary files", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".rookery", "tmp", "X"), nil, 0o600))
		}, doctor.LevelOK, "", "temporary files: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(dir, os.DirFS(whole)))
			require.NoError(t, os.Chmod(dir, 0o700))
			c.do(t, dir)
			t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // so that it can be removed
			requireFinding(t, examined(t, dir), c.state, c.code, c.says)
		})
	}
}

// TestExamineHeld checks the findings about a directory that another process has open: those that
// need no database, and those of its server if it answers.
func TestExamineHeld(t *testing.T) {
	dir := history(t)
	app := open(t, dir)
	defer func() { require.NoError(t, app.Close()) }()
	found := examined(t, dir)
	requireFinding(t, found, doctor.LevelWarning, "", "it is not a server")
	requireFinding(t, only(found, "directory"), doctor.LevelOK, "", "")

	c, stop := serve(t, app)
	must(t, c, "team_whoami", nil) // it has left its address
	found = examined(t, dir)
	requireFinding(t, only(found, "lock"), doctor.LevelOK, "", c.Base)
	requireFinding(t, only(found, "chain"), doctor.LevelOK, "", "7 commits in an unbroken chain")
	requireFinding(t, only(found, "notes"), doctor.LevelWarning, "", "1 note does not parse")
	some := localapp.Examine(t.Context(), localapp.Examination{Data: dir, Vault: "v"})
	requireFinding(t, only(some, "chain"), doctor.LevelSkipped, "", "")
	none := localapp.Examine(t.Context(), localapp.Examination{Data: dir, Vault: "w"})
	requireFinding(t, none, doctor.LevelError, fault.NotFound, `no vault "w"`)

	inAudit(func(text string) string { return "{}" + text[2:] })(t, dir)
	requireFinding(t, examined(t, dir), doctor.LevelError, fault.FileError, "line 1 of")
	stop()
}

// TestExamineStuckServer checks that an examination does not wait without limit for a server that
// does not answer.
func TestExamineStuckServer(t *testing.T) {
	dir := history(t)
	db, err := bolttable.Open(filepath.Join(dir, "rookery.db"), bolttable.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, deaf.Close()) }()
	at, err := json.Marshal(localapp.Address{URL: "http://" + deaf.Addr().String(), PID: 1})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "serve.json"), at, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	found := localapp.Examine(ctx, localapp.Examination{Data: dir})
	requireFinding(t, only(found, "lock"), doctor.LevelError, fault.Unavailable, "does not answer")
}

// TestExamineIssuers checks that a tenant's rule with its own keys for an issuer of the server is
// reported, without and through the server, and logged when the server starts.
func TestExamineIssuers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	const url = "https://login.example.test"
	server := config.Config{PublicURL: "https://memory.example.test"}
	app, err := openApp(t.Context(), localapp.Config{Data: dir, Server: server})
	require.NoError(t, err)
	_, err = tooltest.As(app.Catalogue, auth.LocalCaller()).Invoke(t.Context(), "team_issuer_set",
		json.RawMessage(`{"name":"people","issuer":"`+url+`","role":"reader","client_id":"rookery",
			"jwks_url":"https://keys.example.test/mine.json"}`))
	require.NoError(t, err)
	require.NoError(t, app.Close())

	ours := func(c config.Config) []doctor.Finding {
		return only(localapp.Examine(t.Context(), localapp.Examination{Data: dir, Server: c}), "issuers")
	}
	require.Empty(t, ours(server))
	server.Issuers = []config.Issuer{{Issuer: url, Tenant: auth.Local, Audience: server.PublicURL}}
	requireFinding(t, ours(server), doctor.LevelWarning, "", "the rule people is disabled")
	require.Len(t, ours(server), 1)

	var log bytes.Buffer
	app, err = openApp(t.Context(), localapp.Config{
		Data: dir, Server: server, Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	require.NoError(t, err)
	require.Contains(t, log.String(), `"tenant":"local","rule":"people"`)
	h, err := app.Hold(t.Context(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()
	requireFinding(t, ours(config.Config{}), doctor.LevelWarning, "", "the rule people is disabled")
}
