package watch_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/casefoldfs"
)

func TestFolderRespelledWhereNamesFold(t *testing.T) {
	dir := filepath.Join(casefoldfs.Mount(t, casefoldfs.Options{}), "vault")
	write(t, "text", dir, "Folder/Deep/note.md")
	l := listen(t, dir)
	require.Contains(t, l.tree.Reason(), "file system", "others may change it behind the kernel")
	names := []string{"Folder", "folder", "FOLDER"}
	for i, to := range names[1:] {
		rename(t, filepath.Join(dir, names[i]), filepath.Join(dir, to))
		l.named(names[i], to, to+"/Deep/note.md")
		l.forget()
		write(t, "2", dir, to, "Deep/note.md")
		write(t, "text", dir, to, "Deep", to+".md")
		l.named(to+"/Deep/note.md", to+"/Deep/"+to+".md")
		require.False(t, l.everything)
	}
	require.NoError(t, l.tree.Close()) // before it is unmounted
}
