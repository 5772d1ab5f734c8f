package crashdisk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A writer does things to a disk that never fail.
type writer struct {
	t *testing.T
	*Disk
}

func (w writer) file(folder uint64, name, text string) uint64 {
	w.t.Helper()
	id, err := w.Make(folder, name, false, 0o600)
	require.NoError(w.t, err)
	require.NoError(w.t, w.Write(id, []byte(text), 0))
	return id
}

func (w writer) sync(ids ...uint64) {
	w.t.Helper()
	for _, id := range ids {
		require.NoError(w.t, w.Sync(id))
	}
}

// text is what a file at the top has, and "none" where it is not there.
func text(d *Disk, name string) string {
	id, err := d.Lookup(Root, name)
	if err != nil {
		return "none"
	}
	data := make([]byte, 5000)
	return string(data[:d.Read(id, data, 0)])
}

// TestForgets holds that what was synced is found after every power cut, and that each thing that
// may be found of the rest is found after some.
func TestForgets(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 100)
	for name, c := range map[string]struct {
		do    func(w writer)
		found []string // of "a" and "b"
		never []string
	}{
		"synced": {
			func(w writer) { w.sync(w.file(1, "a", "one"), 1) },
			[]string{"one none"}, nil,
		},
		"only the name synced": {
			func(w writer) { w.file(1, "a", long); w.sync(1) },
			[]string{" none", long + " none", long[:512] + " none",
				strings.Repeat("\x00", len(long)) + " none"},
			[]string{"none none"},
		},
		"only the text synced": {
			func(w writer) { w.sync(w.file(1, "a", "one")) },
			[]string{"none none", "one none"}, []string{" none"},
		},
		"renamed": {
			func(w writer) {
				w.sync(w.file(1, "a", "one"), 1)
				require.NoError(w.t, w.Rename(1, "a", 1, "b"))
			},
			[]string{"one none", "none one", "one one"}, []string{"none none"},
		},
		"swapped": {
			func(w writer) {
				w.sync(w.file(1, "a", "one"), w.file(1, "b", "two"), 1)
				require.NoError(w.t, w.Swap(1, "a", 1, "b"))
			},
			[]string{"one two", "two one"}, []string{"one one", "two two"},
		},
		"removed": {
			func(w writer) {
				w.sync(w.file(1, "a", "one"), 1)
				require.NoError(w.t, w.Remove(1, "a"))
			},
			[]string{"one none", "none none"}, nil,
		},
		"removed, synced": {
			func(w writer) {
				w.sync(w.file(1, "a", "one"), 1)
				require.NoError(w.t, w.Remove(1, "a"))
				w.sync(1)
			},
			[]string{"none none"}, nil,
		},
		"in a folder without a name": {
			func(w writer) {
				id, err := w.Make(1, "b", true, 0o700)
				require.NoError(w.t, err)
				w.sync(w.file(1, "a", "one"), w.file(id, "c", "two"), id)
			},
			[]string{"none none", "one none", "none ", "one "}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := writer{t, New()}
			c.do(w)
			found := map[string]bool{}
			for seed := range uint64(500) {
				d := w.Crash(seed)
				found[text(d, "a")+" "+text(d, "b")] = true
			}
			for _, want := range c.found {
				require.True(t, found[want], "%.40q was never found", want)
			}
			if c.never == nil {
				require.Len(t, found, len(c.found))
			}
			for _, never := range c.never {
				require.False(t, found[never], "%.40q was found", never)
			}
		})
	}
}
