package cloudtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programsVariable names a directory with the functions, built for this machine. Without it they are built.
const programsVariable = "ROOKERY_TEST_FUNCTIONS"

// built is the directory that was built; it is empty until then.
var built struct {
	sync.Mutex
	dir string
}

// Main runs the tests of a package that deploys functions, and returns their status. It removes what was built.
func Main(m *testing.M) int {
	status := m.Run()
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // the system clears what is left
	}
	return status
}

// Programs returns a directory with the functions, NAME/bootstrap, which it builds when it is first called.
func Programs(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(programsVariable); dir != "" {
		return dir
	}
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		return built.dir
	}
	dir, err := os.MkdirTemp("", "rookery-functions-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		tb.Fatal("build the functions: ", err)
	}
	built.dir = dir
	return dir
}

// build builds all functions as they are deployed, for this machine.
func build(dir string) error {
	programs := filepath.Join(dir, "programs")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w",
		"-tags", "lambda.norpc,nethttpomithttp2",
		"-o", programs+string(filepath.Separator), "github.com/rookeryhq/rookery/functions/...")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	entries, err := os.ReadDir(programs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Mkdir(filepath.Join(dir, e.Name()), 0o700); err != nil {
			return err
		}
		err := os.Rename(filepath.Join(programs, e.Name()), filepath.Join(dir, e.Name(), "bootstrap"))
		if err != nil {
			return err
		}
	}
	return os.Remove(programs)
}
