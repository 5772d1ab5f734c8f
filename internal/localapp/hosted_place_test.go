package localapp_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// The hosted server is called by this name.
const (
	hostedName = "notes.example.test"
	hostedURL  = "https://" + hostedName
)

// A guestVault is a vault of the hosted server. Its word is at every possible place: in texts, values,
// paths, names of types, traits, tags and queries. A caller that cannot read the vault must never
// see the word.
type guestVault struct{ tenant, vault, word string }

// guestVaults are all vaults. Two of them have the same name, in different tenants.
var guestVaults = []guestVault{
	{"heronlabs", "main", "robinword"}, {"heronlabs", "dimcellar", "lampreyword"},
	{"lynxworks", "main", "narwhalword"}, {"lynxworks", "gloomvault", "okapiword"},
}

// absentVault is the name of a vault that does not exist. It is as long as that of the unseen one.
const (
	unseenVault = "dimcellar"
	absentVault = "dimattics"
)

// guestVaultFiles are the notes of a guest vault, with WORD for its word.
var guestVaultFiles = map[string]string{
	"schema.yaml": `version: 1
types:
  WORDkind:
    description: A WORD
    default_path: WORD/
    name_field: title
    fields:
      title: { type: string, required: true }
      value: { type: string }
traits:
  WORDtrait: { type: date }
`,
	"raven.yaml":     "queries:\n  WORDquery: { types: [WORDkind] }\n",
	"shared/plan.md": "# A plan\n\nof WORD, see [[WORD/note]]. Common ground.\n",
	"WORD/note.md": "---\ntype: WORDkind\ntitle: The WORD\nvalue: WORDvalue\ntags: [WORDtag]\n---\n\n" +
		"# The WORD\n\nCommon WORDtext.\n\n- @WORDtrait(2026-01-01) do WORD\n",
}

// files returns the notes of a guest vault.
func (d guestVault) files() map[string]string {
	files := map[string]string{}
	for path, text := range guestVaultFiles {
		files[strings.ReplaceAll(path, "WORD", d.word)] = strings.ReplaceAll(text, "WORD", d.word)
	}
	return files
}

// A hosted is a server with authentication, two tenants, an issuer for both, and an issuer whose
// workloads the tenant heronlabs accepts.
type hosted struct {
	app     *localapp.App
	cfg     config.Config
	handler http.Handler
	dir     string
	logs    *lockedBuffer
	issuer  *authtest.Issuer
	public  *authtest.Issuer
}

// newHosted opens a hosted server, and writes the notes of its guest vaults.
func newHosted(t testing.TB) *hosted {
	t.Helper()
	h := &hosted{
		dir: t.TempDir(), logs: &lockedBuffer{},
		issuer: authtest.NewIssuer(t, "ES256", "RS256"), public: authtest.NewPublicIssuer(t, "RS256"),
	}
	h.cfg = config.Config{
		PublicURL: hostedURL,
		Issuers: []config.Issuer{{
			Issuer: h.issuer.URL, JWKSURL: h.issuer.JWKS, Algorithms: []string{"ES256", "RS256"},
			Tenant: "heronlabs", TenantClaim: "tenant", RolesClaim: "roles",
		}},
		FirstAdmins: []config.Admin{
			{Issuer: h.issuer.URL, Subject: "root", Tenant: "heronlabs"},
			{Issuer: h.issuer.URL, Subject: "root", Tenant: "lynxworks"},
		},
		Limits: config.Limits{MutationsPerMinute: -1, ReadsPerMinute: -1},
	}
	h.open(t)
	t.Cleanup(func() { require.NoError(t, h.app.Close()) })
	h.writeGuestVaults(t)
	return h
}

// open opens the server, which is closed when the test ends.
func (h *hosted) open(t testing.TB) {
	t.Helper()
	var err error
	h.app, err = openApp(t.Context(), localapp.Config{
		Data: h.dir, Server: h.cfg,
		Verifier: auth.NewVerifier(auth.Options{Public: h.public.Client()}),
		Log:      slog.New(slog.NewJSONHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	require.NoError(t, err)
	h.handler = h.app.Handler("1.2.3", []string{hostedName})
}

// writeGuestVaults creates the guest vaults, and the members of the tenant lynxworks.
func (h *hosted) writeGuestVaults(t testing.TB) {
	t.Helper()
	for _, d := range guestVaults {
		root := h.root(d.tenant)
		h.done(t, root, "team_vault_create", args{"name": d.vault})
		h.done(t, root, "team_vault_import", args{"vault": d.vault, "notes": notesOf(d.files())})
	}
	root := h.root("lynxworks")
	h.done(t, root, "team_member_set", args{"subject": "narwhalword", "role": "reader"})
	h.done(t, root, "team_token_create", args{"name": "narwhalword", "role": "reader"})
}

// A guest is a caller of the hosted server, with its credentials and its permissions.
type guest struct {
	name   string
	tokens []string    // the values of the header Authorization
	header http.Header // beside that
	who    auth.Caller // what it may do
	code   fault.Code  // of every answer; empty: it is not refused
}

// root returns the first admin of a tenant.
func (h *hosted) root(tenant string) guest {
	v := h.bearing("root of "+tenant, h.jwt("root", args{"tenant": tenant}))
	v.who.Tenant, v.who.Roles = tenant, map[string]auth.Role{"*": auth.Admin}
	return v
}

// bearing returns the caller with a token.
func (h *hosted) bearing(name, token string) guest {
	return guest{
		name: name, tokens: []string{"Bearer " + token}, who: auth.Caller{Tenant: "heronlabs"},
	}
}

// jwt returns a token of the issuer, for the server as a whole.
func (h *hosted) jwt(subject string, claims args) string {
	all := h.issuer.Claims(subject, hostedURL)
	all["exp"] = inYears()
	maps.Copy(all, claims)
	return h.issuer.Sign(all)
}

// newToken creates an API token of heronlabs.
func (h *hosted) newToken(t testing.TB, in args) string {
	t.Helper()
	return h.tokenBy(t, h.root("heronlabs"), in)
}

// tokenBy creates an API token as a guest.
func (h *hosted) tokenBy(t testing.TB, by guest, in args) string {
	t.Helper()
	var out struct{ Data struct{ Token string } }
	require.NoError(t, json.Unmarshal(h.done(t, by, "team_token_create", in), &out))
	require.NotEmpty(t, out.Data.Token)
	return out.Data.Token
}

// done calls a tool that must succeed.
func (h *hosted) done(t testing.TB, v guest, name string, in args) json.RawMessage {
	t.Helper()
	r := h.invoke(t, v, name, in)
	require.Equal(t, http.StatusOK, r.status, "%s as %s: %s", name, v.name, r.body)
	return json.RawMessage(r.body)
}

// invoke calls a tool by its name.
func (h *hosted) invoke(t testing.TB, v guest, name string, in args) reply {
	t.Helper()
	return h.send(v, posted("/v1/tools/"+name, marshalled(t, in)))
}

// A reply is the response to a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// posted returns a request with a body.
func posted(path string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, hostedURL+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

// send sends a request as a guest, through all layers of the server.
func (h *hosted) send(v guest, r *http.Request) reply {
	r.Header["Authorization"] = v.tokens
	maps.Copy(r.Header, v.header)
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return reply{w.Code, w.Header(), w.Body.String()}
}
