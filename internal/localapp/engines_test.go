package localapp_test

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// engineTenant is the tenant of the vault on both engines.
const engineTenant = "acme"

// An underEngine is the vault "v" on one engine: the tools over it, and its files.
type underEngine struct {
	name  string
	via   tool.Invoker
	files func(t testing.TB) map[string]string
	// settle brings the followers of the log up to date; outward then moves the log out of the
	// table, and begins a new process.
	settle, outward func(t testing.TB)
}

// inProcess sends requests to a handler. The ids of the requests are their numbers.
type inProcess struct {
	handler http.Handler
	sent    *int
}

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r = r.Clone(r.Context())
	*p.sent++
	r.Header.Set("X-Request-Id", fmt.Sprint("request-", *p.sent))
	r.RemoteAddr, r.RequestURI, r.TLS = "192.0.2.1:1234", r.URL.RequestURI(), &tls.ConnectionState{HandshakeComplete: true}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	p.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// engineConfig returns the configuration of both engines, and the token of an admin.
func engineConfig(t testing.TB, now time.Time) (config.Config, string) {
	t.Helper()
	issuer := authtest.NewIssuer(t)
	claims := issuer.Claims("alice", hostedURL)
	claims["iat"], claims["exp"], claims["roles"] = now.Unix(), inYears(), args{"*": "admin"}
	delete(claims, "nbf")
	return config.Config{
		PublicURL: hostedURL, Limits: config.Limits{MutationsPerMinute: -1, ReadsPerMinute: -1},
		Issuers: []config.Issuer{{
			Issuer: issuer.URL, JWKSURL: issuer.JWKS, Algorithms: []string{"ES256"}, Tenant: engineTenant, RolesClaim: "roles",
		}},
	}, issuer.Sign(claims)
}

// embedded returns the engine of a server, with its folder.
func embedded(t testing.TB, cfg config.Config, token string, c *shift) *underEngine {
	t.Helper()
	dir, sent, client := t.TempDir(), new(int), &httptool.Client{Base: hostedURL, Token: token}
	var app *localapp.App
	open := func() {
		var err error
		app, err = localapp.Open(t.Context(), localapp.Config{
			Data: dir, Server: cfg, Now: c.time, Log: leaktest.Logger(t, nil),
		})
		require.NoError(t, err)
		client.HTTP = &http.Client{Transport: inProcess{app.Handler("test", []string{hostedName}), sent}}
	}
	open()
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	again := func() {
		require.NoError(t, app.Close())
		open()
	}
	return &underEngine{
		name: "embedded", via: client,
		files: func(t testing.TB) map[string]string {
			t.Helper()
			return folder(t, filepath.Join(dir, "tenants", engineTenant, "vaults", "v", "notes"))
		},
		settle: func(testing.TB) { again() },
		outward: func(t testing.TB) {
			t.Helper()
			leaveTable(t, app.Teams(), c)
			again()
		},
	}
}

// leaveTable moves the log of the vault out of the table.
func leaveTable(t testing.TB, teams *tenant.Registry, c *shift) {
	t.Helper()
	own, err := teams.Tenant(t.Context(), engineTenant)
	require.NoError(t, err)
	v, err := own.Vault(t.Context(), "v")
	require.NoError(t, err)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	c.pass(2)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	c.pass(-2)
}

// A cloudEngine is the engine of the functions, in this process.
type cloudEngine struct {
	*underEngine
	stores cloudStores
	notes  blob.Bucket
}

// inCloud returns the engine of the functions.
func inCloud(t testing.TB, cfg config.Config, token string, c *shift) cloudEngine {
	t.Helper()
	b := awstest.Start(t)
	s := cloudStores{b, b.Table(t), b.Bucket(t)}
	tables, files := s.open(t, &awstest.Meter{}, &c.clock)
	url, dead := b.Queue(t, 60)
	queue := sqsqueue.New(b.AWS(t, nil), url, sqsqueue.Options{Dead: dead})
	o := awsapp.Options{
		Server: cfg, Table: tables, Bucket: files, Queue: queue, Memory: 512 << 20, Now: c.time,
		Log: slog.New(slog.DiscardHandler), Version: "test",
	}
	sent, client := new(int), &httptool.Client{Base: hostedURL, Token: token}
	open := func() {
		app, err := awsapp.New(o)
		require.NoError(t, err)
		t.Cleanup(app.Close)
		client.HTTP = &http.Client{Transport: inProcess{app.Handler(), sent}}
	}
	open()
	e := cloudEngine{stores: s, notes: blob.Sub(files, "tenants/"+engineTenant+"/vaults/v/notes")}
	settle := func(t testing.TB) {
		t.Helper()
		worker := awsapp.NewWorker(o, queue)
		defer worker.Close()
		for _, kind := range []string{stream.FilesKind, stream.CompactKind} {
			m := job.Message{V: 1, Kind: kind, Tenant: engineTenant, Vault: "v", Incarnation: 1}
			answer, err := worker.Invoke(t.Context(), marshalled(t, events.SQSEvent{
				Records: []events.SQSMessage{{MessageId: "1", Body: string(marshalled(t, m))}},
			}))
			require.NoError(t, err)
			require.JSONEq(t, `{"batchItemFailures":[]}`, string(answer), kind)
		}
	}
	e.underEngine = &underEngine{
		name: "AWS", via: client, settle: settle,
		files: func(t testing.TB) map[string]string {
			t.Helper()
			return inBucket(t, e.notes)
		},
		outward: func(t testing.TB) {
			t.Helper()
			settle(t)
			teams := tenant.NewRegistry(tenant.Options{
				Table: tables, Bucket: files, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20),
				Memory: tenant.NewMemory(1 << 30), Items: true, Log: slog.New(slog.DiscardHandler), Now: c.time,
			})
			defer teams.Close()
			leaveTable(t, teams, c)
			open()
		},
	}
	return e
}

// inBucket returns all objects of a bucket, by key.
func inBucket(t testing.TB, b blob.Bucket) map[string]string {
	t.Helper()
	all := map[string]string{}
	for o, err := range b.List(t.Context(), "") {
		require.NoError(t, err)
		data, _, err := b.Get(t.Context(), o.Key, 0, -1)
		require.NoError(t, err)
		all[o.Key] = string(data)
	}
	return all
}

// engineSteps returns the number of calls that change the vault.
func engineSteps() int {
	if soaked() {
		return 500
	}
	return 60
}

// TestEnginesAgree makes the same calls on the embedded engine and on that of AWS. Both give the
// same answers about each version, history, undo, export and the audit, and have the same files to
// the byte; also when the logs have left the tables, for new processes, and when the index is
// rebuilt from the log. A copy of the tenant's objects in the bucket is a data directory without a
// database: `rookery rebuild` rebuilds the vault from it.
func TestEnginesAgree(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if named := os.Getenv("ROOKERY_SEED"); named != "" {
		_, err := fmt.Sscan(named, &seed)
		require.NoError(t, err)
	}
	t.Logf("ROOKERY_SEED=%d", seed)
	c := &shift{*newClock()}
	cfg, token := engineConfig(t, c.time())
	cloud := inCloud(t, cfg, token, c)
	both := []*underEngine{embedded(t, cfg, token, c), cloud.underEngine}
	newest := sameHistory(t, both, c, seed)
	compare := func(when string) {
		t.Helper()
		requireSameFiles(t, both[0].files(t), both[1].files(t), when)
		requireAlike(t, both, newest, when)
	}
	for _, e := range both {
		e.settle(t)
	}
	compare("settled")
	for _, e := range both {
		e.outward(t)
	}
	compare("out of the table")
	for _, e := range both {
		must(t, e.via, "raven_reindex", args{"full": true})
	}
	compare("indexed again")
	requireRebuilt(t, both[0], cloud, newest, c)
}

// sameHistory makes the same random changes on both, and returns the last version. A month ends in
// the middle.
func sameHistory(t *testing.T, both []*underEngine, c *shift, seed uint64) uint64 {
	t.Helper()
	for _, e := range both {
		must(t, e.via, "team_vault_create", args{"name": "v"})
		put(t, e.via, fixture)
	}
	newest := uint64(2)
	random := []*rand.Rand{rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))}
	for i := range engineSteps() {
		c.tick()
		if i == engineSteps()/2 {
			c.pass(15 * 24)
		}
		var versions []uint64
		for k, e := range both {
			randomChange(t, e.via, random[k], newest)
			versions = append(versions, must(t, e.via, "raven_stats", nil).version(t))
			if i%7 == 3 && k == 1 {
				e.settle(t)
			}
		}
		require.Equal(t, versions[0], versions[1], "step %d", i)
		newest = versions[0]
	}
	return newest
}

// requireSameFiles requires that two engines have the same files.
func requireSameFiles(t testing.TB, want, got map[string]string, when string) {
	t.Helper()
	for path, text := range want {
		require.Equal(t, text, got[path], "%s: %s", when, path)
	}
	for path := range got {
		require.Contains(t, want, path, when)
	}
}

// requireAlike requires that both give the same answers about versions, undo, export and the audit.
func requireAlike(t *testing.T, both []*underEngine, newest uint64, when string) {
	t.Helper()
	same := func(name string, in args) {
		t.Helper()
		want, got := answered(t, both[0].via, name, in), answered(t, both[1].via, name, in)
		require.Equal(t, want, got, "%s: %s %v", when, name, in)
	}
	for version := uint64(1); version <= newest; version += 1 + newest/6 {
		for _, q := range questions {
			same(q.tool, asOfVersion(q.in, version))
		}
		same("raven_undo", args{"vault": "v", "version": fmt.Sprintf("v%d", max(version, 2)), "dry_run": true})
	}
	for _, q := range questions {
		same(q.tool, with(q.in, "vault", "v"))
	}
	same("team_vault_export", args{"vault": "v", "limit": 200})
	same("notes_export", args{"vault": "v"})
	same("team_audit", args{"vault": "v", "limit": 200})
	for _, e := range both {
		must(t, e.via, "team_audit_verify", args{"vault": "v"})
	}
}

// asOfVersion returns the arguments of a question about a version.
func asOfVersion(in args, version uint64) args {
	return with(with(in, "vault", "v"), "as_of", fmt.Sprintf("v%d", version))
}

// answered returns the answer of a call, or its error, without the parts that differ from call to
// call.
func answered(t *testing.T, via tool.Invoker, name string, in args) string {
	t.Helper()
	answer, err := via.Invoke(t.Context(), name, marshalled(t, in))
	if err != nil {
		return err.Error()
	}
	return tooltest.Comparable(answer)
}

// requireRebuilt requires that a copy of the tenant's objects in the bucket can be opened as a data
// directory, and that its vault is complete.
func requireRebuilt(t *testing.T, was *underEngine, cloud cloudEngine, newest uint64, c *shift) {
	t.Helper()
	_, all := cloud.stores.open(t, &awstest.Meter{}, &c.clock)
	dir := t.TempDir()
	for key, text := range inBucket(t, blob.Sub(all, "tenants/"+engineTenant)) {
		path := filepath.Join(dir, "tenants", auth.Local, filepath.FromSlash(key))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	lc := localapp.Config{Data: dir, Now: c.time, Log: leaktest.Logger(t, nil)}
	made, err := localapp.Rebuild(t.Context(), lc)
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.NotEmpty(t, made[0].FromSegments)
	require.Equal(t, fmt.Sprintf("v%d", newest), made[0].Version, "nothing in the files is new to the log")
	app, err := localapp.Open(t.Context(), lc)
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	rebuilt := &underEngine{name: "rebuilt", via: local{app}}
	for _, q := range questions {
		for _, version := range []uint64{newest / 2, newest} {
			in := asOfVersion(q.in, version)
			require.Equal(t, answered(t, was.via, q.tool, in), answered(t, rebuilt.via, q.tool, in), "%s %v", q.tool, in)
		}
	}
	export := args{"vault": "v", "limit": 200}
	require.Equal(t, answered(t, was.via, "team_vault_export", export), answered(t, rebuilt.via, "team_vault_export", export))
	require.Equal(t, was.files(t)[".raven/audit.log"],
		folder(t, filepath.Join(dir, "tenants", auth.Local, "vaults", "v", "notes"))[".raven/audit.log"])
	must(t, rebuilt.via, "team_audit_verify", args{"vault": "v"})
}
