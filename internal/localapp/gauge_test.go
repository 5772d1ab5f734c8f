package localapp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestGauges checks the metrics of stored data and of the machine, and that the log records the
// start and the stop of a server.
func TestGauges(t *testing.T) {
	files, pair := certificate(t)
	var logged lockedBuffer
	metrics := freeAddress(t)
	app, err := openApp(t.Context(), localapp.Config{
		Data: t.TempDir(), Log: leaktest.Logger(t, &logged),
		Server: config.Config{
			Listen: "127.0.0.1:0", MetricsListen: metrics, TLS: files,
			Limits: config.Limits{MutationsPerMinute: -1},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	l, err := app.Listen(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Serve(ctx, l, "1.2.3") }()

	must(t, local{app}, "team_vault_create", args{"name": "v"})
	for i := range 20 {
		must(t, local{app}, "raven_add", args{"text": fmt.Sprint("line ", i)})
	}
	answer, err := http.Get("http://" + metrics + "/metrics")
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	gauge := func(name string) float64 {
		found := regexp.MustCompile(`(?m)^rookery_` + name + ` (\S+)$`).FindSubmatch(text)
		require.Len(t, found, 2, name)
		n, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(t, err)
		return n
	}
	require.Greater(t, gauge("database_bytes"), float64(1<<12))
	require.Greater(t, gauge("disk_free_bytes"), float64(1<<20))
	require.GreaterOrEqual(t, gauge("unfolded_commits"), float64(20))
	require.Equal(t, float64(pair.NotAfter.Unix()), gauge("certificate_expiry_timestamp_seconds"))

	stop()
	require.NoError(t, <-ended)
	var told []string
	for line := range strings.Lines(logged.String()) {
		if at := strings.Index(line, "the server "); at >= 0 {
			told = append(told, strings.Split(line[at:], `"`)[0])
		}
	}
	require.Equal(t, []string{
		"the server has started", "the server is stopping: running calls are finished", "the server has stopped",
	}, told)
}
