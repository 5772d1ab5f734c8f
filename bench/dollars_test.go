package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDollars requires that the page of dollars follows from that of requests.
func TestDollars(t *testing.T) {
	want, err := dollarsOf("..")
	require.NoError(t, err)
	have, err := os.ReadFile(filepath.Join("..", dollarsPage))
	require.NoError(t, err)
	require.Equal(t, want, string(have), "make dollars writes it")
}

func TestStoreDollars(t *testing.T) {
	for _, c := range []struct {
		requests, kib string
		want          float64
	}{
		{"", "0.0", 0},
		{"1 Query", "0.6", priceRead},
		{"1 Query", "8.1", 3 * priceRead},
		{"1 PutItem, 1 Query", "1.7", 2*priceWrite + priceRead},
		{"2 GET, 3 GetItem", "1.0", 2*priceGet + 3*priceRead},
	} {
		have, err := storeDollars(c.requests, c.kib)
		require.NoError(t, err)
		require.InDelta(t, c.want, have, 1e-9, c.requests)
	}
	_, err := storeDollars("1 Teleport", "1.0")
	require.ErrorContains(t, err, "no price")
}
