package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMeasureMemories holds that every kind of call is answered, and that the page has the goals.
func TestMeasureMemories(t *testing.T) {
	s := &suite{cfg: config{ops: 2, limit: time.Minute}, dir: filepath.Join(t.TempDir(), "m"), result: result{Notes: 20}}
	got := remembering{Memories: 20}
	require.NoError(t, s.memories(context.Background(), &got))
	require.Empty(t, s.refused)
	require.Len(t, got.Calls, len(memoryKinds(20)))
	require.NotEmpty(t, got.Crowd.Waits)
	var b bytes.Buffer
	require.NoError(t, (&page{Memories: []remembering{got}}).render(&b))
	for _, want := range []string{"## 20 memories", "`memory_recall` by id, p50", "stores of 64 agents at once", "`memory_store` store one, p50"} {
		require.Contains(t, b.String(), want)
	}
}
