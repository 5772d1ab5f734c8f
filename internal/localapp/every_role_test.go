package localapp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

var allRoles = []auth.Role{auth.Nobody, auth.Reader, auth.Editor, auth.Admin}

// as returns the caller with a role in the vault `main`, and in no other.
func as(role auth.Role, readOnly bool) auth.Caller {
	c := auth.LocalCaller()
	c.Roles, c.ReadOnly = map[string]auth.Role{"main": role}, readOnly
	if role == auth.Nobody {
		c.Roles = nil
	}
	return c
}

// waysAs returns the ways in to the place for a caller other than the local one.
func (p *place) waysAs(t testing.TB, c auth.Caller) []tooltest.Way {
	t.Helper()
	who := func(*http.Request) (auth.Caller, error) { return c, nil }
	server := httptest.NewServer(httptool.New(p.app.Catalogue, httptool.Options{
		Authenticate: who,
		Mount: map[string]http.Handler{
			mcptool.Path: mcptool.New(p.app.Catalogue, mcptool.Options{Authenticate: who}),
		},
	}))
	t.Cleanup(server.Close)
	client := tooltest.NewMCPClient(server.URL+mcptool.Path+"/x/all", nil)
	t.Cleanup(func() { _ = client.Close() }) // its server is about to stop, too
	return []tooltest.Way{
		tooltest.Invoking("catalogue", tooltest.As(p.app.Catalogue, c)),
		tooltest.Invoking("http", &httptool.Client{Base: server.URL}),
		tooltest.Routes(p.app.Catalogue, server.URL),
		tooltest.Invoking("mcp", client),
		tooltest.Commands(p.app.Catalogue.Tools(), tooltest.InProcess(p.app.Catalogue, c)),
	}
}

// refusal returns the code with which a caller is refused, or "". It uses only the tool's Spec, so
// it is valid for future tools too.
func refusal(made *tool.Tool, role auth.Role, readOnly bool) fault.Code {
	switch _, inVault := made.Arg("vault"); {
	case made.Tenant: // a role in one vault is none in the tenant
		return fault.PermissionDenied
	case role == auth.Nobody && (inVault || made.Subject != "") && !made.Makes:
		return fault.NotFound
	case !role.Allows(made.Role):
		return fault.PermissionDenied
	case readOnly && made.Kind.Changes():
		return fault.ReadOnly
	}
	return ""
}

// TestRoles calls every tool with every role, over every way in.
func TestRoles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, role := range allRoles {
		for _, readOnly := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, readonly %v", role, readOnly), func(t *testing.T) {
				ways := p.waysAs(t, as(role, readOnly))
				for _, made := range p.app.Catalogue.Tools() {
					want := refusal(made, role, readOnly)
					for _, way := range ways {
						requireRefusal(t, way, askedBy(t, made), want)
					}
				}
			})
		}
	}
}

// askedBy returns a call that changes nothing if it is permitted: about the vault `main`, and a dry
// run.
func askedBy(t testing.TB, made *tool.Tool) tooltest.Call {
	c := soundCall(t, made)
	if made.Subject != "" {
		c.Args[made.Subject] = json.RawMessage(`"main"`)
	}
	if made.Kind.Mutates() {
		c.Args["dry_run"] = json.RawMessage("true")
	}
	return c
}

// requireRefusal requires the code; for a call that is not refused, any code except those of
// refusals.
func requireRefusal(t *testing.T, way tooltest.Way, c tooltest.Call, want fault.Code) {
	t.Helper()
	answer, carried := way.Call(t, c)
	if !carried {
		return
	}
	code := tooltest.CodeOf(t, answer)
	what := fmt.Sprintf("%s over %s: %s", c.Tool, way.Name, answer)
	switch want {
	case "":
		require.NotContains(t, []fault.Code{fault.PermissionDenied, fault.ReadOnly}, code, what)
		require.NotContains(t, string(answer), "no vault", what)
	case fault.NotFound:
		require.Equal(t, want, code, what)
		require.Contains(t, string(answer), "no vault", what)
	default:
		require.Equal(t, want, code, what)
	}
}

// TestUnseenVaultDoesNotExist checks that every answer about a vault that the caller cannot see is
// that about one that does not exist, byte for byte.
func TestUnseenVaultDoesNotExist(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	done(t, p.catalogue(), "team_vault_create", map[string]any{"name": "dark"})
	for _, role := range allRoles {
		ways := p.waysAs(t, as(role, false)) // and none in `dark`
		for _, made := range p.app.Catalogue.Tools() {
			arg := made.Subject
			if _, inVault := made.Arg("vault"); inVault {
				arg = "vault"
			}
			if arg == "" {
				continue
			}
			for _, way := range ways {
				unseen := answerOn(t, way, made, arg, "dark")
				require.Equal(t, unseen, answerOn(t, way, made, arg, "gone"),
					"%s as %q over %s", made.Name, role, way.Name)
				if made.Makes {
					require.Contains(t, unseen, "PERMISSION_DENIED")
				} else {
					require.Contains(t, unseen, "NOT_FOUND")
				}
			}
		}
	}
}

// answerOn returns the answer of a tool about a vault, without the vault's name.
func answerOn(t testing.TB, way tooltest.Way, made *tool.Tool, arg, vault string) string {
	t.Helper()
	c := askedBy(t, made)
	c.Args[arg] = marshalled(t, vault)
	answer, carried := way.Call(t, c)
	require.True(t, carried || way.Name == "http route" || way.Name == "cli", way.Name)
	if !carried {
		return "NOT_FOUND"
	}
	return string(bytes.ReplaceAll([]byte(tooltest.Comparable(answer)), []byte(vault), nil))
}

// TestUnseenVaultIsNotNamed checks that lists and suggestions name only vaults that the caller can
// see.
func TestUnseenVaultIsNotNamed(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"dark", "night"} {
		done(t, p.catalogue(), "team_vault_create", map[string]any{"name": name})
	}
	for _, way := range p.waysAs(t, as(auth.Reader, false)) {
		for _, made := range p.app.Catalogue.Tools() {
			c := askedBy(t, made)
			delete(c.Args, "vault")
			if answer, carried := way.Call(t, c); carried {
				require.NotContains(t, string(answer), "dark", "%s over %s", made.Name, way.Name)
			}
		}
	}
}
