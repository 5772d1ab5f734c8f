package localapp_test

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
)

// unwatched waits until raven_stats gives the reason why changes may not be noticed; "" waits until
// freshness is fresh.
func unwatched(t *testing.T, app *localapp.App, why repo.Unwatched) {
	t.Helper()
	require.Eventually(t, func() bool {
		s := into[struct {
			Freshness repo.Freshness `json:"freshness"`
			Unwatched repo.Unwatched `json:"unwatched"`
			Why       string         `json:"unwatched_reason"`
			Fix       string         `json:"unwatched_fix"`
		}](t, must(t, local{app}, "raven_stats", nil))
		if why == "" {
			return s.Unwatched == "" && s.Freshness == repo.Fresh
		}
		return s.Unwatched == why && s.Freshness != repo.Fresh && s.Why != "" && s.Fix != ""
	}, time.Minute, 20*time.Millisecond)
}

// warns reports whether a write of a note warns that its file is missing.
func warns(t *testing.T, app *localapp.App, text string) bool {
	t.Helper()
	out, err := local{app}.Invoke(t.Context(), "raven_add", json.RawMessage(
		`{"vault":"v","to":"a","text":"`+text+`"}`))
	require.NoError(t, err)
	var a struct{ Warnings []struct{ Code, Path string } }
	require.NoError(t, json.Unmarshal(out, &a))
	for _, w := range a.Warnings {
		if w.Code == "FILE_UNREAD" && w.Path == "a.md" {
			return true
		}
	}
	return false
}

// TestServedFolderIsAwayAndBack checks that freshness and every write report a served folder which
// is moved away or unmounted, and that it is found again with the changes of both sides.
func TestServedFolderIsAwayAndBack(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct{ served, away, back func(p person) }{
		"renamed": {
			func(person) {},
			func(p person) { require.NoError(p, os.Rename(p.path("v"), p.path("elsewhere"))) },
			func(p person) { require.NoError(p, os.Rename(p.path("elsewhere"), p.path("v"))) },
		},
		"another in its place": {
			func(person) {},
			func(p person) {
				require.NoError(p, os.Rename(p.path("v"), p.path("elsewhere")))
				p.write("v/b.md", "of another\n")
			},
			func(p person) {
				require.NoError(p, os.RemoveAll(p.path("v")))
				require.NoError(p, os.Rename(p.path("elsewhere"), p.path("v")))
			},
		},
		"unmounted": {
			func(p person) {
				require.NoError(p, os.Rename(p.path("v"), p.path("elsewhere")))
				p.mkdir("v")
				mountAt(p)
			},
			func(p person) { require.NoError(p, syscall.Unmount(p.path("v"), syscall.MNT_DETACH)) },
			mountAt,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t, map[string]string{"a.md": "# A\n", "deep/c.md": "# C\n"})
			way.served(p)
			app := p.open("v")
			defer p.close(app)
			unwatched(t, app, "")
			require.False(t, warns(t, app, "before"))

			way.away(p)
			unwatched(t, app, repo.UnwatchedAway)
			require.True(t, warns(t, app, "while away"))
			p.write("elsewhere/deep/c.md", "# C\n\nby somebody\n")
			p.write("elsewhere/new.md", "# New\n")

			way.back(p)
			unwatched(t, app, "")
			eventually(t, local{app}, "deep/c", "by somebody")
			eventually(t, local{app}, "new", "# New")
			refusedNow(t, app, "b")
			require.False(t, warns(t, app, "after"))
			text := folder(t, p.path("v"))["a.md"]
			for _, line := range []string{"before", "while away", "after"} {
				require.Contains(t, text, line)
			}
		})
	}
}

// mountAt makes the folder "elsewhere" visible at "v".
func mountAt(p person) {
	if err := syscall.Mount(p.path("elsewhere"), p.path("v"), "", syscall.MS_BIND, ""); err != nil {
		p.Skip("nothing can be mounted here: ", err)
	}
	p.Cleanup(func() { _ = syscall.Unmount(p.path("v"), syscall.MNT_DETACH) })
}

// refusedNow requires that there is no note with a name.
func refusedNow(t *testing.T, app *localapp.App, path string) {
	t.Helper()
	_, err := call(t.Context(), local{app}, "raven_read", args{"path": path})
	require.Error(t, err)
}

// TestServedFolderComesBackAsAnotherDevice checks a served folder whose file system is unmounted,
// so that its path is an empty folder, and then another file system with the same files. No note is
// lost: freshness reports the folder as missing until the next start, which finds all notes
// unchanged.
func TestServedFolderComesBackAsAnotherDevice(t *testing.T) {
	t.Parallel()
	p := newPerson(t, nil)
	device(p)
	p.write("v/a.md", "# A\n")
	for _, name := range []string{"b", "c", "d", "e", "f"} {
		p.write("v/deep/"+name+".md", "# "+name+"\n")
	}
	app := p.open("v")
	unwatched(t, app, "")
	require.NoError(t, os.CopyFS(p.path("copy"), os.DirFS(p.path("v"))))
	intact := func() {
		t.Helper()
		for _, path := range []string{"a", "deep/b", "deep/c", "deep/d", "deep/e", "deep/f"} {
			must(t, local{app}, "raven_read", args{"path": path})
		}
	}

	require.NoError(t, syscall.Unmount(p.path("v"), syscall.MNT_DETACH))
	unwatched(t, app, repo.UnwatchedAway) // the mount point is an empty folder
	intact()

	device(p)
	require.NoError(t, os.CopyFS(p.path("v"), os.DirFS(p.path("copy"))))
	must(t, local{app}, "raven_reindex", nil)
	unwatched(t, app, repo.UnwatchedAway)
	intact()

	p.close(app)
	app = p.open("v")
	defer p.close(app)
	unwatched(t, app, "")
	intact()
	require.Equal(t, "# A\n", folder(t, p.path("v"))["a.md"])
}

// device mounts an empty file system at "v".
func device(p person) {
	if err := syscall.Mount("tmpfs", p.path("v"), "tmpfs", 0, "size=16m"); err != nil {
		p.Skip("nothing can be mounted here: ", err)
	}
	p.Cleanup(func() { _ = syscall.Unmount(p.path("v"), syscall.MNT_DETACH) })
}
