package localapp_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/authtest"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// cloudTenant is the tenant of the stories that run on functions. In the cloud no tenant has the
// name local.
const cloudTenant = "heron"

// functions returns the ways to the programs of AWS Lambda, as processes behind a gateway, over
// emulated stores. The clock of these processes is at noon, because their stores answer with that
// time.
func functions() []wayIn {
	over := func(name string, way func(t testing.TB, f function) tooltest.Way) wayIn {
		return wayIn{name, func(t testing.TB) *entrance {
			f := newFunction(t)
			writeFixture(t, f.client())
			return &entrance{f.telling(way(t, f)), f.byName(), t.TempDir(), &lockedBuffer{}}
		}}
	}
	return []wayIn{
		over("function", func(_ testing.TB, f function) tooltest.Way {
			return tooltest.Either(short(tooltest.RoutesOver(f.bearing(), lookedUp(), f.URL)), f.byName())
		}),
		over("function mcp", func(t testing.TB, f function) tooltest.Way {
			c := tooltest.NewMCPClient(f.URL+mcptool.Path+"/x/all", f.bearing())
			t.Cleanup(func() { _ = c.Close() }) // its server is about to stop, too
			return tooltest.Invoking("function mcp", c)
		}),
	}
}

// maxArgs is a number of bytes of arguments that certainly fits into the line of a request: a
// gateway accepts 10,240 bytes of the line and the headers, and a query has three bytes for some
// characters.
const maxArgs = 2500

// short returns a way for calls with few bytes of arguments.
func short(over tooltest.Way) tooltest.Way {
	return tooltest.Way{Name: over.Name, Call: func(t testing.TB, c tooltest.Call) (json.RawMessage, bool) {
		t.Helper()
		if len(c.JSON(t)) > maxArgs {
			return nil, false
		}
		return over.Call(t, c)
	}}
}

// A function is a deployment with an issuer, whose first token creates the tenant.
type function struct {
	*cloudtest.Deployment
	token, principal string
}

// newFunction deploys a function. A process gets its time from its first answer of a store, so each
// process is called once before.
func newFunction(t testing.TB) function {
	t.Helper()
	issuer := authtest.NewIssuer(t)
	issuers := marshalled(t, []args{{
		"issuer": issuer.URL, "jwks_url": issuer.JWKS, "tenant": cloudTenant, "roles_claim": "roles",
	}})
	d := cloudtest.Deploy(t, cloudtest.Options{
		Stores: cloudtest.NewStores(t), Now: atNoon, Env: []string{"ROOKERY_ISSUERS=" + string(issuers)},
	})
	claims := issuer.Claims("alice", d.URL)
	claims["iat"], claims["exp"], claims["roles"] = noon.Unix(), inYears(), args{"*": "admin"}
	f := function{d, issuer.Sign(claims), auth.User(issuer.URL, "alice")}
	for _, path := range []string{"/v1/vaults/main/stats", "/v1/whoami", "/mcp"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+path, nil)
		require.NoError(t, err)
		answer, err := f.bearing().Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	return f
}

// bearing returns a client that sends the token.
func (f function) bearing() *http.Client { return &http.Client{Transport: cloudtest.Bearer(f.token)} }

func (f function) client() tool.Invoker { return f.Client(f.token) }

func (f function) byName() tooltest.Way { return tooltest.Invoking("function by name", f.client()) }

// tokenID returns the id of an API token.
func tokenID(token string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "rk_"), ".")
	return id
}

// lookedUp returns a catalogue of all tools that makes no calls.
var lookedUp = sync.OnceValue(func() *tool.Catalogue {
	cat, err := tool.NewCatalogue(allTools(), tool.Options{})
	if err != nil {
		panic(err)
	}
	return cat
})

// aroundNoon matches the time of a clock that follows another one within seconds.
var aroundNoon = regexp.MustCompile(`T14:(29:5\d|30:0\d)(\.\d+)?Z`)

// telling returns a way whose answers name the local tenant and principal, and noon. It does not
// support calls whose answers depend on a folder, on archives, on the caller, on the counts of one
// process, or on durations.
func (f function) telling(over tooltest.Way) tooltest.Way {
	return tooltest.Way{Name: over.Name, Call: func(t testing.TB, c tooltest.Call) (json.RawMessage, bool) {
		t.Helper()
		made, _ := lookedUp().Find(c.Tool)
		if made != nil && (tellsOfThePlace(made.Name) || made.Name == "team_whoami" || made.Name == "team_audit") {
			return nil, false
		}
		vault := textArg(c, "vault")
		if token := textArg(c, "page_token"); token != "" {
			c.Args = maps.Clone(c.Args)
			c.Args["page_token"] = marshalled(t, moved(token, auth.Local, cloudTenant, vault))
		}
		answer, carried := over.Call(t, c)
		text := strings.NewReplacer(f.principal, auth.Local, `"`+cloudTenant+`"`, `"`+auth.Local+`"`).Replace(string(answer))
		text = pageTokens.ReplaceAllStringFunc(text, func(token string) string {
			return moved(token, cloudTenant, auth.Local, vault)
		})
		return json.RawMessage(aroundNoon.ReplaceAllString(text, "T14:30:00Z")), carried
	}}
}

// pageTokens matches tokens of pages, which begin with "p2:" before they are encoded.
var pageTokens = regexp.MustCompile(`cDI6[\w-]+`)

// moved returns the page token of one tenant in the form for another tenant: after three bytes and
// eight of the tool, it has eight bytes of the tenant and the vault. Any other token is returned
// unchanged.
func moved(token, from, to, vault string) string {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(text) < 19 {
		return token
	}
	of := func(tenant string) []byte {
		sum := sha256.Sum256([]byte(tenant + "\x00" + vault))
		return sum[:8]
	}
	if bytes.Equal(text[11:19], of(from)) {
		copy(text[11:19], of(to))
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// endsItsTenant reports whether a story erases its tenant, and with it the tokens of a function.
func endsItsTenant(s tooltest.Story) bool {
	return slices.ContainsFunc(s.Steps, func(step tooltest.Step) bool { return step.Tool == "team_tenant_erase" })
}
