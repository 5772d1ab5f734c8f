package repo_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/repotest"
)

func TestConformance(t *testing.T) { repotest.Run(t, engine) }

// TestConformanceOfItems runs the cases of the suite about images, with small images in items of
// the table.
func TestConformanceOfItems(t *testing.T) {
	repotest.RunFolding(t, func(t *testing.T) repotest.Engine {
		e := engine(t)
		e.Items = true
		return e
	})
}

// engine returns a new embedded engine.
func engine(t *testing.T) repotest.Engine { return repotest.Embedded(t) }

// noise returns a text that cannot be compressed.
func noise(n int) string { return repotest.Noise(n) }
