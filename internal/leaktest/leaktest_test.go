package leaktest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/leaktest"
)

// TestSearch holds what counts as a leak, and where it is said to stand.
func TestSearch(t *testing.T) {
	secret := strings.Repeat("a1", 26)
	for text, want := range map[string][]leaktest.Leak{
		"nothing\nhere\n":                      nil,
		"x\n\"a Zebrafinch\"":                  {{Line: 2, What: "Zebrafinch"}},
		leaktest.Field + "\n" + leaktest.Query: {{Line: 1, What: leaktest.Field}, {Line: 2, What: leaktest.Query}},
		"token:local_abc and rk_local_abc":     nil,
		"t=rk_local_abc." + secret:             {{Line: 1, What: "rk_local_abc." + secret}},
		"eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.": {
			{Line: 1, What: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."}},
	} {
		found, err := leaktest.Search(strings.NewReader(text))
		require.NoError(t, err)
		require.Equal(t, want, found, text)
	}
}

// TestKept holds that what is logged and refused is kept where the run says, and nowhere else.
func TestKept(t *testing.T) {
	t.Setenv(leaktest.Directory, "")
	leaktest.Logger(t, nil).Info("nowhere")
	leaktest.StoreRefusal(t, []byte("nowhere"))
	dir := t.TempDir()
	t.Setenv(leaktest.Directory, dir)
	var beside strings.Builder
	leaktest.Logger(t, &beside).Debug("a line")
	leaktest.StoreRefusal(t, []byte("{}\n"))
	leaktest.StoreRefusal(t, []byte("{}"))
	require.Contains(t, beside.String(), "a line")
	require.Equal(t, beside.String(), kept(t, dir, "log"))
	require.Equal(t, "{}\n{}\n", kept(t, dir, "refusals"))
}

func kept(t *testing.T, dir, kind string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*."+kind))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	return string(data)
}

// TestNothingLeaked searches what a whole run has kept, when it is over. `make test` runs it last.
func TestNothingLeaked(t *testing.T) {
	dir := os.Getenv("ROOKERY_LEAKS_IN")
	if dir == "" {
		t.Skip("no run is over whose logs are kept: make test searches those of its own")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	var leaks []string
	kinds, bytes := map[string]int{}, int64(0)
	for _, path := range files {
		f, err := os.Open(path)
		require.NoError(t, err)
		found, err := leaktest.Search(f)
		require.NoError(t, err)
		info, err := f.Stat()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		for _, leak := range found {
			leaks = append(leaks, fmt.Sprintf("%s, %s", path, leak))
		}
		kinds[filepath.Ext(path)]++
		bytes += info.Size()
	}
	require.Empty(t, leaks, "what must not come out stands in the files of the run")
	require.NotZero(t, kinds[".log"], "the run has kept its logs")
	require.NotZero(t, kinds[".refusals"], "the run has kept what was refused")
	t.Logf("%d bytes of %v searched", bytes, kinds)
}
