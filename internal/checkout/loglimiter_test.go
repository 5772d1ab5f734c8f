package checkout_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
)

// A counter counts the log lines about notes that could not be written.
type counter struct {
	slog.Handler
	errors *atomic.Int64
}

func (c counter) Enabled(context.Context, slog.Level) bool { return true }

func (c counter) Handle(_ context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "a note could not be written") {
		c.errors.Add(1)
	}
	return nil
}

// TestTroubleIsLoggedOnce checks that one cause that prevents many notes from being written, and
// occurs again at each attempt, does not fill the log.
func TestTroubleIsLoggedOnce(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	var told atomic.Int64
	folder, err := checkout.Open(t.Context(), v, checkout.Options{
		Files: p.files, Log: slog.New(counter{slog.DiscardHandler, &told}), Now: p.now,
	})
	require.NoError(t, err)
	defer folder.Close()
	p.files.failing(errFull)
	for n := range 5 {
		write(t, v, fmt.Sprintf("%d.md", n), "one\n")
	}
	require.EqualValues(t, 1, told.Load())
	p.files.failing(nil)
	write(t, v, "last.md", "one\n")
	p.inStep(t, v)
}
