package localapp_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	host "github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A counted is a hosted server whose calls of the stores are counted: it has a table and a bucket
// that count, and a clock that a test moves.
type counted struct {
	hosted
	clock  *clock
	table  *tabletest.Flaky
	bucket *countedBucket
	cat    *tool.Catalogue
	teams  *tenant.Registry
	later  *[]func() // work that calls leave; nil: they do it
	stop   func()    // ends a process before the end of the test
}

// A countedBucket counts the calls of a bucket.
type countedBucket struct {
	blob.Bucket
	gets, puts, deletes, lists atomic.Int64
}

func (b *countedBucket) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	b.puts.Add(1)
	return b.Bucket.Put(ctx, key, data, c)
}

func (b *countedBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	b.gets.Add(1)
	return b.Bucket.Get(ctx, key, off, n)
}

func (b *countedBucket) Delete(ctx context.Context, key string) error {
	b.deletes.Add(1)
	return b.Bucket.Delete(ctx, key)
}

func (b *countedBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	b.lists.Add(1)
	return b.Bucket.List(ctx, prefix)
}

// calls returns how often each store was called since the last reset.
func (c *counted) calls() string {
	b := c.bucket
	return fmt.Sprintf("table %+v, bucket %d gets %d puts %d deletes %d lists", c.table.Counts(),
		b.gets.Load(), b.puts.Load(), b.deletes.Load(), b.lists.Load())
}

// none is the result of calls if no store was called.
var none = (&counted{table: tabletest.NewFlaky(nil, nil), bucket: &countedBucket{}}).calls()

func (c *counted) reset() {
	c.table.Reset()
	b := c.bucket
	for _, n := range []*atomic.Int64{&b.gets, &b.puts, &b.deletes, &b.lists} {
		n.Store(0)
	}
}

// newCounted opens a counted server, and writes the notes of its guest vaults.
func newCounted(t testing.TB) *counted {
	t.Helper()
	c := &counted{clock: &clock{now: time.Now()}}
	c.hosted = hosted{
		dir: t.TempDir(), logs: &lockedBuffer{},
		issuer: authtest.NewIssuer(t, "ES256", "RS256"), public: authtest.NewPublicIssuer(t, "RS256"),
	}
	db, err := bolttable.Open(filepath.Join(c.dir, "t.db"), bolttable.Options{Now: c.clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(c.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	c.table, c.bucket = tabletest.NewFlaky(db, nil), &countedBucket{Bucket: files}
	c.serve(t)
	c.writeGuestVaults(t)
	return c
}

// serve opens one process over the stores, with two tenants.
func (c *counted) serve(t testing.TB) {
	t.Helper()
	c.compose(t)
	t.Cleanup(c.teams.Close)
	for _, name := range []string{"heronlabs", "lynxworks"} {
		require.NoError(t, c.teams.Make(t.Context(), name))
		own, err := c.teams.Tenant(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, own.Begin(t.Context(), tenant.Member{Issuer: c.issuer.URL, Subject: "root"}))
	}
}

// compose creates one process in which nothing runs in the background.
func (c *counted) compose(t testing.TB) {
	t.Helper()
	log := slog.New(slog.NewJSONHandler(c.logs, nil))
	o := tenant.Options{
		Table: c.table, Bucket: c.bucket, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20),
		Memory: tenant.NewMemory(1 << 30), Log: log, Now: c.clock.time, PublicURL: hostedURL,
		Kinds: host.Jobs, Parts: host.Parts(),
	}
	server := c.server()
	o.Issuers = host.IssuersFor(server)
	if c.later != nil {
		o.Later = func(do func()) { *c.later = append(*c.later, do) }
	}
	c.teams = tenant.NewRegistry(o)
	h, err := host.New(host.Options{
		Teams: c.teams, Tables: c.teams.Table, Server: server, Closed: true, Log: log, Now: c.clock.time,
		Verifier: c.verifier(),
	})
	require.NoError(t, err)
	c.cat = h.Catalogue
	c.handler = h.Handler(host.Serving{
		Hosts: []string{hostedName}, Server: server,
		Peer: func(*http.Request) *fault.Fault { return nil }, // requests come without a connection
	})
}

// server returns the configuration of the server.
func (c *counted) server() config.Config {
	if c.issuer == nil {
		return config.Config{PublicURL: hostedURL}
	}
	return config.Config{PublicURL: hostedURL, Issuers: []config.Issuer{{
		Issuer: c.issuer.URL, JWKSURL: c.issuer.JWKS, Algorithms: []string{"ES256", "RS256"},
		Tenant: "heronlabs", TenantClaim: "tenant", RolesClaim: "roles",
	}}}
}

// verifier returns the verifier of issuers; nil if there are none.
func (c *counted) verifier() *auth.Verifier {
	if c.issuer == nil {
		return nil
	}
	return auth.NewVerifier(auth.Options{Now: c.clock.time, Public: c.public.Client()})
}

// counting makes a call, and returns how often it called the stores. Work that is due only from
// time to time, for any call, was done by another call a moment before.
func (c *counted) counting(t testing.TB, v guest, r *http.Request) (reply, string) {
	t.Helper()
	c.clock.minutes(2)
	c.invoke(t, v, "team_whoami", args{})
	c.reset()
	got := c.send(v, r)
	return got, c.calls()
}

// minutes moves the clock by a number of minutes.
func (c *clock) minutes(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Duration(n) * time.Minute)
}

// TestHostedStoreCalls checks that a vault that a caller cannot see costs as many calls of the
// stores as one that does not exist: neither the answer nor its duration distinguishes them. A read
// that is refused writes nothing.
//
// Each caller tries every other tool over one way; with ROOKERY_SOAK all.
func TestHostedStoreCalls(t *testing.T) {
	t.Parallel()
	c := newCounted(t)
	whole := os.Getenv("ROOKERY_SOAK") != ""
	cases := 0
	for n, v := range c.guests(t) {
		if v.sees(guestVaults[1]) {
			continue
		}
		for i, made := range c.cat.Tools() {
			if !aboutVaults(made) || !whole && (n/4+i)%2 != 0 {
				continue
			}
			in := transports[(n+i)%len(transports)]
			var told []string
			for k, vault := range []string{"nobodys", unseenVault, absentVault} {
				r, carried := in.request(t, made, askedOf(t, made, vault))
				if !carried {
					continue
				}
				got, calls := c.counting(t, v, r)
				if k == 0 {
					continue // the cost of a new caller
				}
				told = append(told, calls+strings.ReplaceAll(got.comparable(), vault, ""))
				cases++
				_, code := got.said(t)
				if code == fault.NotFound && !made.Kind.Changes() {
					require.Contains(t, calls, "Commits:0", "a refused read writes nothing")
				}
			}
			if len(told) == 2 {
				require.Equal(t, told[0], told[1], "%s as %s over %s", made.Name, v.name, in.name)
			}
		}
	}
	require.Greater(t, cases, 500)
	t.Logf("%d calls", cases)
}
