package table_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// The limits themselves are tested by tabletest, which every implementation passes. The tests here
// cover only CheckOps and its related functions.

func item(sort, data string) table.Item {
	return table.Item{Key: table.Key{Part: "part", Sort: sort}, Data: []byte(data)}
}

func TestCheckOpsNamesTheOperationAndNoKey(t *testing.T) {
	secret := table.Key{Part: "tenant", Sort: strings.Repeat("secret", 1000)}
	err := table.CheckOps([]table.Op{
		table.Set(item("a", "")), table.Set(item("b", "")), table.Remove(secret),
	})
	require.ErrorIs(t, err, table.ErrLimit)
	require.ErrorContains(t, err, "operation 3: ")
	require.NotContains(t, err.Error(), "secret")
	require.NotContains(t, err.Error(), "tenant")
}

func TestCheckOps(t *testing.T) {
	big := item("a", strings.Repeat("x", 390<<10))
	bigger := item("a", strings.Repeat("x", 400<<10))
	for name, c := range map[string]struct {
		ops  []table.Op
		want string
	}{
		"good":       {[]table.Op{table.Set(item("a", "")), table.Check(item("b", "x"))}, ""},
		"none":       {nil, "a commit of 0 operations; 1 to 100 are allowed"},
		"twice":      {[]table.Op{table.Set(item("a", "")), table.Set(item("a", ""))}, "same key"},
		"two keys":   {[]table.Op{table.Replace(item("a", ""), item("b", ""))}, "two keys"},
		"big old":    {[]table.Op{table.Check(bigger)}, "bytes"},
		"no sort":    {[]table.Op{table.Set(item("", ""))}, "sort key is empty"},
		"no kind":    {[]table.Op{{Item: item("a", "")}}, "no kind"},
		"big enough": {[]table.Op{table.Replace(big, big)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := table.CheckOps(c.ops)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, table.ErrLimit)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestCheckOpsCountsConditions checks that items in conditions count toward the 4 MB.
func TestCheckOpsCountsConditions(t *testing.T) {
	var ops []table.Op
	for _, sort := range []string{"a", "b", "c", "d", "e", "f"} {
		big := item(sort, strings.Repeat("x", 390<<10))
		ops = append(ops, table.Replace(big, big))
	}
	require.NoError(t, table.CheckOps(ops[:5]))
	require.ErrorIs(t, table.CheckOps(ops), table.ErrLimit)
}

func TestSecond(t *testing.T) {
	for _, c := range []struct {
		in   time.Time
		want int64
	}{
		{time.Time{}, 0},
		{time.Unix(0, 0), 1},
		{time.Unix(-5, 0), 1},
		{time.Unix(7, 0), 7},
		{time.Unix(7, 1), 8},
		{time.Unix(7, 999_999_999), 8},
	} {
		require.Equal(t, c.want, table.Second(c.in), c.in)
	}
	require.True(t, table.AtSecond(0).IsZero())
	require.Equal(t, time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), table.AtSecond(1795251600))
}

func TestClone(t *testing.T) {
	ops := []table.Op{
		table.Replace(item("a", "old"), item("a", "new")),
		table.Check(table.Item{Key: item("b", "").Key}),
	}
	clone := table.Clone(ops)
	require.Equal(t, ops, clone)
	require.Nil(t, clone[1].Old.Data, "nil says that there is no item")
	ops[0].Item.Data[0], ops[0].Old.Data[0] = 'X', 'X'
	ops[1] = table.Op{}
	require.Equal(t, table.Replace(item("a", "old"), item("a", "new")), clone[0])
	require.Equal(t, table.OpCheck, clone[1].Kind)
}
