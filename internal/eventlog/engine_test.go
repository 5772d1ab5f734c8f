package eventlog_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/repotest"
)

// engine returns a new embedded engine.
func engine(t *testing.T) repotest.Engine { return repotest.Embedded(t) }

// noise returns a text that cannot be compressed.
func noise(n int) string { return repotest.Noise(n) }
