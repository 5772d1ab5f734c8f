package repotest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// A Gate is a table whose commits wait until the test lets them through.
type Gate struct {
	table.Table
	Entered chan struct{} // receives when a commit is at the gate
	Through chan error    // nil lets a commit through; an error is returned without a write
	opened  chan struct{}
}

// NewGate returns a closed Gate before a table.
func NewGate(t table.Table) *Gate {
	return &Gate{
		Table: t, Entered: make(chan struct{}), Through: make(chan error),
		opened: make(chan struct{}),
	}
}

// Commit implements table.Table.
func (g *Gate) Commit(ctx context.Context, ops ...table.Op) error {
	if err := g.wait(ctx); err != nil {
		return err
	}
	return g.Table.Commit(ctx, ops...)
}

// wait waits at the gate, and returns the error that the test gives.
func (g *Gate) wait(ctx context.Context) error {
	select {
	case g.Entered <- struct{}{}:
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-g.Through:
		return err
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Open lets all commits through from now on.
func (g *Gate) Open() { close(g.opened) }

// Queued returns when n calls wait in the queue of a log or of a vault.
func Queued(t *testing.T, l interface{ Waiting() int }, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return l.Waiting() == n }, time.Minute, time.Millisecond)
}
