package localapp_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// mount makes the folder "v" visible at another path, with these flags.
func (p person) mount(to string, flags uintptr) {
	p.Helper()
	p.mkdir(to)
	if err := syscall.Mount(p.path("v"), p.path(to), "", syscall.MS_BIND, ""); err != nil {
		p.Skip("nothing can be mounted here: ", err)
	}
	p.Cleanup(func() { _ = syscall.Unmount(p.path(to), syscall.MNT_DETACH) })
	err := syscall.Mount("", p.path(to), "", syscall.MS_REMOUNT|syscall.MS_BIND|flags, "")
	require.NoError(p, err)
}

// TestReadOnlyFolder serves a folder that cannot be written: its notes and the changes of other
// programs are read, no tool changes anything, and nothing is written.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.md": "# A\n", ".raven/audit.log": ravenLog}
	p := newPerson(t, files)
	p.mount("fixed/v", syscall.MS_RDONLY)
	for range 2 {
		app := p.open("fixed/v")
		require.Contains(t, strings.Join(app.Changes(), "\n"), "read-only")
		via := local{app}
		require.Equal(t, "# A\n", read(t, via, "a"))
		old := must(t, via, "raven_object_list", args{"created_before": "2024-03-02"})
		require.Contains(t, string(old.Data), `"id":"a"`)
		for _, tool := range localapp.Tools(nil) {
			if tool.Kind.Changes() {
				f := refused(t, fault.ReadOnly, via, tool.Name, nil)
				require.Contains(t, f.Message, "folder")
				require.Contains(t, f.Message, "cannot be written")
				require.NotEmpty(t, f.Fixes)
			}
		}
		p.close(app)
		require.Equal(t, files, folder(t, p.path("v")))
	}
	app := p.open("fixed/v")
	p.write("v/a.md", "# A\n\nby somebody who may\n")
	eventually(t, local{app}, "a", "who may")
	p.close(app)

	require.NoError(t, syscall.Unmount(p.path("fixed/v"), 0))
	p.mount("fixed/v", 0)
	app = p.open("fixed/v")
	require.Empty(t, app.Changes())
	must(t, local{app}, "raven_add", args{"to": "a", "text": "at last"})
	p.close(app)
	found := folder(t, p.path("v"))
	require.Contains(t, found["a.md"], "at last")
	require.Contains(t, found[".raven/audit.log"], ravenLog)
}
