package localcloud_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// endsWithin is how soon everything has ended after the script was told to end.
const endsWithin = 5 * time.Second

// TestScriptEnds holds that what `make local-cloud` starts ends when it is interrupted, or told to: the script, the
// gateway, and the processes of the functions.
func TestScriptEnds(t *testing.T) {
	b := awstest.Start(t)
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "told to end": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			programs := filepath.Join(t.TempDir(), "functions") // its path is in what each process was started with
			require.NoError(t, os.Symlink(cloudtest.Programs(t), programs))
			cmd := exec.Command("../../localstack/cloud")
			cmd.Env = append(os.Environ(), "PORT=0", "ISSUER_PORT=0", "ROOKERY_TEST_FUNCTIONS="+programs,
				"ROOKERY_TEST_AWS_ENDPOINT="+aws.ToString(b.AWS(t, nil).BaseEndpoint),
				"ROOKERY_TEST_DDB_ENDPOINT="+aws.ToString(b.DynamoDB(nil).BaseEndpoint))
			var errs bytes.Buffer
			cmd.Stderr = &errs
			cmd.WaitDelay = endsWithin
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test fails
			values, lines := map[string]string{}, bufio.NewScanner(out)
			for values["ROOKERY_ISSUER"] == "" && lines.Scan() {
				key, value, _ := strings.Cut(lines.Text(), "=")
				values[key] = value
			}
			require.NotEmpty(t, values["ROOKERY_TOKEN"], "%s", &errs)
			client := &httptool.Client{Base: values["ROOKERY_SERVER"], Token: values["ROOKERY_TOKEN"]}
			_, err = client.Invoke(t.Context(), "team_vault_list", []byte(`{}`))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(startedWith(t, programs)), 3, "the script, the gateway and a function")

			ended := make(chan error, 1)
			require.NoError(t, cmd.Process.Signal(signal))
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				require.NoError(t, err)
			case <-time.After(endsWithin):
				t.Fatal("it goes on")
			}
			require.Empty(t, startedWith(t, programs))
		})
	}
}

// startedWith are the ids of the processes whose command line or environment has a text.
func startedWith(t *testing.T, text string) (all []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, dir := range dirs {
		for _, file := range []string{"cmdline", "environ"} {
			data, err := os.ReadFile(filepath.Join(dir, file)) // one that has ended meanwhile has none
			if err == nil && bytes.Contains(data, []byte(text)) {
				all = append(all, filepath.Base(dir))
				break
			}
		}
	}
	return all
}
