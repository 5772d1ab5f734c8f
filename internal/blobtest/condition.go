package blobtest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
)

func testIfAbsent(k kit) {
	tag := k.put("f/a", "one", blob.IfAbsent)
	for _, data := range []string{"two", "one"} {
		_, err := k.b.Put(k.Context(), "f/a", []byte(data), blob.IfAbsent)
		require.ErrorIs(k, err, blob.ErrCondition)
	}
	data, now := k.get("f/a")
	require.Equal(k, "one", data)
	require.Equal(k, tag, now)
	require.NoError(k, k.b.Delete(k.Context(), "f/a"))
	k.put("f/a", "three", blob.IfAbsent)
	require.Equal(k, "three", k.text("f/a"))
}

func testIfTag(k kit) {
	refused := func(key string, tag blob.Tag, why string) {
		k.Helper()
		_, err := k.b.Put(k.Context(), key, []byte("no"), blob.IfTag(tag))
		require.ErrorIs(k, err, blob.ErrCondition, why)
		require.NotErrorIs(k, err, blob.ErrNotExist, why)
	}
	one := k.put("f/a", "one", blob.Always)
	two := k.put("f/a", "two", blob.IfTag(one))
	refused("f/a", one, "a tag that was")
	refused("f/a", "", "the empty tag")
	refused("none", one, "nothing is there")
	refused("no/folder/either", one, "nothing is there")
	data, tag := k.get("f/a")
	require.Equal(k, "two", data)
	require.Equal(k, two, tag)
	require.Equal(k, []string{"f/a"}, k.list(""), "a refused Put leaves nothing")

	require.NoError(k, k.b.Delete(k.Context(), "f/a"))
	refused("f/a", two, "it was deleted")
	k.gone("f/a")
}

// racers is the number of goroutines that compete.
const racers = 16

// race puts different data from many goroutines at once, and requires that exactly one succeeds.
func race(k kit, key string, c blob.Cond) {
	errs := make([]error, racers)
	atOnce(k.T, racers, func(i int) {
		_, errs[i] = k.b.Put(k.Context(), key, []byte("from "+strconv.Itoa(i)), c)
	})
	winners := []string{}
	for i, err := range errs {
		if err == nil {
			winners = append(winners, "from "+strconv.Itoa(i))
			continue
		}
		require.ErrorIs(k, err, blob.ErrCondition)
	}
	require.Len(k, winners, 1, "exactly one wins")
	require.Equal(k, winners[0], k.text(key))
}

func testRacingCreators(k kit) {
	for round := range 5 {
		race(k, fmt.Sprintf("round/%d/new", round), blob.IfAbsent)
	}
}

func testRacingWriters(k kit) {
	for round := range 5 {
		key := fmt.Sprintf("round/%d/old", round)
		race(k, key, blob.IfTag(k.put(key, "start", blob.Always)))
	}
}

// testCounting increments one object from many goroutines: no increment may be lost or doubled.
func testCounting(k kit) {
	done, unknown, errs := count(k)
	require.NoError(k, errs)
	require.Zero(k, unknown)
	require.Equal(k, strconv.Itoa(done), k.text("count"))
}

// testCountingUnderFaults is testCounting for a bucket where the outcome of an increment may be unknown.
func testCountingUnderFaults(k kit) {
	done, unknown, _ := count(k)
	n, err := strconv.Atoi(k.text("count"))
	require.NoError(k, err)
	require.GreaterOrEqual(k, n, done, "no increment is lost")
	require.LessOrEqual(k, n, done+unknown, "none is doubled")
	require.Greater(k, done, unknown, "that it is unknown is rare")
}

// count increments an object from eight goroutines, five times each, and returns how many increments were
// acknowledged, and how many failed with an unknown outcome.
func count(k kit) (done, unknown int, errs error) {
	const each = 5
	k.put("count", "0", blob.Always)
	outcomes := make([][]error, 8)
	atOnce(k.T, len(outcomes), func(i int) {
		for len(outcomes[i]) < each {
			if err := increment(k, "count"); !errors.Is(err, blob.ErrCondition) {
				outcomes[i] = append(outcomes[i], err)
			}
		}
	})
	for _, err := range slices.Concat(outcomes...) {
		if errs = errors.Join(errs, err); err != nil {
			unknown++
		} else {
			done++
		}
	}
	return done, unknown, errs
}

func increment(k kit, key string) error {
	data, tag, err := k.b.Get(k.Context(), key, 0, -1)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(data))
	if err != nil {
		return err
	}
	_, err = k.b.Put(k.Context(), key, []byte(strconv.Itoa(n+1)), blob.IfTag(tag))
	return err
}

// testWhole reads during writes. Each read must return the complete data of one Put, with its tag.
func testWhole(k kit) {
	texts, tags := make([]string, 4), map[string]blob.Tag{}
	for i := range texts {
		texts[i] = strings.Repeat(strconv.Itoa(i), 50_000+i)
		tags[texts[i]] = k.put("whole/"+strconv.Itoa(i), texts[i], blob.Always)
	}
	k.put("whole/shared", texts[0], blob.Always)
	errs := make([]error, 2*len(texts))
	atOnce(k.T, len(errs), func(i int) {
		for range 10 {
			if i < len(texts) {
				_, err := k.b.Put(k.Context(), "whole/shared", []byte(texts[i]), blob.Always)
				errs[i] = errors.Join(errs[i], err)
				continue
			}
			data, tag, err := k.b.Get(k.Context(), "whole/shared", 0, -1)
			if err == nil && tags[string(data)] != tag {
				err = fmt.Errorf("%d bytes under tag %s are no Put", len(data), tag)
			}
			errs[i] = errors.Join(errs[i], err)
		}
	})
	require.NoError(k, errors.Join(errs...))
}

// atOnce runs do(0) … do(n-1) concurrently and waits for all.
func atOnce(t *testing.T, n int, do func(i int)) {
	t.Helper()
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	done.Wait()
}
