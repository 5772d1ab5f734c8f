package localapp_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzer returns the program that fuzzes an OpenAPI document; `make fuzzer` installs it. If it is
// missing the test is skipped, except in CI.
func fuzzer(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv("ROOKERY_FUZZER"), "../../bin/schemathesis/bin/st"))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		require.Empty(t, os.Getenv("CI"), "CI must fuzz, and schemathesis is not there: make fuzzer")
		t.Skip("HTTP is not fuzzed: schemathesis is not there; make fuzzer installs it")
	}
	return path
}

// fuzzChecks are the conditions of every answer: it is no 5xx; its status, media type, headers and
// body are those in the document; requests that the document excludes are refused, and so are
// methods that it does not have.
const fuzzChecks = "not_a_server_error,status_code_conformance,content_type_conformance," +
	"response_headers_conformance,response_schema_conformance,negative_data_rejection," +
	"missing_required_header,unsupported_method"

// A fuzzRound is one run of the fuzzer.
type fuzzRound struct {
	name   string
	config string   // in its own language
	args   []string // its command line
}

// refusedAs are the statuses of requests that the document excludes: 431 if the address is too long
// for any request.
const refusedAs = "[checks.negative_data_rejection]\nexpected-statuses = [\"400\", \"401\", \"403\", \"404\", " +
	"\"405\", \"406\", \"409\", \"413\", \"415\", \"422\", \"428\", \"429\", \"431\"]\n\n"

// fuzzRounds returns the runs: first every edge of the document's constraints, also on vaults that
// do not exist; then random calls on the fixture. With ROOKERY_SOAK they take ten minutes.
func fuzzRounds() []fuzzRound {
	random := []string{"--phases", "fuzzing", "--max-examples", "4"}
	if soaked() {
		random = []string{"--phases", "fuzzing,stateful", "--max-examples", "300", "--max-time", "600"}
	}
	return []fuzzRound{
		{"edges", refusedAs, []string{"--phases", "examples,coverage"}},
		{"random", refusedAs + "[parameters]\nvault = \"main\"\n", random},
	}
}

// fuzzShares is the number of parts into which the operations are divided. A run fuzzes one of
// them, which follows from its seed; with ROOKERY_SOAK all.
const fuzzShares = 3

// fuzzSeed returns one of as many numbers as there are parts, so that CI repeats a few runs; with
// ROOKERY_SOAK a new number, or that of ROOKERY_SEED.
func fuzzSeed(t *testing.T) int {
	t.Helper()
	seed := 1 + rand.IntN(fuzzShares)
	if soaked() {
		seed = int(rand.Int32())
	}
	if given, err := strconv.Atoi(os.Getenv("ROOKERY_SEED")); err == nil {
		seed = given
	}
	t.Logf("ROOKERY_SEED=%d", seed)
	return seed
}

// fuzzed returns the ids of the operations that a run with this seed fuzzes.
func (b *fuzzedServer) fuzzed(t *testing.T, seed int) []string {
	t.Helper()
	resp, err := http.Get(b.base + "/openapi.json") //nolint:noctx // the server is this test's
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	var document struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&document))
	var all, share []string
	for _, methods := range document.Paths {
		for _, o := range methods {
			all = append(all, o.OperationID)
		}
	}
	require.Greater(t, len(all), len(allTools())/2)
	slices.Sort(all)
	for i, id := range all {
		if soaked() || i%fuzzShares == seed%fuzzShares {
			share = append(share, id)
		}
	}
	return share
}

// TestFuzzHTTP fuzzes a hosted server by its own OpenAPI document, as an admin: every operation of
// the run is called with arguments that the document permits and with others, and every answer
// conforms to the document. No request causes a 5xx, and the server continues.
func TestFuzzHTTP(t *testing.T) {
	program, seed := fuzzer(t), fuzzSeed(t)
	for _, round := range fuzzRounds() {
		t.Run(round.name, func(t *testing.T) {
			b := startFuzzedServer(t)
			round.run(t, b, program, seed)
			b.requireUnharmed(t)
		})
	}
}

// run runs the fuzzer against a server.
func (r fuzzRound) run(t *testing.T, b *fuzzedServer, program string, seed int) {
	t.Helper()
	dir, operations := t.TempDir(), b.fuzzed(t, seed)
	config, report := filepath.Join(dir, "fuzz.toml"), filepath.Join(dir, "report.json")
	require.NoError(t, os.WriteFile(config, []byte(r.config), 0o600))
	args := append([]string{
		"--config-file", config, "run", b.base + "/openapi.json", "--seed", strconv.Itoa(seed),
		"--header", "Authorization: Bearer " + b.token, "--checks", fuzzChecks,
		"--request-timeout", "30", "--generation-database", "none", "--suppress-health-check", "all",
		"--continue-on-failure", "--no-color", "--report", "json", "--report-json-path", report,
	}, r.args...)
	for _, id := range operations {
		args = append(args, "--include-operation-id", id)
	}
	c := exec.CommandContext(t.Context(), program, args...)
	// Neither a proxy nor the settings of the user have an effect.
	c.Dir, c.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	told, err := c.CombinedOutput()
	require.NoError(t, err, "%s", told)
	requireFuzzed(t, report, len(operations))
}

// requireFuzzed requires that a run is complete, and called so many operations.
func requireFuzzed(t *testing.T, path string, operations int) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var report struct {
		Complete   bool
		Failures   []any
		Errors     []any
		Operations struct{ Tested, Errored int }
		Cases      struct{ Generated int } `json:"test_cases"`
	}
	require.NoError(t, json.Unmarshal(data, &report))
	require.True(t, report.Complete)
	require.Empty(t, report.Failures)
	require.Empty(t, report.Errors)
	require.Equal(t, operations, report.Operations.Tested)
	require.Zero(t, report.Operations.Errored)
	require.Greater(t, report.Cases.Generated, 3*operations)
	t.Logf("%d requests to %d operations", report.Cases.Generated, operations)
}
