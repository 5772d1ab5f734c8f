package repo_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

var update = flag.Bool("update", false, "write the stored vault anew")

// storedVault is a vault as the first release stored it.
const storedVault = "testdata/vault-1.json"

// A storage is all stored data of a vault, and its content at that time.
type storage struct {
	Now     time.Time         `json:"now"`
	Items   map[string][]byte `json:"items"`
	Objects map[string][]byte `json:"objects"`
	Told    string            `json:"told"`
}

// TestAStoredVault checks that a vault stored by an earlier release is read unchanged: its table,
// segments, images and payload objects. If this test fails, a format has changed, and a reader for
// the old one must be kept: existing vaults are not rewritten.
func TestAStoredVault(t *testing.T) {
	if *update {
		data, err := json.MarshalIndent(store1(t), "", " ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(storedVault, append(data, '\n'), 0o644))
	}
	data, err := os.ReadFile(storedVault)
	require.NoError(t, err)
	var stored storage
	require.NoError(t, json.Unmarshal(data, &stored))
	s := newShelf(t)
	s.restore(t, &stored)

	v := s.open(t)
	require.Equal(t, stored.Told, plainly(t, v), "from the image")
	_, err = v.Verify(t.Context(), nil)
	require.NoError(t, err)
	for _, key := range []string{"old", "new"} {
		call := caller()
		call.Key = key
		r, err := v.Update(t.Context(), call, edits(edit{key + ".md", key}))
		require.NoError(t, err)
		require.NotNil(t, r.Replayed, "the key %q", key)
	}
	fromImage := told(t, v)
	for _, key := range s.objects(t, "image/") {
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}
	v = s.open(t)
	require.Equal(t, stored.Told, plainly(t, v), "from segments")
	require.True(t, fromImage == told(t, v))
	change(t, v, edit{"log.md", "it goes on"})
	s.vault = v
	s.empty(t)
	require.True(t, told(t, v) == told(t, s.open(t)))
}

// restore replaces the stored data by that of an earlier vault.
func (s *shelf) restore(t *testing.T, stored *storage) {
	t.Helper()
	for it, err := range s.Table.Query(t.Context(), "v", "", "~") {
		require.NoError(t, err)
		require.NoError(t, s.Table.Commit(t.Context(), table.Remove(it.Key)))
	}
	for sort, data := range stored.Items {
		k := table.Key{Part: "v", Sort: sort}
		require.NoError(t, s.Table.Commit(t.Context(), table.Create(table.Item{Key: k, Data: data})))
	}
	for key, data := range stored.Objects {
		_, err := s.Bucket.Put(t.Context(), key, data, blob.Always)
		require.NoError(t, err)
	}
	s.clock.Move(stored.Now.Sub(s.clock.Now()))
}

// store1 creates a vault with everything that a log can contain: the first part in segments, with
// an image after it, and the rest in the table.
func store1(t *testing.T) storage {
	t.Helper()
	s := newShelf(t)
	keyed := func(key string) {
		call := caller()
		call.Key = key
		_, err := s.vault.Update(t.Context(), call, edits(edit{key + ".md", key}))
		require.NoError(t, err)
	}
	part := func(key string) {
		s.write(t, 8)
		keyed(key)
		s.together(t, 3)
		change(t, s.vault, edit{"n1.md", ""})
		change(t, s.vault, edit{"schema.yaml", fmt.Sprintf(
			"version: 2\ntraits:\n  due:\n    type: date\n  %s:\n    type: string\n", key)})
		for _, status := range []eventlog.Status{eventlog.Trashed, eventlog.Active} {
			require.NoError(t, s.vault.SetStatus(t.Context(), caller(), status))
		}
	}
	part("old")
	s.empty(t)
	s.write(t, 1)
	part("new")
	change(t, s.vault, edit{"large.md", noise(24 << 10)}, edit{"small.md", "beside it"})
	change(t, s.vault, edit{"log.md", "the last"})
	all := storage{Now: s.clock.Now().UTC(), Items: map[string][]byte{}, Objects: map[string][]byte{}}
	all.Told = plainly(t, s.vault)
	for it, err := range s.Table.Query(t.Context(), "v", "", "~") {
		require.NoError(t, err)
		all.Items[it.Sort] = it.Data
	}
	for _, key := range s.objects(t, "") {
		data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
		require.NoError(t, err)
		all.Objects[key] = data
	}
	return all
}

// plainly returns the content of a vault in a form that does not depend on any format.
func plainly(t *testing.T, v *repo.Vault) string {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	var b strings.Builder
	n := idx.Totals()
	fmt.Fprintf(&b, "%d %v %d %d\n", idx.Version(), idx.Time().UTC(), n.Notes, n.Traits)
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s v%d %s\n", f.Path, f.Version, text)
		for r, err := range v.Revisions(t.Context(), f.Path, f.Version) {
			require.NoError(t, err)
			fmt.Fprintf(&b, " v%d %v {%s %s %s}\n", r.Seq, r.Time.UTC(), r.Who.Principal, r.Who.Agent,
				r.Who.Request)
		}
	}
	for lines, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		b.Write(lines)
	}
	words := slices.Concat(found(t, v, "line"), found(t, v, "commit"))
	return b.String() + strings.Join(words, "\n")
}
