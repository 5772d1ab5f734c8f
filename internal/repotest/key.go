package repotest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// idempotency holds what an idempotency key does (log.md §2.6).
func idempotency(t *testing.T, e Engine) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *place)
	}{
		{"replay", keyReplay},
		{"twins", keyTwins},
		{"what uses no key", keyUnused},
		{"a day", keyExpires},
		{"quota", keyQuota},
		{"a clock a day ahead", keySkew},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, newPlace(e, "key "+c.name, nil)) })
	}
}

// keyed is a call with a key that stores a text and answers it.
func keyed(principal, key, text string) (eventlog.Call, func(
	context.Context, *eventlog.Draft[*State]) (any, error),
) {
	c := eventlog.Call{
		Who: eventlog.Who{Principal: principal}, Tool: "store", Key: key, Request: []byte(text),
	}
	return c, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		return map[string]any{"text": text, "seq": d.Seq()}, d.Record("text", text, text)
	}
}

func store(t *testing.T, l *eventlog.Log[*State], principal, key, text string) (eventlog.Receipt, error) {
	t.Helper()
	c, fn := keyed(principal, key, text)
	return l.Update(t.Context(), c, fn)
}

// keyReplay holds that a replay gets the first answer, in every process and after a restart, that a
// key is bound to its request, and that principals do not share keys.
func keyReplay(t *testing.T, p *place) {
	l := p.newLog(t)
	first, err := store(t, l, "ann", "key", "<one> & only")
	require.NoError(t, err)
	require.Equal(t, eventlog.Receipt{Seq: 1, Changed: true}, first)
	_, err = store(t, l, "ann", "", "without")
	require.NoError(t, err)
	for _, process := range []*eventlog.Log[*State]{l, p.log(t, p.Engine), p.log(t, p.Engine)} {
		again, err := store(t, process, "ann", "key", "<one> & only")
		require.NoError(t, err)
		require.Equal(t, `{"seq":1,"text":"<one> & only"}`, string(again.Replayed))
		require.EqualValues(t, 1, again.Seq)
		require.False(t, again.Changed)
		_, err = store(t, process, "ann", "key", "two")
		require.True(t, fault.Is(err, fault.KeyReused), "%v", err)
	}
	other, err := store(t, l, "bob", "key", "two")
	require.NoError(t, err)
	require.Nil(t, other.Replayed)
	require.EqualValues(t, 3, other.Seq)
}

// keyTwins holds that calls with one key that run at once, in one process and in several, have one
// effect and one answer.
func keyTwins(t *testing.T, p *place) {
	logs := []*eventlog.Log[*State]{p.newLog(t), p.log(t, p.Engine), p.log(t, p.Engine)}
	const twins = 24
	receipts, failures := make([]eventlog.Receipt, twins), make([]error, twins)
	together(twins, func(i int) {
		text := "same"
		if i%4 == 3 {
			text = fmt.Sprintf("another %d", i)
		}
		receipts[i], failures[i] = store(t, logs[i%3], "ann", "key", text)
	})
	s, err := p.log(t, p.Engine).Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Seq)
	require.Len(t, s.State.Texts, 1)
	_, same := s.State.Texts["same"]
	changed := 0
	for i := range twins {
		_, won := s.State.Texts[fmt.Sprintf("another %d", i)]
		if won || same && i%4 != 3 {
			require.NoError(t, failures[i])
			require.EqualValues(t, 1, receipts[i].Seq)
			require.NotEqual(t, receipts[i].Changed, receipts[i].Replayed != nil)
		} else {
			require.True(t, fault.Is(failures[i], fault.KeyReused), "%v", failures[i])
		}
		if receipts[i].Changed {
			changed++
		}
	}
	require.Equal(t, 1, changed)
}

// keyUnused holds that a call that is refused or only tried uses no key, and that one that changes
// nothing keeps its key and moves the version like any commit.
func keyUnused(t *testing.T, p *place) {
	l := p.newLog(t)
	c, fn := keyed("ann", "key", "one")
	_, err := l.Update(t.Context(), c, func(context.Context, *eventlog.Draft[*State]) (any, error) {
		return nil, errRefused
	})
	require.ErrorIs(t, err, errRefused)
	_, err = l.Update(t.Context(), c, func(context.Context, *eventlog.Draft[*State]) (any, error) {
		panic("a bug")
	})
	require.ErrorContains(t, err, "panic")
	c.DryRun = true
	tried, err := l.Update(t.Context(), c, fn)
	require.NoError(t, err)
	require.Zero(t, tried)
	c.DryRun, c.Request = false, []byte("other")
	nothing := func(context.Context, *eventlog.Draft[*State]) (any, error) { return "nothing", nil }
	r, err := l.Update(t.Context(), c, nothing)
	require.NoError(t, err)
	require.Equal(t, eventlog.Receipt{Seq: 1}, r)
	require.EqualValues(t, 1, l.Known().State.Seq, "the state has the version of the commit")
	c.DryRun = true
	r, err = l.Update(t.Context(), c, fn)
	require.NoError(t, err)
	require.Equal(t, eventlog.Receipt{Seq: 1}, r, "what is only tried is no replay")
	c.DryRun = false
	r, err = p.log(t, p.Engine).Update(t.Context(), c, nothing)
	require.NoError(t, err)
	require.Equal(t, `"nothing"`, string(r.Replayed))
	s, err := p.log(t, p.Engine).Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Seq)
	require.EqualValues(t, 1, s.State.Seq)
}

// keyExpires holds that a key is bound for a day, and free afterwards.
func keyExpires(t *testing.T, p *place) {
	l := p.newLog(t)
	_, err := store(t, l, "ann", "key", "one")
	require.NoError(t, err)
	p.clock.Move(24*time.Hour - time.Millisecond)
	for _, process := range []*eventlog.Log[*State]{l, p.log(t, p.Engine)} {
		r, err := store(t, process, "ann", "key", "one")
		require.NoError(t, err)
		require.NotNil(t, r.Replayed)
	}
	p.clock.Move(time.Millisecond)
	r, err := store(t, l, "ann", "key", "two")
	require.NoError(t, err)
	require.Equal(t, eventlog.Receipt{Seq: 2, Changed: true}, r)
	r, err = store(t, p.log(t, p.Engine), "ann", "key", "two")
	require.NoError(t, err)
	require.NotNil(t, r.Replayed)
}

// keyQuota holds that so many keys may be used in a day and no more, that calls without one go on,
// and that a day later there is room again.
func keyQuota(t *testing.T, p *place) {
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	o := LogOptions(p.Engine, p.clock.Now)
	o.MaxKeys = 3
	l, err := eventlog.New(o, &State{})
	require.NoError(t, err)
	for i := range 3 {
		_, err = store(t, l, "ann", fmt.Sprintf("key %d", i), fmt.Sprintf("text %d", i))
		require.NoError(t, err)
		p.clock.Move(time.Hour)
	}
	_, err = store(t, l, "ann", "key 3", "one too many")
	require.True(t, fault.Is(err, fault.QuotaExceeded), "%v", err)
	r, err := store(t, l, "ann", "key 1", "text 1")
	require.NoError(t, err)
	require.NotNil(t, r.Replayed, "a key that is known needs no room")
	_, err = store(t, l, "ann", "", "without")
	require.NoError(t, err)
	p.clock.Move(22 * time.Hour)
	_, err = store(t, l, "ann", "key 3", "a day after the first")
	require.NoError(t, err)
	_, err = store(t, l, "ann", "key 4", "an hour too early")
	require.True(t, fault.Is(err, fault.QuotaExceeded), "%v", err)
}

// keySkew holds that a process whose clock is a day ahead does not make the others forget a key.
func keySkew(t *testing.T, p *place) {
	l, ahead := p.newLog(t), *p
	_, err := store(t, l, "ann", "key", "one")
	require.NoError(t, err)
	ahead.clock = NewClock()
	ahead.clock.Move(30 * time.Hour)
	_, err = store(t, ahead.log(t, p.Engine), "bob", "other", "two")
	require.NoError(t, err)
	for _, process := range []*eventlog.Log[*State]{l, p.log(t, p.Engine)} {
		r, err := store(t, process, "ann", "key", "one")
		require.NoError(t, err)
		require.NotNil(t, r.Replayed)
		r, err = store(t, process, "bob", "other", "two")
		require.NoError(t, err)
		require.NotNil(t, r.Replayed)
	}
}
