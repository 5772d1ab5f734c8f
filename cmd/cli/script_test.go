package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestMain makes the program a command of the scripts, which runs in its own process.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rookery": main})
}

// TestScripts runs the scripts in testdata/script. In them `rookery` is the program, `exits N
// LINE…` runs it and requires its exit code, `serves DIR` waits until a server has the directory
// open and sets URL, ADDR and PID, and `control DIR VAULT KEY JSON` sets a key of the control item
// of a vault.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for name, dir := range map[string]string{
				"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_DATA_HOME": "share",
			} {
				env.Setenv(name, filepath.Join(env.WorkDir, dir))
			}
			return writeAction(filepath.Join(env.WorkDir, "action.sh"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serves": serves, "control": setsControl,
		},
	})
}

// writeAction writes the script of the last step of action.yml.
func writeAction(path string) error {
	data, err := os.ReadFile("../../action.yml")
	if err != nil {
		return err
	}
	var action struct {
		Runs struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(data, &action); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(action.Runs.Steps[1].Run), 0o600)
}

// exits runs the program, and requires its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("rookery", args[1:]...)
	if err == nil {
		ts.Fatalf("it succeeded")
	}
	if want := "exit status " + args[0]; err.Error() != want {
		ts.Fatalf("%v, not %s", err, want)
	}
}

// serves waits until a server has announced that it has a directory.
func serves(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var at localapp.Address
		data, err := os.ReadFile(ts.MkAbs(filepath.Join(args[0], "serve.json")))
		if err != nil || json.Unmarshal(data, &at) != nil {
			continue
		}
		u, err := url.Parse(at.URL)
		ts.Check(err)
		ts.Setenv("URL", at.URL)
		ts.Setenv("ADDR", u.Host)
		ts.Setenv("PID", fmt.Sprint(at.PID))
		return
	}
	ts.Fatalf("no server has %s", args[0])
}

// setsControl sets a key of the control item of a vault. No process may have its data directory
// open.
func setsControl(ts *testscript.TestScript, _ bool, args []string) {
	db, err := bolttable.Open(ts.MkAbs(filepath.Join(args[0], "rookery.db")), bolttable.Options{})
	ts.Check(err)
	defer db.Close()
	item, err := db.Get(context.Background(), table.Key{Part: "local/" + args[1] + "/1", Sort: "log/~"})
	ts.Check(err)
	var all map[string]json.RawMessage
	ts.Check(json.Unmarshal(item.Data, &all))
	all[args[2]] = json.RawMessage(args[3])
	item.Data, err = json.Marshal(all)
	ts.Check(err)
	ts.Check(db.Commit(context.Background(), table.Set(item)))
}
