package access_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

const home = "https://memory.example.test"

// A clock runs with the real one, by which tokens are dated, and can be moved forward.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// A house is a deployment with the tenants acme, globex and local. Their vaults are not used here.
type house struct {
	clock  *clock
	table  table.Table
	bucket blob.Bucket
	reads  *tabletest.Flaky // counts the reads of the house
	teams  *tenant.Registry
	staff  *authtest.Issuer // issuer of the deployment
	forge  *authtest.Issuer // issuer that tenants may configure
	gate   *access.Gate
}

func newHouse(t *testing.T, change ...func(*access.GateOptions)) *house {
	t.Helper()
	h := &house{clock: &clock{}, staff: authtest.NewIssuer(t), forge: authtest.NewPublicIssuer(t)}
	dir := t.TempDir()
	db, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: h.clock.now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	h.table, h.bucket = db, bucket
	h.reads = tabletest.NewFlaky(db, nil)
	h.teams = h.process(t, h.reads)
	for _, tenant := range []string{"acme", "globex", auth.Local} {
		require.NoError(t, h.teams.Make(t.Context(), tenant))
	}
	o := access.GateOptions{
		Tenants: h.teams, PublicURL: home, Closed: true, Now: h.clock.now,
		Verifier: auth.NewVerifier(auth.Options{Now: h.clock.now, Public: h.forge.Client()}),
		Issuers: []access.Issuer{{
			Issuer:      auth.Issuer{URL: h.staff.URL, JWKS: h.staff.JWKS},
			TenantClaim: "tenant", RolesClaim: "roles",
		}},
	}
	for _, f := range change {
		f(&o)
	}
	h.gate = access.NewGate(o)
	return h
}

// process returns the tenants in a process that starts now. issuers are those of the deployment.
func (h *house) process(t *testing.T, over table.Table, issuers ...string) *tenant.Registry {
	t.Helper()
	teams := tenant.NewRegistry(tenant.Options{
		Table: over, Bucket: h.bucket, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: h.clock.now, PublicURL: home,
		Issuers: func(string) []string { return issuers },
	})
	t.Cleanup(teams.Close)
	return teams
}

// tenant returns a tenant of the house, as its gate uses it.
func (h *house) tenant(t *testing.T, name string) *tenant.Tenant {
	t.Helper()
	own, err := h.teams.Tenant(t.Context(), name)
	require.NoError(t, err)
	return own
}

// asked returns the number of the gate's requests to the table.
func (h *house) asked() int {
	c := h.reads.Counts()
	return c.Gets + c.Queries + c.Commits
}

// request returns a request for a path with a token.
func request(path, token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// who returns the caller of a token.
func (h *house) who(t *testing.T, token string) auth.Caller {
	t.Helper()
	c, err := h.gate.Caller(request("/v1/whoami", token))
	require.NoError(t, err)
	return c
}

// stopped requires that a request is refused with a code.
func (h *house) stopped(t *testing.T, want fault.Code, r *http.Request) {
	t.Helper()
	c, err := h.gate.Caller(r)
	require.Error(t, err, "%+v", c)
	require.Equal(t, want, fault.Of(err).Code, "%v", err)
	if want == fault.Unauthenticated && r.Header.Get("Authorization") != "" {
		require.Equal(t, auth.Refused().Error(), fault.Of(err).Error(), "one message for all")
	}
}

// claims returns the claims of a valid token of an issuer, with some more.
func claims(i *authtest.Issuer, audience string, more map[string]any) map[string]any {
	all := i.Claims("alice", audience)
	for name, value := range more {
		all[name] = value
	}
	return all
}

// staffToken returns a token of the deployment's issuer for acme.
func (h *house) staffToken(more map[string]any) string {
	all := claims(h.staff, home, map[string]any{"tenant": "acme", "roles": "editor"})
	for name, value := range more {
		if value == nil {
			delete(all, name)
			continue
		}
		all[name] = value
	}
	return h.staff.Sign(all)
}

var call = eventlog.Call{Who: eventlog.Who{Principal: "tester"}, Tool: "test"}

func TestPeopleOfTheDeployment(t *testing.T) {
	h := newHouse(t)
	c := h.who(t, h.staffToken(nil))
	require.Equal(t, "acme", c.Tenant)
	require.Equal(t, auth.User(h.staff.URL, "alice"), c.Principal)
	require.Equal(t, c.Principal, c.Agent)
	require.Equal(t, "alice", c.Name)
	require.Equal(t, auth.Editor, c.Role("any"))
	require.False(t, c.Expires.IsZero())

	for name, test := range map[string]struct {
		more map[string]any
		any  auth.Role // in a vault that no claim names
		main auth.Role
	}{
		"by vault":          {map[string]any{"roles": map[string]any{"main": "admin"}}, auth.Nobody, auth.Admin},
		"all but one":       {map[string]any{"roles": map[string]any{"*": "editor", "main": "reader"}}, auth.Editor, auth.Reader},
		"no claim":          {map[string]any{"roles": nil}, auth.Nobody, auth.Nobody},
		"an unknown role":   {map[string]any{"roles": "owner"}, auth.Nobody, auth.Nobody},
		"a malformed claim": {map[string]any{"roles": []any{"admin"}}, auth.Nobody, auth.Nobody},
		"capped by a scope": {map[string]any{"roles": "admin", "scope": "openid reader"}, auth.Reader, auth.Reader},
		"scopes of others":  {map[string]any{"scope": "openid mail"}, auth.Editor, auth.Editor},
		"a higher scope":    {map[string]any{"scope": "admin"}, auth.Editor, auth.Editor},
	} {
		c := h.who(t, h.staffToken(test.more))
		require.Equal(t, test.any, c.Role("any"), name)
		require.Equal(t, test.main, c.Role("main"), name)
	}
}

// TestTenantOfAToken checks which tenant a token of the deployment's issuers is for.
func TestTenantOfAToken(t *testing.T) {
	h := newHouse(t)
	for name, tenant := range map[string]any{
		"none": nil, "unknown": "initech", "no text": 5, "empty": "", "odd": "../acme",
	} {
		h.stopped(t, fault.Unauthenticated,
			request("/v1/whoami", h.staffToken(map[string]any{"tenant": tenant, "n": name})))
	}
	fixed := newHouse(t, func(o *access.GateOptions) { o.Issuers[0].Tenant = "globex" })
	require.Equal(t, "acme", fixed.who(t, fixed.staffToken(nil)).Tenant)
	require.Equal(t, "globex", fixed.who(t, fixed.staffToken(map[string]any{"tenant": nil})).Tenant)
	fixed.stopped(t, fault.Unauthenticated,
		request("/", fixed.staffToken(map[string]any{"tenant": []any{"globex"}})))
}

// TestAudience checks that a token for one resource of the deployment is valid there and below, and
// that one for another audience is refused everywhere (RFC 8707).
func TestAudience(t *testing.T) {
	h := newHouse(t)
	for audience, good := range map[string]map[string]bool{
		home:                    {"/v1/vaults": true, "/mcp": true, "/mcp/x/raven": true},
		home + "/":              {"/v1/vaults": true, "/mcp": true},
		home + "/mcp":           {"/v1/vaults": false, "/mcp": true, "/mcp/x/raven": true, "/mcpx": false},
		home + "/mcp/readonly":  {"/mcp": false, "/mcp/readonly": true, "/mcp/readonly/x/all": true, "/mcp/readonlyx": false},
		home + "/t/acme":        {"/v1/vaults": false, "/mcp": false},
		home + ".evil.test":     {"/v1/vaults": false, "/": false},
		"https://other.test":    {"/v1/vaults": false, "/mcp": false},
		"http://memory.example": {"/v1/vaults": false},
	} {
		token := h.staffToken(map[string]any{"aud": audience})
		for path, ok := range good {
			if !ok {
				h.stopped(t, fault.Unauthenticated, request(path, token))
				continue
			}
			_, err := h.gate.Caller(request(path, token))
			require.NoError(t, err, "%s at %s", audience, path)
		}
		for path, ok := range good { // again, when the verification may be cached
			_, err := h.gate.Caller(request(path, token))
			require.Equal(t, ok, err == nil, "%s at %s", audience, path)
		}
	}
}

// TestAudienceOfItsOwn checks that an issuer with a configured audience accepts no other. The first
// entry of the issuer that accepts the token applies, whatever earlier requests used the same
// token.
func TestAudienceOfItsOwn(t *testing.T) {
	h := newHouse(t, func(o *access.GateOptions) {
		of := o.Issuers[0].Issuer
		o.Issuers = []access.Issuer{
			{Issuer: of, Audience: "https://admin.example.test", Tenant: "globex", Role: auth.Admin},
			{Issuer: of, Audience: home + "/mcp", Tenant: "acme", Role: auth.Editor},
			{Issuer: of, Tenant: "acme", Role: auth.Reader},
		}
	})
	for _, c := range []struct {
		audience any
		path     string
		tenant   string
		role     auth.Role
	}{
		{"https://admin.example.test", "/v1/vaults", "globex", auth.Admin},
		{home, "/v1/vaults", "acme", auth.Reader},
		{home + "/v1", "/v1/vaults", "acme", auth.Reader},
		{home + "/mcp", "/mcp", "acme", auth.Editor},
		{[]string{home, home + "/mcp"}, "/v1/vaults", "acme", auth.Editor},
		{[]string{home, "https://admin.example.test"}, "/mcp", "globex", auth.Admin},
	} {
		token := h.staffToken(map[string]any{"aud": c.audience})
		for range 2 { // again, when the verification is cached
			who, err := h.gate.Caller(request(c.path, token))
			require.NoError(t, err, "%v at %s", c.audience, c.path)
			require.Equal(t, c.tenant, who.Tenant, "%v at %s", c.audience, c.path)
			require.Equal(t, c.role, who.Role("main"), "%v at %s", c.audience, c.path)
		}
	}
	h.stopped(t, fault.Unauthenticated, request("/mcp", h.staffToken(map[string]any{
		"aud": "https://admin.example.test/mcp",
	})))
}

// TestVerificationIsCachedForAMinute checks that a token of a key that its issuer has forgotten is
// accepted for a minute after its last verification.
func TestVerificationIsCachedForAMinute(t *testing.T) {
	h := newHouse(t)
	token := h.staffToken(map[string]any{"exp": h.clock.now().Unix() + 1e5})
	h.who(t, token)
	h.staff.Rotate()
	h.staff.Forget()
	h.clock.pass(59*time.Minute + 30*time.Second)
	h.who(t, token) // with the keys that the gate knows, for an hour
	h.clock.pass(59 * time.Second)
	h.who(t, token)
	h.clock.pass(2 * time.Second)
	h.stopped(t, fault.Unauthenticated, request("/v1/whoami", token))
}

// TestEntryByPath checks that of two entries of an issuer each request uses the first that accepts
// it.
func TestEntryByPath(t *testing.T) {
	h := newHouse(t, func(o *access.GateOptions) {
		of := o.Issuers[0].Issuer
		o.Issuers = []access.Issuer{
			{Issuer: of, Tenant: "acme", Role: auth.Reader},
			{Issuer: of, Audience: "ci", Tenant: "globex", Role: auth.Editor},
		}
	})
	token := h.staffToken(map[string]any{"aud": []string{"ci", home + "/mcp"}})
	for _, c := range []struct{ path, tenant string }{
		{"/v1/vaults", "globex"}, {"/mcp", "acme"}, {"/v1/vaults", "globex"}, {"/mcp", "acme"},
	} {
		who, err := h.gate.Caller(request(c.path, token))
		require.NoError(t, err)
		require.Equal(t, c.tenant, who.Tenant, c.path)
	}
}

// TestGuests checks that a claim may name the local tenant only if AllowLocalTenant is set.
func TestGuests(t *testing.T) {
	h := newHouse(t)
	token := h.staffToken(map[string]any{"tenant": auth.Local, "roles": "admin"})
	h.stopped(t, fault.Unauthenticated, request("/v1/vaults", token))
	open := newHouse(t, func(o *access.GateOptions) { o.AllowLocalTenant = true })
	who := open.who(t, open.staffToken(map[string]any{"tenant": auth.Local, "roles": "admin"}))
	require.Equal(t, auth.Local, who.Tenant)
}

// TestMember checks that a membership in the tenant takes precedence over the claims of a token,
// immediately.
func TestMember(t *testing.T) {
	h := newHouse(t)
	acme := h.tenant(t, "acme")
	token := h.staffToken(map[string]any{"roles": "admin"})
	require.Equal(t, auth.Admin, h.who(t, token).Role("main"))
	m := tenant.Member{
		Issuer: h.staff.URL, Subject: "alice", Prefix: "inbox/",
		Roles: map[string]auth.Role{"main": auth.Reader},
	}
	_, err := acme.SetMember(t.Context(), call, m, func(tenant.Member, bool) any { return nil })
	require.NoError(t, err)
	c := h.who(t, token)
	require.Equal(t, auth.Reader, c.Role("main"))
	require.Equal(t, auth.Nobody, c.Role("other"))
	require.Equal(t, "inbox/", c.Prefix)
	bob := h.staff.Sign(claims(h.staff, home, map[string]any{"sub": "bob", "tenant": "acme", "roles": "admin"}))
	require.Equal(t, auth.Admin, h.who(t, bob).Role("main"), "it is somebody else")
	globex := h.staffToken(map[string]any{"roles": "admin", "tenant": "globex"})
	require.Equal(t, auth.Admin, h.who(t, globex).Role("main"), "another tenant says nothing of it")
	_, err = acme.RemoveMember(t.Context(), call, m, func(tenant.Member) any { return nil })
	require.NoError(t, err)
	require.Equal(t, auth.Admin, h.who(t, token).Role("main"))
}

// workflow returns a token with claims as a forge issues it to its workflows.
func (h *house) workflow(more map[string]any) string {
	all := claims(h.forge, home+"/t/acme", map[string]any{
		"sub":        "repo:acme/app:ref:refs/heads/main",
		"repository": "acme/app", "repository_owner": "acme", "ref": "refs/heads/main",
		"event_name": "push", "run_id": "17",
	})
	for name, value := range more {
		all[name] = value
	}
	return h.forge.Sign(all)
}

func (h *house) rule(t *testing.T, name string, i tenant.Issuer) {
	t.Helper()
	i.URL = h.forge.URL
	i.JWKS = h.forge.JWKS
	_, err := h.tenant(t, name).SetIssuer(t.Context(), call, i,
		func(tenant.Issuer, bool) any { return nil })
	require.NoError(t, err)
}

// everywhere returns a role in all vaults.
func everywhere(r auth.Role) map[string]auth.Role { return map[string]auth.Role{auth.AllVaults: r} }

// TestWorkload checks that a workflow is authenticated without a stored secret, by the most
// specific rule of the tenant that its audience names.
func TestWorkload(t *testing.T) {
	h := newHouse(t)
	h.stopped(t, fault.Unauthenticated, request("/", h.workflow(nil)))
	h.rule(t, "acme", tenant.Issuer{
		Name: "any", Claims: map[string]string{"repository": "acme/*"}, Roles: everywhere(auth.Reader),
	})
	h.rule(t, "acme", tenant.Issuer{
		Name: "main", Claims: map[string]string{"repository": "acme/app", "ref": "refs/heads/main"},
		Roles: map[string]auth.Role{"builds": auth.Editor},
	})
	h.rule(t, "acme", tenant.Issuer{
		Name: "also", Claims: map[string]string{"repository": "acme/app", "ref": "refs/heads/main"},
		Roles: everywhere(auth.Admin),
	})
	c := h.who(t, h.workflow(nil))
	require.Equal(t, auth.Workload("also"), c.Principal, "of two as exact the first by name")
	c = h.who(t, h.workflow(map[string]any{"ref": "refs/heads/dev"}))
	require.Equal(t, auth.Workload("any"), c.Principal)
	require.Equal(t, "acme", c.Tenant)
	require.Equal(t, auth.Reader, c.Role("builds"))
	require.Equal(t, h.forge.URL, c.Issuer)
	require.NotEmpty(t, c.Subject)

	for name, more := range map[string]map[string]any{
		"another owner":    {"repository": "evil/app"},
		"a longer path":    {"repository": "acme/app/x"},
		"another tenant":   {"aud": home + "/t/globex"},
		"no tenant":        {"aud": home},
		"an absent tenant": {"aud": home + "/t/initech"},
		"two tenants":      {"aud": []any{home + "/t/acme", home + "/t/globex"}},
		"an odd tenant":    {"aud": home + "/t/acme/../globex"},
	} {
		c, err := h.gate.Caller(request("/", h.workflow(more)))
		require.Error(t, err, "%s: %+v", name, c)
		require.Equal(t, auth.Refused().Error(), fault.Of(err).Error(), name)
	}
	_, err := h.tenant(t, "acme").RemoveIssuer(t.Context(), call, "also",
		func(tenant.Issuer) any { return nil })
	require.NoError(t, err)
	c = h.who(t, h.workflow(nil))
	require.Equal(t, auth.Workload("main"), c.Principal, "a rule that is gone lets nobody in")
	require.Equal(t, auth.Editor, c.Role("builds"))
	require.Equal(t, auth.Nobody, c.Role("main"))
}

// TestPeopleOfATenant checks that a rule with a client, or with a claim of roles, is for people.
func TestPeopleOfATenant(t *testing.T) {
	h := newHouse(t)
	h.rule(t, "acme", tenant.Issuer{
		Name: "people", ClientID: "rookery-cli", RolesClaim: "groups", Roles: everywhere(auth.Reader),
	})
	c := h.who(t, h.workflow(map[string]any{"sub": "carol"}))
	require.Equal(t, auth.User(h.forge.URL, "carol"), c.Principal)
	require.Equal(t, auth.Reader, c.Role("main"), "without the claim the role of the rule")
	c = h.who(t, h.workflow(map[string]any{"sub": "carol", "groups": map[string]any{"main": "editor"}}))
	require.Equal(t, auth.Editor, c.Role("main"))
	require.Equal(t, auth.Nobody, c.Role("other"))
}

// TestRuleOfAnIssuerOfTheServer checks that a tenant's rule with its own keys is disabled once the
// operator has configured its issuer, in any spelling of its URL. Otherwise the author of the rule
// could act as any user of that issuer. Tokens of the issuer itself are verified by the server's
// entry.
func TestRuleOfAnIssuerOfTheServer(t *testing.T) {
	h := newHouse(t)
	h.rule(t, "acme", tenant.Issuer{
		Name: "people", ClientID: "rookery-cli", Roles: everywhere(auth.Admin),
	})
	token := h.workflow(map[string]any{"sub": "alice"})
	require.Equal(t, auth.User(h.forge.URL, "alice"), h.who(t, token).Principal)
	for _, url := range []string{
		h.forge.URL, h.forge.URL + "/", "https://LOGIN.example.com", "https://login.example.com:443/",
	} {
		teams := h.process(t, h.table, url)
		gate := access.NewGate(access.GateOptions{
			Tenants: teams, PublicURL: home, Closed: true, Now: h.clock.now,
			Verifier: auth.NewVerifier(auth.Options{Now: h.clock.now, Public: h.forge.Client()}),
			Issuers: []access.Issuer{{
				Issuer: auth.Issuer{URL: url, JWKS: h.staff.JWKS}, Tenant: "acme", Role: auth.Reader,
			}},
		})
		c, err := gate.Caller(request("/v1/whoami", token))
		require.Error(t, err, "%s: %+v", url, c)
		require.Equal(t, fault.Unauthenticated, fault.Of(err).Code, url)
		own, err := teams.Tenant(t.Context(), "acme")
		require.NoError(t, err)
		s, err := own.Current(t.Context())
		require.NoError(t, err)
		require.Len(t, own.DisabledIssuers(s), 1, url)
		_, err = own.IssuerOf(s, "people")
		require.Error(t, err, "nobody is a member by a rule that is disabled")
	}
	require.Equal(t, auth.User(h.forge.URL, "alice"), h.who(t, token).Principal,
		"where the operator takes the issuer out again, the rule is in use again")
}

// token creates an API token of a tenant.
func (h *house) token(t *testing.T, name string, entry tenant.Token) auth.Secret {
	t.Helper()
	s := auth.NewSecret(name)
	entry.ID, entry.Digest = s.ID, s.Digest()
	_, err := h.tenant(t, name).CreateToken(t.Context(), call, entry,
		func(tenant.Token) any { return nil })
	require.NoError(t, err)
	return s
}

func TestAPIToken(t *testing.T) {
	h := newHouse(t)
	s := h.token(t, "acme", tenant.Token{
		Name: "ci", Roles: map[string]auth.Role{"builds": auth.Editor}, Prefix: "ci/",
		Tools: []string{"raven_add"}, ReadOnly: true, Expires: h.clock.now().Add(time.Hour),
	})
	c := h.who(t, s.Token())
	require.Equal(t, auth.APIToken(s.ID), c.Principal)
	require.Equal(t, c.Principal, c.Agent)
	require.Equal(t, "ci", c.Name)
	require.Equal(t, s.ID, c.TokenID)
	require.Equal(t, auth.Editor, c.Role("builds"))
	require.Equal(t, auth.Nobody, c.Role("main"))
	require.Equal(t, "ci/", c.Prefix)
	require.True(t, c.ReadOnly)
	require.True(t, c.MayCall("raven_add"))
	require.False(t, c.MayCall("raven_read"))

	other := h.token(t, "globex", tenant.Token{Name: "theirs", Roles: everywhere(auth.Admin)})
	text := s.Token()
	for name, bad := range map[string]string{
		"truncated":         text[:len(text)-1],
		"longer":            text + "a",
		"another secret":    "rk_" + s.ID + "." + other.Token()[len("rk_"+other.ID+"."):],
		"another's id":      "rk_" + other.ID + "." + text[len("rk_"+s.ID+"."):],
		"of a tenant less":  auth.NewSecret("initech").Token(),
		"never made":        auth.NewSecret("acme").Token(),
		"no secret":         "rk_" + s.ID,
		"an empty secret":   "rk_" + s.ID + ".",
		"in capitals":       "RK_" + text[3:],
		"another's tenant":  "rk_globex" + text[len("rk_acme"):],
		"with a space":      text + " ",
		"the prefix only":   "rk_",
		"not ASCII":         "rk_äcme_" + text[len("rk_acme_"):],
		"with a null":       text + "\x00",
		"a JWT, more or so": "rk_a.b.c",
	} {
		c, err := h.gate.Caller(request("/", bad))
		require.Error(t, err, "%s: %+v", name, c)
		require.Equal(t, auth.Refused().Error(), fault.Of(err).Error(), name)
	}
	h.clock.pass(59 * time.Minute)
	h.who(t, text)
	h.clock.pass(2 * time.Minute)
	h.stopped(t, fault.TokenExpired, request("/", text))
	h.stopped(t, fault.Unauthenticated, request("/", "rk_"+s.ID+"."+other.Token()[len("rk_"+other.ID+"."):]))
}

// TestRevocation checks when a revoked token is refused (at once in the process that revoked it,
// elsewhere within a minute), and that a new token is valid everywhere at once.
func TestRevocation(t *testing.T) {
	h := newHouse(t)
	s := h.token(t, "acme", tenant.Token{Name: "x", Roles: everywhere(auth.Reader)})
	h.who(t, s.Token())
	elsewhere, err := h.process(t, h.table).Tenant(t.Context(), "acme")
	require.NoError(t, err)
	revoke := func(at *tenant.Tenant, id string) {
		_, err := at.RevokeToken(t.Context(), call, id, func(tenant.Token, bool) any { return nil })
		require.NoError(t, err)
	}
	revoke(elsewhere, s.ID)
	h.clock.pass(time.Minute)
	h.stopped(t, fault.Unauthenticated, request("/", s.Token()))

	made := auth.NewSecret("acme")
	_, err = elsewhere.CreateToken(t.Context(), call, tenant.Token{
		ID: made.ID, Name: "y", Digest: made.Digest(), Roles: everywhere(auth.Reader),
	}, func(tenant.Token) any { return nil })
	require.NoError(t, err)
	h.who(t, made.Token())
	revoke(h.tenant(t, "acme"), made.ID)
	h.stopped(t, fault.Unauthenticated, request("/", made.Token()))
}

// TestWhatItCosts counts the requests of the gate to the table. A valid token costs none within a
// minute. An invalid one costs a Query, but in the long run at most one a second.
func TestWhatItCosts(t *testing.T) {
	h := newHouse(t)
	s := h.token(t, "acme", tenant.Token{Name: "x", Roles: everywhere(auth.Reader)})
	jwt := h.staffToken(nil)
	h.who(t, s.Token())
	h.who(t, jwt)
	fetched := h.staff.Fetches()
	h.reads.Reset()
	for range 10 {
		h.who(t, s.Token())
		h.who(t, jwt)
	}
	require.Zero(t, h.asked())
	require.Equal(t, fetched, h.staff.Fetches())
	for range 200 {
		h.stopped(t, fault.Unauthenticated, request("/", auth.NewSecret("acme").Token()))
	}
	require.LessOrEqual(t, h.reads.Counts().Queries, 25)
	require.Equal(t, h.reads.Counts().Queries, h.asked())
	h.reads.Reset()
	h.clock.pass(time.Hour)
	h.who(t, s.Token())
	h.who(t, s.Token())
	require.Equal(t, 1, h.reads.Counts().Queries)
	require.Equal(t, 2, h.asked(), "and it was used, once an hour")
}

// TestOpen checks when requests without a token are the local principal: on loopback, until there
// is an API token.
func TestOpen(t *testing.T) {
	h := newHouse(t, func(o *access.GateOptions) { o.Closed = false })
	c, err := h.gate.Caller(request("/", ""))
	require.NoError(t, err)
	require.Equal(t, auth.LocalCaller(), c)
	h.stopped(t, fault.Unauthenticated, request("/", "rk_nonsense"))

	outside := request("/", "")
	address := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7780}
	outside = outside.WithContext(context.WithValue(outside.Context(), http.LocalAddrContextKey, address))
	h.stopped(t, fault.Unauthenticated, outside)

	s := h.token(t, auth.Local, tenant.Token{Name: "first", Roles: everywhere(auth.Admin)})
	h.stopped(t, fault.Unauthenticated, request("/", ""))
	require.Equal(t, auth.Admin, h.who(t, s.Token()).Role("any"))
	_, err = h.tenant(t, auth.Local).RevokeToken(t.Context(), call, s.ID,
		func(tenant.Token, bool) any { return nil })
	require.NoError(t, err)
	h.stopped(t, fault.Unauthenticated, request("/", ""))
}

// TestForms checks the accepted form of a token: one header with the scheme Bearer.
func TestForms(t *testing.T) {
	h := newHouse(t)
	token := h.staffToken(nil)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER ", "Bearer   "} { // 1*SP, RFC 6750 §2.1
		r := request("/", "")
		r.Header.Set("Authorization", scheme+token)
		_, err := h.gate.Caller(r)
		require.NoError(t, err)
	}
	for _, bad := range [][]string{
		{""}, {"Bearer"}, {"Bearer "}, {token}, {"Basic " + token},
		{"Bearer " + token, "Bearer " + token}, {"Bearer " + token + " "}, {"Bearer\t" + token},
		{"Token " + token}, {"Bearer " + token + ", Bearer " + token},
	} {
		r := request("/", "")
		r.Header["Authorization"] = bad
		c, err := h.gate.Caller(r)
		require.Error(t, err, "%q: %+v", bad, c)
		require.Equal(t, auth.Refused().Error(), fault.Of(err).Error())
	}
	h.stopped(t, fault.Unauthenticated, request("/?access_token="+token, ""))
}

// TestIssuerIsDown checks that tokens of an issuer that does not respond are not accepted, and that
// existing callers are not locked out.
func TestIssuerIsDown(t *testing.T) {
	h := newHouse(t)
	known := h.staffToken(nil)
	h.staff.Fail(true)
	h.stopped(t, fault.Unavailable, request("/", known))
	h.staff.Fail(false)
	h.clock.pass(time.Minute)
	h.who(t, known)
	h.staff.Fail(true)
	h.clock.pass(30 * time.Minute)
	h.who(t, known)
	h.who(t, h.staffToken(map[string]any{"jti": "another"}))
}

// TestAgain checks that the permissions of a caller can be read again from the newest state.
func TestAgain(t *testing.T) {
	h := newHouse(t)
	c := h.who(t, h.staffToken(map[string]any{"roles": nil}))
	require.Equal(t, auth.Nobody, c.Role("main"))
	elsewhere, err := h.process(t, h.table).Tenant(t.Context(), "acme")
	require.NoError(t, err)
	_, err = elsewhere.SetMember(t.Context(), call, tenant.Member{
		Issuer: h.staff.URL, Subject: "alice", Roles: everywhere(auth.Editor),
	}, func(tenant.Member, bool) any { return nil })
	require.NoError(t, err)
	now, err := c.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, auth.Editor, now.Role("main"))
	require.Equal(t, c.Principal, now.Principal)
}
