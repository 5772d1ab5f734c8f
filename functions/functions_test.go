// Package functions tests the programs of AWS Lambda below it, as they are uploaded: each is a directory with a main
// of a few lines.
package functions

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	maxMain = 20 // lines of a main

	// built names a directory with the functions as make functions leaves them. Without it they are built.
	built = "ROOKERY_FUNCTIONS"
)

// maxZip is how many bytes the archive of a function may have, with all families. The aim is 10 MiB
// (docs/design/0036); mcp, which links all tools, has 10.98 (docs/design/0088).
const maxZip = 11<<20 + 256<<10

// names are the functions: the directories here.
func names(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, e.Name())
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestMains covers that a main only names its part of the product: all functions link the same, and one is as large
// as another.
func TestMains(t *testing.T) {
	for _, name := range names(t) {
		files, err := os.ReadDir(name)
		require.NoError(t, err)
		require.Len(t, files, 1, name)
		text, err := os.ReadFile(filepath.Join(name, "main.go"))
		require.NoError(t, err)
		require.LessOrEqual(t, bytes.Count(text, []byte("\n")), maxMain, name)
		require.Equal(t, 1, bytes.Count(text, []byte("import")), name)
		require.Contains(t, string(text), `import "github.com/rookeryhq/rookery/internal/awsapp"`, name)
	}
}

// builds are the programs that were built, by name and architecture, in a directory of this run.
var builds struct {
	sync.Mutex
	dir string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rookery-functions-")
	if err != nil {
		panic(err)
	}
	builds.dir = dir
	status := m.Run()
	_ = os.RemoveAll(dir) // the system clears what is left
	os.Exit(status)
}

// program is the path of a function, built for an architecture; empty is that of this machine.
func program(t testing.TB, name, arch string) string {
	t.Helper()
	if dir := os.Getenv(built); dir != "" {
		return filepath.Join(dir, cmp.Or(arch, runtime.GOARCH), name, "bootstrap")
	}
	builds.Lock()
	defer builds.Unlock()
	path := filepath.Join(builds.dir, arch, name, "bootstrap")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-tags", "lambda.norpc,nethttpomithttp2",
		"-o", path, "./"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if arch != "" {
		build.Env = append(build.Env, "GOOS=linux", "GOARCH="+arch)
	}
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// TestSizes covers that the archive of a function is not larger than it may be: of all functions that make functions
// has built for both processors, else of one for that of this machine, for they link the same. The instructions of amd64
// take more than those of arm64.
func TestSizes(t *testing.T) {
	all, archs := []string{"mcp"}, []string{""}
	if os.Getenv(built) != "" {
		all, archs = names(t), []string{"arm64", "amd64"}
	}
	for _, name := range all {
		for _, arch := range archs {
			data, err := os.ReadFile(program(t, name, arch))
			require.NoError(t, err)
			var packed bytes.Buffer
			archive := zip.NewWriter(&packed)
			archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
				return flate.NewWriter(w, flate.BestCompression)
			})
			w, err := archive.Create("bootstrap")
			require.NoError(t, err)
			_, err = w.Write(data)
			require.NoError(t, err)
			require.NoError(t, archive.Close())
			on := cmp.Or(arch, runtime.GOARCH)
			t.Logf("%s for %s: %.1f MiB, %.2f MiB in a ZIP archive", name, on, mebibytes(len(data)),
				mebibytes(packed.Len()))
			require.LessOrEqual(t, packed.Len(), maxZip, "%s for %s", name, on)
		}
	}
}

func mebibytes(n int) float64 { return float64(n) / (1 << 20) }

// environment is what a function needs to begin. No store is asked.
func environment(api string) []string {
	return []string{
		"AWS_LAMBDA_RUNTIME_API=" + api, "AWS_REGION=eu-north-1", "AWS_ACCESS_KEY_ID=x",
		"AWS_SECRET_ACCESS_KEY=x", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1769", "ROOKERY_TABLE=t", "ROOKERY_BUCKET=b",
		"ROOKERY_PUBLIC_URL=https://notes.example.test",
	}
}

// TestBegins covers that a function asks for its first event, and says with which program it begins how long that
// took, which depends on the machine.
func TestBegins(t *testing.T) {
	asked := make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(api.Close)
	path := program(t, "mcp", "")
	var took []time.Duration
	for range 15 {
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Env = environment(strings.TrimPrefix(api.URL, "http://"))
		begun := time.Now()
		require.NoError(t, cmd.Start())
		select {
		case <-asked:
		case <-t.Context().Done():
		}
		took = append(took, time.Since(begun))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}
	slices.Sort(took)
	t.Logf("from the execution to the first event: p50 %v, worst %v", took[len(took)/2], took[len(took)-1])
}

// TestUnsound covers a function that is told too little: it ends, and says which variable is wrong.
func TestUnsound(t *testing.T) {
	path := program(t, "mcp", "")
	for name, without := range map[string]string{
		"ROOKERY_TABLE": "ROOKERY_TABLE=", "ROOKERY_PUBLIC_URL": "ROOKERY_PUBLIC_URL=",
		"this program runs in AWS Lambda": "AWS_LAMBDA_RUNTIME_API=",
	} {
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Env = slices.DeleteFunc(environment("127.0.0.1:1"), func(v string) bool {
			return strings.HasPrefix(v, without)
		})
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		said, err := io.ReadAll(stderr)
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		require.Contains(t, string(said), fmt.Sprint(name))
	}
}
