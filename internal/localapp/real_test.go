package localapp_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// realVault returns the folder of a vault that people wrote. The test is skipped if there is none.
func realVault(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ROOKERY_TEST_VAULT")
	if dir == "" {
		dir = filepath.FromSlash("../../../shared/data/kepano-obsidian")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("there is no real vault: %v; ROOKERY_TEST_VAULT names one", err)
	}
	return dir
}

// command runs a command line on an App, as a user would.
func command(t *testing.T, app *localapp.App, line ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cli := &clitool.App{
		Tools: localapp.Tools(nil), In: strings.NewReader(""), Out: &stdout, Err: &stderr,
		Connect: func(context.Context, clitool.Target) (tool.Invoker, io.Closer, error) {
			return local{app}, nil, nil
		},
	}
	code = cli.Run(t.Context(), line)
	return stdout.String(), stderr.String(), code
}

// TestRealNotes imports a real vault and exports it again: the imported files are the same to the
// byte, and nothing else is written except `.raven/` (issue 3, §3.4).
func TestRealNotes(t *testing.T) {
	source := realVault(t)
	app, dir := openVault(t)
	out, errs, code := command(t, app,
		"vault", "import", source, "--vault", "real", "--create", "--json")
	require.Zero(t, code, errs)
	original := folder(t, source)
	notes := map[string]string{}
	for path, text := range original {
		switch {
		case strings.HasSuffix(path, ".md"):
			notes[path] = text
		case strings.HasPrefix(path, ".git/"):
		default:
			require.Contains(t, out, `"`+path+`"`, "what is no note is named")
		}
	}
	require.NotEmpty(t, notes)
	t.Logf("%d files, of which %d are notes", len(original), len(notes))

	target := filepath.Join(t.TempDir(), "out")
	_, errs, code = command(t, app, "vault", "export", target, "--vault", "real")
	require.Zero(t, code, errs)
	requireTaken(t, notes, folder(t, target))
	requireReadable(t, vaultNamed{local{app}, "real"}, notes)
	require.NoError(t, app.Close())
	requireTaken(t, notes, folder(t, filepath.Join(dir, "tenants/local/vaults/real/notes")))
}

// requireTaken requires that a folder has these notes, to the byte, and nothing else except
// .raven/.
func requireTaken(t *testing.T, notes, found map[string]string) {
	t.Helper()
	maps.DeleteFunc(found, func(path, _ string) bool { return strings.HasPrefix(path, ".raven/") })
	require.Equal(t, slices.Sorted(maps.Keys(notes)), slices.Sorted(maps.Keys(found)))
	for path, text := range notes {
		require.True(t, text == found[path], "%s is not what it was", path)
	}
}

// vaultNamed calls tools on one vault.
type vaultNamed struct {
	via  tool.Invoker
	name string
}

func (v vaultNamed) call(t *testing.T, name string, in args) answer {
	t.Helper()
	in["vault"] = v.name
	return must(t, v.via, name, in)
}

// requireReadable requires that each note can be read and found, including quarantined ones, and
// that these are reported.
func requireReadable(t *testing.T, v vaultNamed, notes map[string]string) {
	t.Helper()
	report := into[struct {
		Indexed int `json:"files_indexed"`
		Errors  []struct{ File string }
	}](t, v.call(t, "raven_reindex", args{"full": true}))
	require.Equal(t, len(notes), report.Indexed)
	told := map[string]bool{}
	for _, e := range report.Errors {
		told[e.File] = true
	}
	quarantined := 0
	for path, text := range notes {
		a := v.call(t, "raven_read", args{"path": path})
		require.Equal(t, text, into[struct{ Content string }](t, a).Content, path)
		object := into[struct {
			Object struct {
				Path        string `json:"file_path"`
				Quarantined *struct{ Line int }
			}
		}](t, v.call(t, "raven_object_get", args{"id": path})).Object
		require.Equal(t, path, object.Path)
		require.Equal(t, object.Quarantined != nil, told[path], path)
		if object.Quarantined != nil {
			quarantined++
		}
	}
	stats := into[struct {
		Quarantined int `json:"quarantined_count"`
	}](t, v.call(t, "raven_stats", args{}))
	require.Equal(t, quarantined, stats.Quarantined)
	require.Len(t, told, quarantined)
}
