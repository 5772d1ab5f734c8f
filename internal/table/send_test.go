package table_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

func TestSendBefore(t *testing.T) {
	_, ok := table.SentBefore(t.Context())
	require.False(t, ok)
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ctx := table.SendBefore(t.Context(), noon)
	for _, c := range []struct {
		ctx  context.Context
		want time.Time
	}{
		{ctx, noon},
		{table.SendBefore(ctx, noon.Add(time.Hour)), noon},
		{table.SendBefore(ctx, noon.Add(-time.Hour)), noon.Add(-time.Hour)},
	} {
		got, ok := table.SentBefore(c.ctx)
		require.True(t, ok)
		require.Equal(t, c.want, got)
	}
}
