package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// A patched engine has one changed item or object.
type patched struct {
	table.Table
	blob.Bucket
	key  string
	data []byte
}

func (p *patched) engine() repotest.Engine {
	return repotest.Engine{Table: patchedTable{p}, Bucket: patchedBucket{p}}
}

type patchedTable struct{ *patched }

func (p patchedTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	it, err := p.Table.Get(ctx, k)
	if k.Sort == p.key {
		it.Data = slices.Clone(p.data)
	}
	return it, err
}

func (p patchedTable) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		for it, err := range p.Table.Query(ctx, part, from, to) {
			if it.Sort == p.key {
				it.Data = slices.Clone(p.data)
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

type patchedBucket struct{ *patched }

func (p patchedBucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	return p.Bucket.Put(ctx, key, data, c)
}

func (p patchedBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	data, tag, err := p.Bucket.Get(ctx, key, off, n)
	if key == p.key {
		data = slices.Clone(p.data)
	}
	return data, tag, err
}

func (p patchedBucket) Delete(ctx context.Context, key string) error {
	return p.Bucket.Delete(ctx, key)
}

func (p patchedBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return p.Bucket.List(ctx, prefix)
}

// stored returns an engine with a log of various runs, and its items and objects.
func stored(t *testing.T) (e repotest.Engine, items, objects map[string][]byte) {
	t.Helper()
	q := newLine(t)
	a, b := q.add(t.Context(), "a", put("a", "one")), q.add(t.Context(), "b", put("b", "two"))
	q.gate.Through <- nil
	q.gate.Open()
	<-a.done
	<-b.done
	_, err := q.log.Update(t.Context(), eventlog.Call{
		Who:  eventlog.Who{Principal: "ann", Agent: "helper", Request: "r-1"},
		Tool: "keyed", Key: "key", Request: []byte("request"),
	}, put("c", "three"))
	require.NoError(t, err)
	store(t, q.log, "large", noise(24<<10))
	store(t, q.log, "last", "last")
	items, objects = map[string][]byte{}, map[string][]byte{}
	for it, err := range q.e.Table.Query(t.Context(), repotest.Part, "log/0", "log/9") {
		require.NoError(t, err)
		items[it.Sort] = it.Data
	}
	for o, err := range q.e.Bucket.List(t.Context(), "") {
		require.NoError(t, err)
		objects[o.Key], _, err = q.e.Bucket.Get(t.Context(), o.Key, 0, -1)
		require.NoError(t, err)
	}
	require.Equal(t, 5, len(items))
	require.Equal(t, 1, len(objects))
	return q.e, items, objects
}

// story returns the complete content of a log.
func story(t *testing.T, l *eventlog.Log[*repotest.State]) string {
	t.Helper()
	var b strings.Builder
	for c, err := range l.Commits(t.Context(), 0) {
		require.NoError(t, err)
		key := c.Key
		c.Key = nil
		fmt.Fprintf(&b, "%+v %+v\n", *c, key)
	}
	return b.String()
}

// TestFlippedBytes checks that a changed byte of a run is detected wherever it is: in the header, a
// salt, a part or an object. The header of the last run is an exception, because its hash is only
// in the next header.
func TestFlippedBytes(t *testing.T) {
	e, items, objects := stored(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p := &patched{Table: e.Table, Bucket: e.Bucket}
	l := reopened(t, p.engine())
	want := story(t, l)
	flip := func(key string, data []byte, i, payload int, last bool) {
		p.key, p.data = key, slices.Clone(data)
		p.data[i] ^= 1 << r.IntN(8)
		_, err := l.Replay(t.Context(), true)
		switch {
		case err != nil:
			ok := fault.Is(err, fault.IndexError) || fault.Is(err, fault.IndexIncompatible)
			require.True(t, ok, "byte %d of %s: %v", i, key, err)
		case last && i < payload:
		default:
			require.GreaterOrEqual(t, i, payload, "byte %d of %s was not found", i, key)
			// zstd ignores a few bits. Then the content must be unchanged.
			require.True(t, want == story(t, l), "byte %d of %s", i, key)
		}
	}
	for key, data := range items {
		n, size := binary.Uvarint(data)
		for i := range data {
			flip(key, data, i, size+int(n), key == "log/000000000006")
		}
	}
	for key, data := range objects {
		for range 300 {
			flip(key, data, r.IntN(len(data)), 0, false)
		}
	}
	p.key = ""
	_, err := l.Replay(t.Context(), true)
	require.NoError(t, err)
}

// TestLostPayload checks that a run whose payload object is missing is reported as damage, not as a
// temporary failure.
func TestLostPayload(t *testing.T) {
	e, _, objects := stored(t)
	for key := range objects {
		require.NoError(t, e.Bucket.Delete(t.Context(), key))
	}
	_, err := reopened(t, e).Read(t.Context())
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}

// TestLostRun checks that a missing run in the middle of a log is reported as damage.
func TestLostRun(t *testing.T) {
	e, _, _ := stored(t)
	k := table.Key{Part: repotest.Part, Sort: "log/000000000004"}
	require.NoError(t, e.Table.Commit(t.Context(), table.Remove(k)))
	l := reopened(t, e)
	_, err := l.Read(t.Context())
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
	_, err = l.Update(t.Context(), eventlog.Call{Tool: "t"}, put("a", "a"))
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
	_, err = l.Replay(t.Context(), true)
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}

// A blinking table hides a run from the first Query that could return it, but returns the next one:
// a Query of several pages is not atomic.
type blinking struct {
	table.Table
	hides string
}

func (b *blinking) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		hides := b.hides
		b.hides = ""
		for it, err := range b.Table.Query(ctx, part, from, to) {
			if it.Sort != hides && !yield(it, err) {
				return
			}
		}
	}
}

// TestTailIsNotOneMoment checks that a reader that missed a run reads again.
func TestTailIsNotOneMoment(t *testing.T) {
	e, _, _ := stored(t)
	b := &blinking{e.Table, "log/000000000002"}
	s, err := reopened(t, repotest.Engine{Table: b, Bucket: e.Bucket}).Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 6, s.Seq)
}

// TestErased checks that the parts of a run can be removed with their salts while the chain of
// headers still verifies, and that the removal is detected.
func TestErased(t *testing.T) {
	e, items, _ := stored(t)
	erased, err := eventlog.Repack(items["log/000000000002"], func(parts [][]byte) [][]byte {
		require.Len(t, parts, 2)
		parts[0] = []byte("r[]")
		return parts
	})
	require.NoError(t, err)
	p := &patched{Table: e.Table, Bucket: e.Bucket, key: "log/000000000002", data: erased}
	l := reopened(t, p.engine())
	s, err := l.Read(t.Context())
	require.NoError(t, err, "the headers join")
	require.NotContains(t, s.State.Texts, "a")
	require.Contains(t, s.State.Texts, "b")
	require.EqualValues(t, 6, s.Seq)
	_, err = l.Replay(t.Context(), true)
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}

// TestSmuggledPart checks that a part that the header does not name is detected.
func TestSmuggledPart(t *testing.T) {
	e, items, _ := stored(t)
	more, err := eventlog.Repack(items["log/000000000002"], func(parts [][]byte) [][]byte {
		return append(parts, []byte("nothing that was written"))
	})
	require.NoError(t, err)
	p := &patched{Table: e.Table, Bucket: e.Bucket, key: "log/000000000002", data: more}
	_, err = reopened(t, p.engine()).Replay(t.Context(), true)
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}

// TestSwappedRuns checks that a run under the key of another one is damage.
func TestSwappedRuns(t *testing.T) {
	e, items, _ := stored(t)
	p := &patched{
		Table: e.Table, Bucket: e.Bucket,
		key: "log/000000000001", data: items["log/000000000006"],
	}
	_, err := reopened(t, p.engine()).Read(t.Context())
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}

// TestForgedHeader checks that every reader detects a header that the next one does not name.
func TestForgedHeader(t *testing.T) {
	e, items, _ := stored(t)
	p := &patched{Table: e.Table, Bucket: e.Bucket, key: "log/000000000004"}
	p.data = bytes.Replace(items[p.key], []byte(`"principal":"ann"`), []byte(`"principal":"bob"`), 1)
	require.NotEqual(t, items[p.key], p.data)
	_, err := reopened(t, p.engine()).Read(t.Context())
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
}

// TestNewerFormat checks that data of a later release is neither read nor overwritten.
func TestNewerFormat(t *testing.T) {
	e, items, _ := stored(t)
	control, err := e.Table.Get(t.Context(), table.Key{Part: repotest.Part, Sort: "log/~"})
	require.NoError(t, err)
	items["log/~"] = control.Data
	for _, key := range []string{"log/000000000001", "log/000000000006", "log/~"} {
		newer := bytes.Replace(items[key], []byte(`"format":1`), []byte(`"format":3`), 1)
		require.NotEqual(t, items[key], newer)
		p := &patched{Table: e.Table, Bucket: e.Bucket, key: key, data: newer}
		l := reopened(t, p.engine())
		_, err := l.Read(t.Context())
		require.True(t, fault.Is(err, fault.IndexIncompatible), "%s: %v", key, err)
		_, err = l.Update(t.Context(), eventlog.Call{Tool: "t"}, put("a", "a"))
		require.True(t, fault.Is(err, fault.IndexIncompatible), "%s: %v", key, err)
		if key == "log/~" {
			_, err = l.Control(t.Context())
		} else {
			_, err = l.Replay(t.Context(), true)
		}
		require.True(t, fault.Is(err, fault.IndexIncompatible), "%s: %v", key, err)
	}
	require.Len(t, runs(t, e), 5, "nothing was written")
}

// FuzzRun checks that no item makes a reader panic.
func FuzzRun(f *testing.F) {
	f.Add([]byte(`{"format":1,"first":1,"last":1,"commits":[{"parts":[]}],"size":0}`), []byte{})
	f.Add([]byte(`{"format":1,"first":1,"last":1,"commits":[],"size":0}`), []byte{})
	f.Add([]byte(`{"format":1,"first":1,"last":0,"commits":null,"size":1}`), []byte("x"))
	f.Add([]byte(`{"format":1,"first":1,"last":1,"commits":[{"parts":["AA=="]}],"size":9}`),
		[]byte("\x28\xb5\x2f\xfd\x04\x00\x09\x00\x00salt"))
	f.Fuzz(func(t *testing.T, header, payload []byte) {
		item := binary.AppendUvarint(nil, uint64(len(header)))
		item = append(append(item, header...), payload...)
		for _, data := range [][]byte{item, header, payload} {
			l := reopened(t, repotest.Engine{Table: oneRun(data), Bucket: noBucket{}})
			_, _ = l.Read(t.Context())
			_, _ = l.Replay(t.Context(), true)
			_, _ = l.Update(t.Context(), eventlog.Call{Tool: "t"}, put("a", "a"))
			for range l.Commits(t.Context(), 1) {
				break
			}
		}
	})
}

// A oneRun table returns this item as the first run for every request.
type oneRun []byte

func (o oneRun) item() table.Item {
	return table.Item{Key: table.Key{Part: repotest.Part, Sort: "log/000000000001"}, Data: o}
}

func (o oneRun) Get(context.Context, table.Key) (table.Item, error) { return o.item(), nil }

func (o oneRun) Query(_ context.Context, _, from, to string) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		it := o.item()
		if from <= it.Sort && it.Sort <= to && !yield(it, nil) {
			return
		}
		if it.Sort = "log/~"; to >= it.Sort {
			it.Data = []byte(`{"format":1,"rev":1}`)
			yield(it, nil)
		}
	}
}

func (o oneRun) Commit(_ context.Context, ops ...table.Op) error {
	if ops[0].Item.Sort == o.item().Sort {
		return &table.Conflict{Key: ops[0].Item.Key, Item: o.item(), Found: true}
	}
	return nil
}

type noBucket struct{ blob.Bucket }

func (noBucket) Put(context.Context, string, []byte, blob.Cond) (blob.Tag, error) {
	return "", blob.ErrKey
}

func (noBucket) Get(context.Context, string, int64, int64) ([]byte, blob.Tag, error) {
	return nil, "", blob.ErrNotExist
}
