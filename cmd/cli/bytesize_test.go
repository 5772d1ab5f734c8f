package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestByteSizes(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		show string
	}{
		{"1", 1, "1"},
		{"134217728", 128 << 20, "128MiB"},
		{"128MiB", 128 << 20, "128MiB"},
		{" 64 mib ", 64 << 20, "64MiB"},
		{"1KiB", 1 << 10, "1KiB"},
		{"1500KiB", 1500 << 10, "1500KiB"},
		{"2GiB", 2 << 30, "2GiB"},
		{"2048GiB", 2048 << 30, "2048GiB"},
		{"7b", 7, "7"},
		{"8589934591GiB", 8589934591 << 30, "8589934591GiB"},
	} {
		var b byteSize
		require.NoError(t, b.Set(c.text), c.text)
		require.EqualValues(t, c.want, b, c.text)
		require.Equal(t, c.show, b.String())
	}
	for _, text := range []string{
		"", "0", "0MiB", "-1", "+1", "1.5GiB", "MiB", "128MB", "128M", "12 8", "1_000", "0x10", "١",
		"8589934592GiB", "9223372036854775808", "99999999999999999999",
	} {
		b := byteSize(5)
		require.ErrorContains(t, b.Set(text), "such as 128MiB", text)
		require.EqualValues(t, 5, b)
	}
}

// TestCacheBytes checks that an invalid size is a usage error that describes valid ones, and that
// the help shows the default.
func TestCacheBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, size := range []string{"128MB", "0", "-1"} {
		code, _, errs := rookery(t, "serve", "--data", dir, "--cache-bytes="+size)
		require.Equal(t, 1, code)
		require.Contains(t, errs, "--cache-bytes")
		require.Contains(t, errs, "such as 128MiB")
		require.NoDirExists(t, dir)
	}
	code, _, errs := rookery(t, "serve", "--data", dir, "--mcp", "--cache-bytes", "1MiB")
	require.Zero(t, code, errs)
	require.DirExists(t, dir)
	code, out, _ := rookery(t, "serve", "--help")
	require.Zero(t, code)
	require.Contains(t, out, "default 128MiB")
}
