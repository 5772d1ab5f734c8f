package ingest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDue holds how long edits wait: for two seconds of quiet, and where it is never quiet, files for half a minute and
// removals for as long as they go on, up to a quarter of an hour.
func TestDue(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	ago := func(path string, gone bool, first, at time.Duration) *edit {
		return &edit{path: path, noticedItem: noticedItem{At: now.Add(-at), Gone: gone}, first: now.Add(-first)}
	}
	const s = time.Second
	for name, c := range map[string]struct {
		all   []*edit
		take  int
		again time.Duration
	}{
		"nothing":                         {nil, 0, 0},
		"quiet":                           {[]*edit{ago("a", false, 9*s, 2*s), ago("b", true, 5*s, 3*s)}, 2, 0},
		"not yet":                         {[]*edit{ago("a", false, 9*s, s/2), ago("b", true, 5*s, 3*s)}, 0, 3 * s / 2},
		"at least a second":               {[]*edit{ago("a", false, 9*s, 19*s/10)}, 0, s},
		"a file waits long":               {[]*edit{ago("a", false, 30*s, 9*s), ago("b", false, s, s)}, 1, s},
		"one that changes all the time":   {[]*edit{ago("a", false, 30*s, s)}, 1, s},
		"removals go on":                  {[]*edit{ago("a", true, 60*s, 60*s), ago("b", true, 9*s, 9*s), ago("c", false, s, s)}, 0, s},
		"removals are over":               {[]*edit{ago("a", true, 60*s, 60*s), ago("b", true, 10*s, 10*s), ago("c", false, s, s)}, 3, 0},
		"removals for a quarter":          {[]*edit{ago("a", true, 900*s, 900*s), ago("b", true, s, s)}, 2, 0},
		"a clock is a day ahead":          {[]*edit{ago("a", false, -86400*s, -86400*s)}, 1, 0},
		"a clock is a moment ahead":       {[]*edit{ago("a", false, -s, -s)}, 0, 2 * s},
		"a removal alone is soon over":    {[]*edit{ago("a", true, 2*s, 2*s)}, 1, 0},
		"a new file beside old removals":  {[]*edit{ago("a", true, 5*s, 5*s), ago("b", false, s, s)}, 0, s},
		"files do not wait for removals":  {[]*edit{ago("a", true, s, s), ago("b", false, 31*s, 31*s)}, 1, s},
		"an old removal, and a young one": {[]*edit{ago("a", true, 31*s, 31*s), ago("b", true, 3*s, s)}, 0, s},
	} {
		t.Run(name, func(t *testing.T) {
			take, again := due(c.all, now)
			require.Len(t, take, c.take)
			require.Equal(t, c.again, again)
		})
	}
}
