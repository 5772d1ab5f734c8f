package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rookery runs a command line, and returns its exit code and its output.
func rookery(t *testing.T, line ...string) (code int, out, errs string) {
	t.Helper()
	return rookeryIn(t, nil, line...)
}

// rookeryIn is rookery with variables in its environment.
func rookeryIn(
	t *testing.T, env map[string]string, line ...string,
) (code int, out, errs string) {
	t.Helper()
	var printed, complained bytes.Buffer
	app := newApp(strings.NewReader(""), &printed, &complained,
		func(name string) string { return env[name] })
	code = app.Run(t.Context(), line)
	return code, printed.String(), complained.String()
}

// TestDoctor checks the output of the command: for people a line for each check with its fix, for
// programs the envelope; and the exit code of a broken check.
func TestDoctor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	code, out, errs := rookery(t, "doctor", "--data", dir)
	require.Equal(t, 4, code, errs)
	require.Contains(t, out, "error  directory")
	require.Contains(t, out, "try: name the right one")
	require.Contains(t, errs, "NOT_FOUND")
	require.NoDirExists(t, dir, "to look makes nothing")

	code, _, errs = rookery(t, "vault", "create", "v", "--data", dir)
	require.Zero(t, code, errs)
	code, out, errs = rookery(t, "doctor", "--data", dir, "--full")
	require.Zero(t, code, "%s%s", out, errs)
	require.Empty(t, errs)
	require.Regexp(t, `(?m)^ok +chain +v +1 commit in an unbroken chain`, out)

	audit := filepath.Join(dir, "tenants", "local", "vaults", "v", "notes", ".raven", "audit.log")
	require.NoError(t, os.MkdirAll(filepath.Dir(audit), 0o700))
	require.NoError(t, os.WriteFile(audit, []byte("{}\n"), 0o600))
	code, out, _ = rookery(t, "doctor", "--data", dir, "--json")
	require.Equal(t, 2, code)
	var answer struct {
		OK   bool
		Data struct {
			Checks []struct{ Name, Vault, State, Message, Fix string }
		}
		Error    struct{ Code string }
		Warnings []any
	}
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	require.False(t, answer.OK)
	require.Equal(t, "FILE_ERROR", answer.Error.Code)
	require.NotNil(t, answer.Warnings)
	broken := 0
	for _, c := range answer.Data.Checks {
		if c.State == "error" {
			broken++
			require.Equal(t, "audit log", c.Name)
			require.Equal(t, "v", c.Vault)
			require.NotEmpty(t, c.Fix)
		}
	}
	require.Equal(t, 1, broken)
	code, out, _ = rookery(t, "audit", "verify", "--data", dir)
	require.Equal(t, 2, code, out)

	require.NoError(t, os.Remove(audit))
	code, out, errs = rookery(t, "doctor", "--data", dir, "--bare")
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, `{"checks":[{`), out)
}

// TestDoctorHere checks that the command examines only directories of this machine.
func TestDoctorHere(t *testing.T) {
	code, _, errs := rookery(t, "doctor", "--server", "http://127.0.0.1:1")
	require.Equal(t, 2, code, errs)
	require.Contains(t, errs, "INVALID_PARAMETER")
	code, _, errs = rookery(t, "doctor", "--cloud")
	require.Equal(t, 2, code, errs)
	require.Contains(t, errs, "--stack must be the name of a stack")
	code, _, errs = rookery(t, "doctor", "--stack", "rookery")
	require.Equal(t, 2, code, errs)
	require.Contains(t, errs, "--cloud")
}

// TestReindexNamesTheFolder checks that the fix for the files of a folder names that folder,
// because its vault is in no data directory.
func TestReindexNamesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.Mkdir(dir, 0o700))
	note := func(i int) string { return filepath.Join(dir, fmt.Sprintf("n%d.md", i)) }
	for i := range 60 {
		require.NoError(t, os.WriteFile(note(i), []byte("# N\n"), 0o600))
	}
	env := map[string]string{"XDG_STATE_HOME": t.TempDir()}
	code, _, errs := rookeryIn(t, env, "overview", "--vault", dir)
	require.Zero(t, code, errs)
	for i := range 50 {
		require.NoError(t, os.Remove(note(i)))
	}
	code, out, errs := rookeryIn(t, env, "overview", "--vault", dir, "--json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"rookery reindex --pending accept --vault `+dir+`"`)
	code, out, errs = rookeryIn(t, env, "doctor", "--vault", dir)
	require.Zero(t, code, errs)
	require.Contains(t, out, "try: rookery reindex --vault "+dir+" --pending accept, or rookery reindex --vault")
}
