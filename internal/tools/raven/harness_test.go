package raven_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
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
	"github.com/rookeryhq/rookery/internal/tools/raven"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
	"github.com/rookeryhq/rookery/internal/vault"
)

// args are the arguments of a call.
type args = map[string]any

// list is a list in arguments.
type list = []any

// A place is a process with the tools of raven over stores that others may share.
type place struct {
	table  table.Table
	bucket blob.Bucket
	now    func() time.Time
	teams  *tenant.Registry
	cat    *tool.Catalogue
	cached int64 // bytes of the cache of texts; less than 1 MiB: 1 MiB
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// open opens a place over new stores, with a vault "v" that has these files.
func open(t testing.TB, files map[string]string) *place {
	t.Helper()
	dir := t.TempDir()
	at := noon
	now := func() time.Time { return at }
	db, err := bolttable.Open(filepath.Join(dir, "t.db"), bolttable.Options{Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	p := &place{table: db, bucket: bucket, now: now}
	p.serve(t)
	t.Cleanup(func() { p.teams.Close() })
	require.NoError(t, p.teams.Make(t.Context(), auth.Local))
	_, err = p.call("team_vault_create", args{"name": "v"})
	require.NoError(t, err)
	p.write(t, files)
	return p
}

// serve begins another process in the place of the one before.
func (p *place) serve(t testing.TB) {
	if p.teams != nil {
		p.teams.Close()
	}
	p.teams = tenant.NewRegistry(tenant.Options{
		Table: p.table, Bucket: p.bucket, Texts: repo.NewTexts(max(p.cached, 1<<20)), Snapshots: repo.NewSnapshotCache(1 << 20), Now: p.now,
		Log: slog.New(slog.DiscardHandler),
	})
	var all []*tool.Tool
	all = slices.Concat(raven.Tools(p.teams, func() []*tool.Tool { return all }),
		teamtools.Tools(p.teams, teamtools.Options{All: func() []*tool.Tool { return all }}))
	var err error
	p.cat, err = tool.NewCatalogue(all, tool.Options{Now: p.now})
	require.NoError(t, err)
}

// call calls a tool.
func (p *place) call(name string, in args) (json.RawMessage, error) {
	all := args{}
	if strings.HasPrefix(name, "raven_") {
		all["vault"] = "v"
	}
	maps.Copy(all, in)
	raw, err := tool.Marshal(all)
	if err != nil {
		return nil, err
	}
	return p.cat.Invoke(auth.WithCaller(context.Background(), auth.LocalCaller()), name, raw)
}

// vault is the vault "v".
func (p *place) vault(t testing.TB) *repo.Vault {
	own, err := p.teams.Tenant(context.Background(), auth.Local)
	require.NoError(t, err)
	v, err := own.Vault(context.Background(), "v")
	require.NoError(t, err)
	return v
}

// write puts texts at paths, in one commit. "-" is no text: the file goes.
func (p *place) write(t testing.TB, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	_, err := p.vault(t).Update(context.Background(), eventlog.Call{Who: eventlog.Who{Principal: "user:ada"}, Tool: "test"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			for path, text := range texts {
				var err error
				if text == "-" {
					err = tx.Remove(ctx, vault.Path(path))
				} else {
					err = tx.Put(ctx, vault.Path(path), []byte(text))
				}
				if err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
	require.NoError(t, err)
}

// An envelope is an answer, as far as the tests look into it.
type envelope struct {
	OK       bool
	Data     json.RawMessage
	Error    *fault.Fault
	Warnings []tool.Warning
	Meta     map[string]any
}

// answer calls a tool and opens its answer.
func (p *place) answer(t testing.TB, name string, in args) envelope {
	t.Helper()
	raw, _ := p.call(name, in)
	var e envelope
	require.NoError(t, json.Unmarshal(raw, &e), "%s", raw)
	return e
}

// must is answer where the call has to succeed, and fills a value with its data.
func (p *place) must(t testing.TB, name string, in args, into any) envelope {
	t.Helper()
	e := p.answer(t, name, in)
	require.True(t, e.OK, "%s %v: %v", name, in, e.Error)
	if into != nil {
		require.NoError(t, json.Unmarshal(e.Data, into))
	}
	return e
}

// texts are the texts of all files, by path.
func (p *place) texts(t testing.TB) map[string]string {
	t.Helper()
	v := p.vault(t)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	all := map[string]string{}
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		all[f.Path] = string(text)
	}
	return all
}

// version is the version of the vault.
func (p *place) version(t testing.TB) uint64 {
	t.Helper()
	idx, err := p.vault(t).Read(t.Context())
	require.NoError(t, err)
	return idx.Version()
}
