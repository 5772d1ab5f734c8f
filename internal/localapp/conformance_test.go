package localapp_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// conformanceSuite returns the directory of the conformance suite of MCP; `make conformance`
// installs it. The test is skipped if it is missing; in CI only if npm is missing too.
func conformanceSuite(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(cmp.Or(os.Getenv("ROOKERY_CONFORMANCE"), "../../bin/conformance"))
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, "installed.json")); err != nil {
		_, npm := exec.LookPath("npm")
		require.False(t, os.Getenv("CI") != "" && npm == nil, "the suite is not there: make conformance")
		t.Skip("the conformance of MCP is not tested: make conformance installs the suite")
	}
	return dir
}

// TestConformance checks that the endpoint passes the scenarios of the conformance suite of MCP
// that apply to a product, with all their checks. The others call tools that only a test server
// has.
func TestConformance(t *testing.T) {
	suite := filepath.Join(conformanceSuite(t), "node_modules")
	app, dir := openVault(t)
	require.NoError(t, app.Close())
	c := startChild(t, dir)
	defer c.stop(t)
	for scenario, checks := range map[string]int{
		"tools-list": 4, "resources-list": 2, "prompts-list": 2, "caching": 8, "dns-rebinding-protection": 2,
		"server-sse-multiple-streams": 1, "http-header-validation": 14, "sep-2164-resource-not-found": 4,
		"http-custom-header-server-validation": 10,
	} {
		t.Run(scenario, func(t *testing.T) {
			out := t.TempDir()
			run := exec.CommandContext(t.Context(), filepath.Join(suite, "node", "bin", "node"),
				filepath.Join(suite, "@modelcontextprotocol", "conformance", "dist", "index.js"), "server",
				"--url", c.url+"/mcp", "--spec-version", "2026-07-28", "--scenario", scenario, "-o", out)
			said, err := run.CombinedOutput()
			require.NoError(t, err, string(said))
			files, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			data, err := os.ReadFile(files[0])
			require.NoError(t, err)
			var all []struct{ ID, Status, ErrorMessage string }
			require.NoError(t, json.Unmarshal(data, &all))
			passed := 0
			for _, check := range all {
				require.Contains(t, []string{"SUCCESS", "INFO"}, check.Status, "%s: %s", check.ID, check.ErrorMessage)
				if check.Status == "SUCCESS" {
					passed++
				}
			}
			require.Equal(t, checks, passed, "the scenario has other checks")
		})
	}
}
