package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/backup"
	"github.com/rookeryhq/rookery/internal/fault"
)

// tree writes files into a new directory, with a database.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		write(t, dir, path, text)
	}
	write(t, dir, "own.db", "database")
	return dir
}

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
}

// source is a directory of which something may change before the moment of the backup.
func source(t *testing.T, dir string, meanwhile func()) backup.Source {
	return backup.Source{
		Dir: dir, Database: "own.db", Release: "test", Skips: func(path string) bool { return path == "serve.json" },
		Snapshot: func(frozen func() error) (string, error) {
			meanwhile()
			if err := frozen(); err != nil {
				return "", err
			}
			path := filepath.Join(t.TempDir(), "snapshot")
			return path, os.WriteFile(path, []byte("database of the moment"), 0o600)
		},
	}
}

// read reads the files of a directory.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		files[path] = string(data)
		return err
	}))
	return files
}

func unseen(string) error { return nil }

// TestRestoredAsOfTheMoment covers what changes, comes and goes between the first look and the moment of the backup.
func TestRestoredAsOfTheMoment(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/stays.md": "stays", "a/changes.md": "before", "goes.md": "goes", "serve.json": "an address",
		"日本/ノート.md": "names of any script", "empty": "",
	})
	require.NoError(t, os.Symlink("goes.md", filepath.Join(dir, "a", "link")))
	var made bytes.Buffer
	m, err := backup.Create(t.Context(), &made, source(t, dir, func() {
		write(t, dir, "a/changes.md", "after!")
		write(t, dir, "b/comes.md", "comes")
		require.NoError(t, os.Remove(filepath.Join(dir, "goes.md")))
	}))
	require.NoError(t, err)
	want := map[string]string{
		"a/stays.md": "stays", "a/changes.md": "after!", "b/comes.md": "comes", "日本/ノート.md": "names of any script",
		"empty": "", "own.db": "database of the moment",
	}
	require.Len(t, m.Files, len(want))

	verified, err := backup.Verify(t.Context(), bytes.NewReader(made.Bytes()))
	require.NoError(t, err)
	require.Equal(t, m, verified)
	restored := filepath.Join(t.TempDir(), "new", "data")
	got, err := backup.Restore(t.Context(), bytes.NewReader(made.Bytes()), restored, func(staged string) error {
		require.Equal(t, want, read(t, staged))
		require.NoDirExists(t, restored)
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, m, got)
	require.Equal(t, want, read(t, restored))
	info, err := os.Stat(filepath.Join(restored, "a", "stays.md"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	info, err = os.Stat(restored)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
}

// TestNothingIsReplaced covers that a restore leaves alone what is there, and nothing behind when it fails.
func TestNothingIsReplaced(t *testing.T) {
	var made bytes.Buffer
	_, err := backup.Create(t.Context(), &made, source(t, tree(t, map[string]string{"a": "1"}), func() {}))
	require.NoError(t, err)
	parent := t.TempDir()
	write(t, parent, "data/mine", "mine")
	_, err = backup.Restore(t.Context(), bytes.NewReader(made.Bytes()), filepath.Join(parent, "data"), unseen)
	require.Equal(t, fault.Conflict, fault.Of(err).Code)

	bad := errors.New("not what it should be")
	_, err = backup.Restore(t.Context(), bytes.NewReader(made.Bytes()), filepath.Join(parent, "new"),
		func(string) error { return bad })
	require.ErrorIs(t, err, bad)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = backup.Restore(ended, bytes.NewReader(made.Bytes()), filepath.Join(parent, "new"), unseen)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, map[string]string{"data/mine": "mine"}, read(t, parent))
}

// TestDamagedBackups covers that a backup that was cut off, or changed anywhere, is never taken for a whole one.
func TestDamagedBackups(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("notes/%d.md", i)] = strings.Repeat(fmt.Sprintln("line", i), i*10)
	}
	var made bytes.Buffer
	m, err := backup.Create(t.Context(), &made, source(t, tree(t, files), func() {}))
	require.NoError(t, err)
	parent := t.TempDir()
	draw := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		data := bytes.Clone(made.Bytes())
		if draw.IntN(2) == 0 {
			data = data[:draw.IntN(len(data))]
		} else {
			data[draw.IntN(len(data))] ^= 1 << draw.IntN(8)
		}
		got, err := backup.Restore(t.Context(), bytes.NewReader(data), filepath.Join(parent, "data"), unseen)
		if err == nil { // a bit that means nothing
			require.Equal(t, m.Files, got.Files)
			require.NoError(t, os.RemoveAll(filepath.Join(parent, "data")))
			continue
		}
		require.Contains(t, []fault.Code{fault.IndexError, fault.IndexIncompatible}, fault.Of(err).Code)
		require.Empty(t, read(t, parent))
	}
}

// TestForeignArchives covers archives that somebody made to write elsewhere.
func TestForeignArchives(t *testing.T) {
	for _, h := range []tar.Header{
		{Typeflag: tar.TypeReg, Name: "data/../../out"},
		{Typeflag: tar.TypeReg, Name: "data//etc/out"},
		{Typeflag: tar.TypeReg, Name: "out"},
		{Typeflag: tar.TypeSymlink, Name: "data/link", Linkname: "/etc"},
		{Typeflag: tar.TypeDir, Name: "data/dir"},
		{Typeflag: tar.TypeReg, Name: "data/."},
	} {
		var made bytes.Buffer
		packed, err := zstd.NewWriter(&made)
		require.NoError(t, err)
		files := tar.NewWriter(packed)
		require.NoError(t, files.WriteHeader(&h))
		require.NoError(t, files.Close())
		require.NoError(t, packed.Close())
		parent := t.TempDir()
		_, err = backup.Restore(t.Context(), &made, filepath.Join(parent, "a", "data"), unseen)
		require.Equal(t, fault.IndexError, fault.Of(err).Code, h.Name)
		require.Empty(t, read(t, parent), h.Name)
	}
}
