package notes_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/convert"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/notes"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// args are the arguments of a call.
type args = map[string]any

// noon is the time of every call.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A place is the tools of the family, over a vault "v".
type place struct {
	catalogue *tool.Catalogue
	tool.Invoker
	calls *atomic.Int64 // reads of the table
}

// noMemories reads no memories: what they become is tested with all families.
func noMemories(context.Context, auth.Caller, convert.Batch) (
	func(*repo.Tx) (convert.Stored, error), error,
) {
	return nil, fault.New(fault.InvalidQuery, "there are no memories here")
}

// open opens a place whose vault has these files.
func open(t testing.TB, files map[string]string) *place {
	t.Helper()
	dir := t.TempDir()
	now := func() time.Time { return noon }
	db, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	calls := &atomic.Int64{}
	teams := tenant.NewRegistry(tenant.Options{
		Table: countedTable{db, calls}, Bucket: bucket, Texts: repo.NewTexts(64 << 20), Now: now, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(teams.Close)
	caller := auth.LocalCaller()
	require.NoError(t, teams.Make(t.Context(), caller.Tenant))
	cat, err := tool.NewCatalogue(append(notes.Tools(teams, noMemories), teamtools.Tools(teams, teamtools.Options{})...),
		tool.Options{Now: now})
	require.NoError(t, err)
	p := &place{cat, tooltest.As(cat, caller), calls}
	_, err = p.Invoke(t.Context(), "team_vault_create", json.RawMessage(`{"name":"v"}`))
	require.NoError(t, err)
	p.put(t, files)
	return p
}

// put replaces files of the vault, 100 in a call.
func (p *place) put(t testing.TB, files map[string]string) {
	t.Helper()
	for paths := range slices.Chunk(slices.Sorted(maps.Keys(files)), 100) {
		var list []args
		for _, path := range paths {
			list = append(list, args{"path": path, "text": files[path]})
		}
		_, err := p.Invoke(t.Context(), "team_vault_import",
			marshalled(t, args{"vault": "v", "mode": "replace", "notes": list}))
		require.NoError(t, err)
	}
}

func marshalled(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data, err := tool.Marshal(v)
	require.NoError(t, err)
	return data
}

// bare is the bare answer of a call that succeeds.
func (p *place) bare(t testing.TB, name string, in args) string {
	t.Helper()
	answer, err := p.call(t, name, in)
	require.NoError(t, err, "%s %v: %s", name, in, answer)
	return answer
}

// refused is the fault of a call that fails, and its bare answer.
func (p *place) refused(t testing.TB, name string, in args) (*fault.Fault, string) {
	t.Helper()
	answer, err := p.call(t, name, in)
	require.Error(t, err, "%s %v: %s", name, in, answer)
	return fault.Of(err), answer
}

// call makes a call on the vault, for a bare answer.
func (p *place) call(t testing.TB, name string, in args) (string, error) {
	t.Helper()
	all := args{"vault": "v", "envelope": false}
	maps.Copy(all, in)
	answer, err := p.Invoke(t.Context(), name, marshalled(t, all))
	return string(answer), err
}
