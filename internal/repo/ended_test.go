package repo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// TestAnEndedCall checks that a call whose deadline has passed reports that, and not a failure of
// the stores: for reads of the table, a segment and an image, and for writes.
func TestAnEndedCall(t *testing.T) {
	s := newShelf(t)
	s.write(t, 8)
	s.empty(t) // everything is in segments and an image
	s.write(t, 2)
	for _, why := range []error{context.DeadlineExceeded, context.Canceled} {
		ctx, cancel := ending(t, why)
		defer cancel()
		for range 20 { // which error comes first is random
			v := s.open(t)
			for what, err := range map[string]error{
				"a first read":   last(v.Read(ctx)),
				"a read":         last(s.vault.Read(ctx)),
				"a search":       last(v.Searchable(ctx)),
				"as of v3":       last(s.vault.At(ctx, 3)),
				"the history":    eachCommit(ctx, v),
				"a verification": last(v.Verify(ctx, nil)),
			} {
				require.ErrorIs(t, err, why, what)
				require.False(t, fault.Is(err, fault.Unavailable), "%s: %v", what, err)
			}
			_, err := v.Update(ctx, eventlog.Call{Tool: "test"}, func(context.Context, *repo.Tx) (any, error) { return nil, nil })
			if why == context.DeadlineExceeded {
				require.True(t, fault.Is(err, fault.IndexBusy), "%v", err)
			} else {
				require.ErrorIs(t, err, why)
			}
		}
	}
}

// TestUnreachable checks that UNAVAILABLE is returned if the stores really do not respond.
func TestUnreachable(t *testing.T) {
	s := newShelf(t)
	s.write(t, 2)
	broken := *s
	broken.Engine = repotest.Engine{
		Table:  tabletest.NewFlaky(s.Table, func(tabletest.Call) tabletest.Fault { return tabletest.Before }),
		Bucket: s.Bucket,
	}
	_, err := broken.open(t).Read(t.Context())
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	require.Positive(t, fault.Of(err).RetryAfter)
}

func last[T any](_ T, err error) error { return err }

// ending returns a context that has ended.
func ending(t *testing.T, why error) (context.Context, context.CancelFunc) {
	t.Helper()
	if errors.Is(why, context.DeadlineExceeded) {
		return context.WithDeadline(t.Context(), time.Unix(0, 0))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx, cancel
}

// eachCommit reads all commits of a vault.
func eachCommit(ctx context.Context, v *repo.Vault) error {
	for _, err := range v.Commits(ctx, 1) {
		if err != nil {
			return err
		}
	}
	return nil
}
