package blobtest

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

// testAppend checks that Append writes after a length, cuts off what follows it in the file, and
// refuses a file that is shorter.
func testAppend(f folder) {
	const key = ".raven/audit.log"
	require.ErrorIs(f, f.Folder.Append(f.Context(), key, 3, []byte("x")), blob.ErrCondition)
	require.NoError(f, f.Folder.Append(f.Context(), key, 0, []byte("one\n")))
	require.NoError(f, f.Folder.Append(f.Context(), key, 4, []byte("two\n")))
	require.NoError(f, f.Folder.Append(f.Context(), key, 4, []byte("2\n")))
	require.ErrorIs(f, f.Folder.Append(f.Context(), key, 7, []byte("x")), blob.ErrCondition)
	require.NoError(f, f.Folder.Sync(f.Context(), key))
	text, err := os.ReadFile(filepath.Join(f.Dir, filepath.FromSlash(key)))
	require.NoError(f, err)
	require.Equal(f, "one\n2\n", string(text))
	require.NoError(f, f.Folder.Append(f.Context(), key, 0, nil))
	data, _, err := f.Folder.Get(f.Context(), key, 0, -1)
	require.NoError(f, err)
	require.Empty(f, data)
	require.ErrorIs(f, f.Folder.Append(f.Context(), "../x.md", 0, nil), blob.ErrKey)
}
