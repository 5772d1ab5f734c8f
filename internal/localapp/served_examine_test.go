package localapp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// examine examines a folder.
func (p person) examine(folder string) []doctor.Finding {
	p.Helper()
	return localapp.Examine(p.Context(), localapp.Examination{
		Folder: p.path(folder), State: p.states, Full: true,
	})
}

// state returns the directory of the only state.
func (p person) state() string {
	p.Helper()
	all, err := os.ReadDir(p.states)
	require.NoError(p, err)
	require.Len(p, all, 1)
	return filepath.Join(p.states, all[0].Name())
}

// healthy requires that all findings are good.
func healthy(t *testing.T, found []doctor.Finding) {
	t.Helper()
	require.NotEmpty(t, found)
	for _, f := range found {
		require.NotEqual(t, doctor.LevelError, f.Level, "%+v", f)
	}
}

// TestExamineFolder examines a folder that was never served, was served, is served, was edited,
// moved and copied. Nothing is changed, in the folder or beside it.
func TestExamineFolder(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	found := p.examine("v")
	require.Len(t, found, 1)
	requireFinding(t, found, doctor.LevelWarning, "", "never served")
	require.Equal(t, vaultOfNotes, folder(t, p.path("v")))
	require.NoDirExists(t, p.states)
	_, err := localapp.Rebuild(t.Context(), p.config("v"))
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.NoDirExists(t, p.states)
	requireFinding(t, p.examine("nowhere"), doctor.LevelError, fault.NotFound, "there is no folder")

	app := p.open("v")
	via, stop := serve(t, app)
	must(t, via, "raven_add", args{"to": "a", "text": "x"})
	requireFinding(t, p.examine("v"), doctor.LevelOK, "", "served at "+via.Base)
	healthy(t, p.examine("v"))
	stop()
	p.close(app)

	before, kept := folder(t, p.path("v")), folder(t, p.states)
	found = p.examine("v")
	healthy(t, found)
	requireFinding(t, found, doctor.LevelOK, "", "it is the vault v")
	requireFinding(t, only(found, "audit log"), doctor.LevelOK, "", "as in the log")
	requireFinding(t, only(found, "files"), doctor.LevelOK, "", "fresh")
	requireFinding(t, only(found, "leftovers"), doctor.LevelOK, "", "none")
	require.Equal(t, before, folder(t, p.path("v")))
	require.Equal(t, kept, folder(t, p.states))

	requireFinding(t, localapp.Examine(t.Context(), localapp.Examination{Data: p.state()}),
		doctor.LevelError, fault.InvalidParameter, "state of a served folder")
	p.write("v/.raven/audit.log", "{}\n")
	requireFinding(t, p.examine("v"), doctor.LevelError, fault.FileError, "line 1 of")
	p.write("v/.raven/audit.log", before[".raven/audit.log"])

	require.NoError(t, os.CopyFS(p.path("copy"), os.DirFS(p.path("v"))))
	requireFinding(t, p.examine("copy"), doctor.LevelWarning, "", "a copy of "+p.path("v"))
	require.NoError(t, os.Rename(p.path("v"), p.path("moved")))
	found = p.examine("moved")
	healthy(t, found)
	requireFinding(t, found, doctor.LevelWarning, "", "moved here from "+p.path("v"))
}

// TestRebuildFolder deletes the database of a folder, and rebuilds its vault: with its whole
// history if that is in segments, and the later edits; or from the notes.
func TestRebuildFolder(t *testing.T) {
	t.Parallel()
	p := newPerson(t, vaultOfNotes)
	app := p.open("v")
	via := local{app}
	for i := range 600 { // a segment is made of 500 commits
		must(t, via, "raven_add", args{"to": "a", "text": fmt.Sprint("line ", i)})
	}
	eventuallySegments(t, p.state())
	before := read(t, via, "a")
	p.close(app)
	p.write("v/sub/b.md", "# B\n\nsince\n")
	require.NoError(t, os.Remove(filepath.Join(p.state(), "rookery.db")))

	f := p.requireFault(p.config("v"), fault.IndexNotFound, "history of its vault")
	require.Contains(t, f.Fixes[0], "rookery rebuild --vault DIR")
	requireFinding(t, p.examine("v"), doctor.LevelError, fault.IndexNotFound, "history of its vault")
	made, err := localapp.Rebuild(t.Context(), p.config("v"))
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.NotEmpty(t, made[0].FromSegments)
	require.Contains(t, made[0].Replaced, "sub/b.md")
	again, err := localapp.Rebuild(t.Context(), p.config("v"))
	require.NoError(t, err)
	require.Empty(t, again)

	app = p.open("v")
	via = local{app}
	require.Equal(t, before, read(t, via, "a"))
	require.Equal(t, "# B\n\nsince\n", read(t, via, "sub/b"))
	require.Contains(t, string(must(t, via, "raven_history", args{"id": "a"}).Data), "raven_add")
	p.close(app)
	healthy(t, p.examine("v"))
}

// eventuallySegments waits until a part of the log is in segments.
func eventuallySegments(t *testing.T, state string) {
	t.Helper()
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(filepath.Join(state, "tenants/local/vaults/v/1/segment/*"))
		return err == nil && len(found) > 0
	}, time.Minute, 10*time.Millisecond)
}
