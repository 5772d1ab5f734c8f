package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionFlag checks that the flag and the command print the same.
func TestVersionFlag(t *testing.T) {
	code, command, errs := rookeryIn(t, nil, "version")
	require.Zero(t, code, errs)
	require.Regexp(t, `^rookery \S+ \S+/\S+ go\S+\n$`, command)
	code, flag, errs := rookeryIn(t, nil, "--version")
	require.Zero(t, code, errs)
	require.Equal(t, command, flag)
	code, _, errs = rookeryIn(t, nil, "--version=false", "nonsense")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "nonsense")
}
