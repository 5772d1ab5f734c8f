package awsapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// code returns the code of the error of a request, or "" if it succeeded.
func code(t testing.TB, h http.Handler, r *http.Request) fault.Code {
	t.Helper()
	w := awsapp.Recorded(h, r)
	return tooltest.CodeOf(t, json.RawMessage(w.Body.Bytes()))
}

// TestFirstToken checks the command with which a deployment without an identity provider begins.
// Its token is that of an admin and is audited, and with it more tokens can be created.
func TestFirstToken(t *testing.T) {
	d := newDeployment(t)
	a := d.function(t)
	h := through(t, a)
	secret := token(t, a, "acme")
	require.True(t, strings.HasPrefix(secret, "rk_acme_"), "its form")
	call(t, h, secret, "team_vault_create", args{"name": "main"})
	require.Contains(t, call(t, h, secret, "team_audit", args{}), `"principal":"rookery"`)
	again := token(t, a, "acme")
	require.NotEqual(t, secret, again)
	require.Contains(t, call(t, h, again, "team_vault_list", args{}), `"main"`)
}

// TestCommandsAreOfOperators checks that no request is taken for a command, that a function of one
// family has no commands, and that invalid tenants, roles and names are refused.
func TestCommandsAreOfOperators(t *testing.T) {
	d := newDeployment(t)
	a := d.function(t)
	ask := func(a *awsapp.App, change args) error {
		e := args{"rookery": "token-create", "tenant": "acme", "name": "first", "role": "admin"}
		for name, v := range change {
			e[name] = v
		}
		data, err := a.Invoke(t.Context(), marshalled(t, e))
		require.NotContains(t, string(data), "rk_")
		return err
	}
	for _, e := range []args{
		{"requestContext": args{}}, {"tenant": auth.Local}, {"tenant": ""}, {"tenant": "A/B"}, {"role": "king"},
		{"role": ""}, {"name": ""}, {"name": "a\nb"}, {"rookery": "token-destroy"},
	} {
		require.Error(t, ask(a, e), "%v", e)
	}
	data, err := a.Invoke(t.Context(), marshalled(t, args{
		"version": "2.0", "rookery": "token-create", "tenant": "acme", "name": "first", "role": "admin",
		"requestContext": args{"domainName": strings.TrimPrefix(base, "https://"), "http": args{"method": "POST"}},
	}))
	require.NoError(t, err)
	require.NotContains(t, string(data), "rk_")
	require.Contains(t, string(data), `"statusCode":405`, "it is a request to /, which only shows the documentation")
	family := d.function(t, func(o *awsapp.Options) { o.Part = awsapp.Family("raven") })
	require.Error(t, ask(family, nil))
	_, err = awsapp.New(awsapp.Options{Part: awsapp.Family("nobody"), Table: d.table, Bucket: d.bucket})
	require.Error(t, err)
}

// TestFirstAdmin checks tenants that the configuration names: each is created when its first token
// arrives, together with its first admin, even if a process ended between the two steps. No token
// creates another tenant.
func TestFirstAdmin(t *testing.T) {
	d := newDeployment(t)
	issuer := authtest.NewIssuer(t)
	counted := tabletest.NewFlaky(d.table, nil)
	begin := func() http.Handler {
		return through(t, d.function(t, func(o *awsapp.Options) {
			o.Table = counted
			o.Verifier = auth.NewVerifier(auth.Options{Now: d.clock.time})
			o.Server.Issuers = []config.Issuer{{
				Issuer: issuer.URL, JWKSURL: issuer.JWKS, Tenant: "acme", TenantClaim: "tenant", RolesClaim: "roles",
			}}
			o.Server.FirstAdmins = []config.Admin{{Issuer: issuer.URL, Subject: "alice", Tenant: "acme"}}
		}))
	}
	signed := func(subject, tenant string) string {
		claims := issuer.Claims(subject, base)
		if tenant != "" {
			claims["tenant"] = tenant
		}
		return issuer.Sign(claims)
	}
	h := begin()
	for _, tenant := range []string{"globex", auth.Local, "A"} {
		require.Equal(t, fault.Unauthenticated, code(t, h, asked("GET", "/v1/whoami", signed("alice", tenant), "")))
	}
	forged := authtest.NewIssuer(t).Sign(issuer.Claims("alice", base))
	require.Equal(t, fault.Unauthenticated, code(t, h, asked("GET", "/v1/whoami", forged, "")))
	unsigned := fmt.Sprintf("rk_acme_%s", strings.TrimPrefix(auth.NewSecret("acme").Token(), "rk_acme_"))
	require.Equal(t, fault.Unauthenticated, code(t, h, asked("GET", "/v1/whoami", unsigned, "")))
	require.Zero(t, counted.Counts().Commits, "nothing is made for any of them")

	require.Empty(t, code(t, h, asked("GET", "/v1/vaults", signed("bob", ""), "")))
	require.Equal(t, fault.PermissionDenied, code(t, h, asked("GET", "/v1/tokens", signed("bob", ""), "")))
	require.Empty(t, code(t, h, asked("GET", "/v1/tokens", signed("alice", ""), "")))
	require.Empty(t, code(t, begin(), asked("GET", "/v1/tokens", signed("alice", ""), "")))

	h = begin()
	counted.Reset()
	require.Empty(t, code(t, h, asked("GET", "/v1/tokens", signed("alice", ""), "")))
	require.LessOrEqual(t, counted.Counts().Ops, 1, "a later start writes the rate at most")
}

// TestTwoTenantsInOneInstance checks a process that serves two tenants alternately and
// concurrently, each over its own stores: no answer contains text of the other tenant, and no
// request reaches the stores of the other.
func TestTwoTenantsInOneInstance(t *testing.T) {
	d := newDeployment(t)
	var mu sync.Mutex
	opened := map[string]int{}
	own := map[string]*deployment{"acme": newDeployment(t), "globex": newDeployment(t)}
	for _, o := range own {
		o.clock = d.clock
	}
	a := d.function(t, func(o *awsapp.Options) {
		o.Stores = func(_ context.Context, tenant string) (table.Table, blob.Bucket, error) {
			mu.Lock()
			defer mu.Unlock()
			opened[tenant]++
			return own[tenant].table, own[tenant].bucket, nil
		}
	})
	h := through(t, a)
	tokens := map[string]string{}
	for tenant := range own {
		tokens[tenant] = token(t, a, tenant)
		writeFixture(t, h, tokens[tenant])
	}
	var wait sync.WaitGroup
	for tenant, secret := range tokens {
		for worker := range 4 {
			wait.Go(func() {
				for n := range 5 {
					body := fmt.Sprintf(`{"to":"inbox","text":"%s-%d-%d"}`, tenant, worker, n)
					w := awsapp.Recorded(h, asked("POST", "/v1/vaults/main/files/add", secret, body))
					assert.Equal(t, http.StatusOK, w.Code, w.Body)
				}
			})
		}
	}
	wait.Wait()
	for tenant, secret := range tokens {
		text := call(t, h, secret, "raven_read", args{"vault": "main", "path": "inbox.md"})
		require.Equal(t, 20, strings.Count(text, tenant+"-"))
		for other := range tokens {
			if other != tenant {
				require.NotContains(t, text, other)
			}
		}
		for it, err := range own[tenant].table.Query(t.Context(), "~tenants", "", "~") {
			require.NoError(t, err)
			require.Fail(t, "names of tenants are in the table of the deployment", it.Sort)
		}
	}
	require.Equal(t, fault.Unauthenticated, code(t, h, asked("GET", "/v1/whoami",
		strings.Replace(tokens["acme"], "rk_acme_", "rk_globex_", 1), "")))
	for tenant, times := range opened {
		require.LessOrEqual(t, times, 2, tenant) // when it is made, and when it is opened
	}
}

// TestFrozen checks a process that is frozen for 25 hours while another one works: after that its
// answers are up to date, nothing of either is lost, and a token that was revoked meanwhile is
// refused.
func TestFrozen(t *testing.T) {
	d := newDeployment(t)
	frozen, awake := d.function(t), d.function(t)
	slept, went := through(t, frozen), through(t, awake)
	secret := token(t, frozen, "acme")
	revoked := call(t, slept, secret, "team_token_create", args{"name": "second", "role": "reader"})
	var second struct{ Data struct{ Token, ID string } }
	require.NoError(t, json.Unmarshal([]byte(revoked), &second))
	writeFixture(t, slept, secret)
	call(t, slept, secret, "raven_add", args{"vault": "main", "to": "inbox", "text": "before"})
	call(t, slept, second.Data.Token, "raven_stats", args{"vault": "main"})
	for hour := range 25 {
		call(t, went, secret, "raven_add", args{"vault": "main", "to": "inbox", "text": fmt.Sprint("hour-", hour, ";")})
		d.clock.pass(time.Hour)
	}
	call(t, went, secret, "team_token_revoke", args{"id": second.Data.ID})
	text := call(t, slept, secret, "raven_read", args{"vault": "main", "path": "inbox.md"})
	for hour := range 25 {
		require.Contains(t, text, fmt.Sprint("hour-", hour, ";"))
	}
	require.Equal(t, fault.Unauthenticated,
		code(t, slept, asked("GET", "/v1/vaults/main/stats", second.Data.Token, "")))
	call(t, slept, secret, "raven_add", args{"vault": "main", "to": "inbox", "text": "after"})
	require.Contains(t, call(t, went, secret, "raven_read", args{"vault": "main", "path": "inbox.md"}), "after")
	stale := asked("POST", "/v1/vaults/main/files/add", secret, `{"to":"inbox","text":"stale"}`)
	stale.Header.Set("If-Match", `"v1"`)
	require.Equal(t, fault.Conflict, code(t, slept, stale))
}

// TestBegins checks that the function is notified of each call before the stores are used.
func TestBegins(t *testing.T) {
	begun := 0
	a := newDeployment(t).function(t, func(o *awsapp.Options) { o.Begin = func() { begun++ } })
	for n := range 3 {
		require.Equal(t, 200, respond(t, a, event("GET", "/healthz")).StatusCode)
		require.Equal(t, n+1, begun)
	}
}
