package stream_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/stream"
)

func TestDoorbells(t *testing.T) {
	var all []stream.Record
	record := func(event, part, sort string) { all = append(all, stream.Record{Event: event, Part: part, Sort: sort}) }
	for seq := 12; seq > 3; seq-- { // out of order, and twice
		record("INSERT", "acme/main/1", fmt.Sprintf("log/%012d", seq))
		record("INSERT", "acme/main/1", fmt.Sprintf("log/%012d", seq))
	}
	record("INSERT", "acme/other/2", "log/000000000001")
	record("INSERT", "acme/~2/main/1", "log/000000000007")
	for _, r := range [][3]string{
		{"MODIFY", "acme/a/1", "log/000000000001"}, {"REMOVE", "acme/a/1", "log/000000000001"},
		{"INSERT", "acme/a/1", "log/~"}, {"INSERT", "acme/a/1", "log/1"}, {"INSERT", "acme/a/1", "log/000000000000"},
		{"INSERT", "acme/a/1", "log/00000000000x"}, {"INSERT", "acme/a/1", "image/1/000000000001"},
		{"INSERT", "acme", "log/000000000001"}, {"INSERT", "acme/~jobs", "log/000000000001"},
		{"INSERT", "acme/~2/~jobs/1", "log/000000000001"}, {"INSERT", "a/b/c/d", "log/000000000001"},
		{"INSERT", "", "log/000000000001"}, {"INSERT", "a//1", "log/000000000001"}, {"", "", ""},
	} {
		record(r[0], r[1], r[2])
	}
	want := []stream.Notification{{"acme/main/1", 4}, {"acme/other/2", 1}, {"acme/~2/main/1", 7}}
	require.Equal(t, want, stream.Notifications(all))
	for len(all) < 10_000 {
		all = append(all, all...)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	require.Equal(t, want, stream.Notifications(all))
	require.Empty(t, stream.Notifications(nil))
}
