package localapp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localapp"
)

// startWithFiles starts a child that may open so many files.
func startWithFiles(t *testing.T, dir string, files int) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, files), self)
	cmd.Env = append(os.Environ(), dataVariable+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, in: in}
	t.Cleanup(func() { c.kill() })
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the child did not begin to serve")
	c.url = strings.TrimSpace(url)
	return c
}

// TestFilesAreLeftForTheStore checks that a process with few files serves as many connections as it
// may, refuses others with an answer, continues to read and write, and accepts connections again
// when others have ended.
func TestFilesAreLeftForTheStore(t *testing.T) {
	app, dir := openVault(t)
	require.NoError(t, app.Close())
	const files = 256
	c := startWithFiles(t, dir, files)
	known := client(c.url)
	must(t, known, "raven_new", args{"title": "before", "type": "page"})

	var open []net.Conn
	for n := range files {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(n%16))} // 16 addresses
		conn, err := (&net.Dialer{LocalAddr: from}).Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		require.NoError(t, err)
		open = append(open, conn)
	}
	for n := range 20 {
		must(t, known, "raven_new", args{"title": fmt.Sprintf("while %d", n), "type": "page"})
		must(t, known, "raven_search", args{"query": "while"})
	}
	served := 0
	for _, conn := range open {
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") // it may be closed already
		line, _ := bufio.NewReader(conn).ReadString('\n')                       // or reset
		if strings.HasPrefix(line, "HTTP/1.1 200") {
			served++
		}
	}
	require.Positive(t, served)
	require.LessOrEqual(t, served, localapp.ConnectionsOf(files))
	for _, conn := range open {
		require.NoError(t, conn.Close())
	}
	require.Eventually(t, func() bool {
		_, err := call(t.Context(), client(c.url), "team_whoami", nil)
		return err == nil
	}, time.Minute, time.Millisecond)
	c.stop(t)
}
