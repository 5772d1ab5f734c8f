package repotest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// control holds that concurrent changes of the control item all land, and that cursors only grow,
// although commits come late.
func control(t *testing.T, e Engine) {
	r, mu := seeded(t), sync.Mutex{}
	p := newPlace(e, "control", func(c tabletest.Call) tabletest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Method != tabletest.Commit || r.IntN(4) > 0 {
			return tabletest.None
		}
		return tabletest.Fault(r.IntN(int(tabletest.LateNext) + 1))
	})
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	require.ErrorIs(t, p.log(t, p.Engine).Create(t.Context()), eventlog.ErrLogExists)
	const consumers, steps = 6, 10
	logs := make([]*eventlog.Log[*State], consumers)
	for i := range logs {
		logs[i] = p.log(t, p.flakyEngine())
	}
	together(consumers, func(i int) {
		consumer := fmt.Sprintf("consumer %d", i)
		for to := uint64(1); to <= steps; to++ {
			advance(t, logs[i], consumer, to)
			back := eventlog.Cursor{Seq: to - 1}
			if err := logs[i].Advance(t.Context(), consumer, back); err != nil {
				t.Errorf("what is no progress is no write: %v", err)
			}
		}
	})
	p.flaky.Deliver(t.Context())
	c, err := p.log(t, p.Engine).Control(t.Context())
	require.NoError(t, err)
	require.Len(t, c.Cursors, consumers)
	for name, cursor := range c.Cursors {
		require.EqualValues(t, steps, cursor.Seq, name)
	}
	require.EqualValues(t, consumers*steps+1, c.Rev, "each progress is one write")
}

// advance moves a cursor until that is acknowledged, and sees it there at once.
func advance(t *testing.T, l *eventlog.Log[*State], consumer string, to uint64) {
	for {
		err := l.Advance(t.Context(), consumer, eventlog.Cursor{Seq: to, Size: int64(to)})
		if err == nil {
			break
		}
		if !fault.Is(err, fault.Unavailable) {
			t.Errorf("advance: %v", err)
			return
		}
	}
	c, err := l.Control(t.Context())
	if err != nil || c.Cursors[consumer].Seq != to || c.Cursors[consumer].Size != int64(to) {
		t.Errorf("the cursor is %v, %v, not %d", c.Cursors[consumer], err, to)
	}
}
