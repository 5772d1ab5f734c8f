package tabletest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// racers is the number of goroutines of a race.
const racers = 8

// raceCases test concurrent callers.
func raceCases() []testCase {
	return []testCase{
		{"of racing creators one wins", raceCreate},
		{"of racing transactions one wins", raceTransaction},
		{"racing replaces lose no update", raceReplace},
		{"racing adds keep count and bound", raceAdd},
		{"racing commits do not spoil others", raceMixed},
	}
}

// race runs fn in several goroutines that begin together, and returns what each returned.
func race(fn func(i int) error) []error {
	answers := make([]error, racers)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			<-begin
			answers[i] = fn(i)
		})
	}
	close(begin)
	all.Wait()
	return answers
}

// winner requires that one answer is nil and the others conflict with what it put there.
func winner(t *testing.T, answers []error) int {
	t.Helper()
	won := -1
	for i, err := range answers {
		if err == nil {
			require.Equal(t, -1, won, "two winners")
			won = i
		}
	}
	require.NotEqual(t, -1, won, "no winner: %v", answers)
	for i, err := range answers {
		var c *table.Conflict
		if i != won {
			require.ErrorAs(t, err, &c)
			require.True(t, c.Found)
			require.Equal(t, strconv.Itoa(won), string(c.Item.Data))
		}
	}
	return won
}

func raceCreate(t *testing.T, s *suite) {
	for round := range 20 {
		k := at(strconv.Itoa(round))
		won := winner(t, race(func(i int) error {
			it := table.Item{Key: k, Data: []byte(strconv.Itoa(i))}
			return s.Commit(t.Context(), table.Create(it))
		}))
		require.Equal(t, strconv.Itoa(won), string(s.get(t, k).Data))
	}
}

func raceTransaction(t *testing.T, s *suite) {
	for round := range 20 {
		prize := strconv.Itoa(round)
		won := winner(t, race(func(i int) error {
			me := strconv.Itoa(i)
			return s.Commit(t.Context(),
				table.Set(item(prize+"-"+me, me)), table.Create(item(prize, me)))
		}))
		require.Equal(t, strconv.Itoa(won), string(s.get(t, at(prize)).Data))
		require.Equal(t, []string{prize + "-" + strconv.Itoa(won)},
			sorts(s.query(t, "part", prize+"-", prize+"-~")))
	}
}

func raceReplace(t *testing.T, s *suite) {
	const rounds = 15
	s.must(t, table.Create(item("n", "0")))
	for _, err := range race(func(int) error {
		for range rounds {
			if err := s.increment(t.Context(), at("n")); err != nil {
				return err
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
	require.Equal(t, strconv.Itoa(racers*rounds), string(s.get(t, at("n")).Data))
}

// increment replaces a number by the next one, and repeats that after a conflict with the item that
// the conflict contains.
func (s *suite) increment(ctx context.Context, k table.Key) error {
	it, err := s.Get(ctx, k)
	if err != nil {
		return err
	}
	for {
		n, err := strconv.Atoi(string(it.Data))
		if err != nil {
			return err
		}
		next := table.Item{Key: k, Data: []byte(strconv.Itoa(n + 1))}
		err = s.Commit(ctx, table.Replace(it, next))
		var c *table.Conflict
		if !errors.As(err, &c) {
			return err
		}
		if !c.Found {
			return errors.New("the item is gone")
		}
		it = c.Item
	}
}

func raceAdd(t *testing.T, s *suite) {
	const rounds, limit = 20, 100
	won := make([]int64, racers)
	for _, err := range race(func(i int) error {
		for range rounds {
			err := s.Commit(t.Context(), table.Add(table.Item{Key: at("n")}, 1, limit))
			var c *table.Conflict
			if err != nil && !errors.As(err, &c) {
				return err
			}
			if err == nil {
				won[i]++
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
	sum := int64(0)
	for _, n := range won {
		sum += n
	}
	require.Equal(t, int64(limit), sum)
	require.Equal(t, int64(limit), s.get(t, at("n")).Count)
}

// raceMixed lets every other racer be refused, while the rest writes items of its own.
func raceMixed(t *testing.T, s *suite) {
	s.must(t, table.Create(item("taken", "x")))
	answers := race(func(i int) error {
		for n := range 10 {
			mine := item(fmt.Sprintf("%d-%d", i, n), "x")
			ops := []table.Op{table.Create(mine)}
			if i%2 == 1 {
				ops = append(ops, table.Create(item("taken", "y")))
			}
			err := s.Commit(t.Context(), ops...)
			if refused := err != nil; refused != (i%2 == 1) {
				return fmt.Errorf("racer %d: %w", i, err)
			}
		}
		return nil
	})
	for _, err := range answers {
		require.NoError(t, err)
	}
	require.Len(t, s.query(t, "part", "", "9"), racers/2*10)
}
