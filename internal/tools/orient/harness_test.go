package orient_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/orient"
	"github.com/rookeryhq/rookery/internal/tools/raven"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
	"github.com/rookeryhq/rookery/internal/tooltest"
	"github.com/rookeryhq/rookery/internal/vault"
)

// args are the arguments of a call.
type args = map[string]any

// A place is a process with the tools of orientation over stores that others may share.
type place struct {
	table  table.Table
	bucket blob.Bucket
	teams  *tenant.Registry
	cat    *tool.Catalogue
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func atNoon() time.Time { return noon }

// open opens a place over new stores.
func open(t testing.TB) *place {
	t.Helper()
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{Now: atNoon})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	p := &place{table: db, bucket: files}
	p.serve(t)
	t.Cleanup(func() { p.teams.Close() })
	require.NoError(t, p.teams.Make(t.Context(), auth.Local))
	return p
}

// serve begins another process in the place of the one before.
func (p *place) serve(t require.TestingT) {
	if p.teams != nil {
		p.teams.Close()
	}
	p.teams = tenant.NewRegistry(tenant.Options{
		Table: p.table, Bucket: p.bucket, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20), Now: atNoon,
		Log: slog.New(slog.DiscardHandler),
	})
	var all []*tool.Tool
	all = slices.Concat(orient.Tools(p.teams), raven.Tools(p.teams, func() []*tool.Tool { return all }),
		teamtools.Tools(p.teams, teamtools.Options{All: func() []*tool.Tool { return all }}))
	var err error
	p.cat, err = tool.NewCatalogue(all, tool.Options{Now: atNoon})
	require.NoError(t, err)
}

// call calls a tool.
func (p *place) call(name string, in args) (json.RawMessage, error) {
	raw, err := tool.Marshal(in)
	if err != nil {
		return nil, err
	}
	return p.cat.Invoke(auth.WithCaller(context.Background(), auth.LocalCaller()), name, raw)
}

// make makes a vault.
func (p *place) make(t require.TestingT, name string) {
	_, err := p.call("team_vault_create", args{"name": name})
	require.NoError(t, err)
}

// vault is a vault of the place.
func (p *place) vault(t require.TestingT, name string) *repo.Vault {
	own, err := p.teams.Tenant(context.Background(), auth.Local)
	require.NoError(t, err)
	v, err := own.Vault(context.Background(), name)
	require.NoError(t, err)
	return v
}

// write puts texts at paths, in one commit. "-" is no text: the file goes.
func (p *place) write(t require.TestingT, name string, texts map[string]string) {
	p.update(t, name, func(ctx context.Context, tx *repo.Tx) error {
		for path, text := range texts {
			var err error
			if text == "-" {
				err = tx.Remove(ctx, vault.Path(path))
			} else {
				err = tx.Put(ctx, vault.Path(path), []byte(text))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *place) update(t require.TestingT, name string, fn func(context.Context, *repo.Tx) error) {
	_, err := p.vault(t, name).Update(context.Background(), eventlog.Call{Who: eventlog.Who{Principal: "user:ada"}, Tool: "test"},
		func(ctx context.Context, tx *repo.Tx) (any, error) { return nil, fn(ctx, tx) })
	require.NoError(t, err)
}

// answered is the data of an answer that must succeed, and its warnings.
func (p *place) answered(t require.TestingT, name string, in args) (data string, warnings []tool.Warning) {
	raw, err := p.call(name, in)
	require.NoError(t, err, "%s %v: %s", name, in, raw)
	var e struct {
		Data     json.RawMessage
		Warnings []tool.Warning
	}
	require.NoError(t, json.Unmarshal(raw, &e))
	return string(e.Data), e.Warnings
}

// refused is the fault of a call that must fail.
func (p *place) refused(t *testing.T, code fault.Code, name string, in args) *fault.Fault {
	t.Helper()
	raw, err := p.call(name, in)
	require.True(t, fault.Is(err, code), "%s %v: %s", name, in, raw)
	require.NotEmpty(t, tooltest.Comparable(raw))
	return fault.Of(err)
}

// codes are the codes of warnings.
func codes(all []tool.Warning) []string {
	list := []string{}
	for _, w := range all {
		list = append(list, w.Code)
	}
	return list
}

// fresh makes a vault that is compared with its files, of which all are as they must be.
func (p *place) fresh(t require.TestingT, name string) {
	p.make(t, name)
	p.control(t, name, func(c *repo.Control) { c.Sweep = &repo.Sweep{At: noon} })
}

// control changes the control item of a vault.
func (p *place) control(t require.TestingT, name string, change func(*repo.Control)) {
	require.NoError(t, p.vault(t, name).Change(context.Background(), func(c *repo.Control) bool {
		change(c)
		return true
	}))
}
