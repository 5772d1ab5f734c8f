package localapp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// TestHostedEscalation checks that no caller can grant more access than it has, to itself or to
// others, with any tool that changes access.
func TestHostedEscalation(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	h.workloads(t)
	climbers := []guest{
		h.bearing("an editor everywhere", h.newToken(t, args{"name": "e", "role": "editor"})),
		h.bearing("an admin of one vault",
			h.newToken(t, args{"name": "a", "role": "admin", "vaults": []string{"main"}})),
		h.bearing("an admin of one vault by its issuer",
			h.jwt("dan", args{"roles": roles{"main": auth.Admin}})),
		h.bearing("an admin under a folder",
			h.newToken(t, args{"name": "p", "role": "admin", "prefix": "inbox"})),
		h.bearing("an admin for some tools", h.newToken(t, args{
			"name": "t", "role": "admin",
			"tools": []string{"team_token_create", "team_member_set", "team_issuer_set"},
		})),
		h.bearing("an admin with an editor's scope",
			h.jwt("root", args{"roles": "admin", "scope": "editor"})),
		h.bearing("a workload", h.workloadToken()),
	}
	before, _ := h.state(t)
	for _, v := range climbers {
		me := h.whoami(t, v)
		for _, step := range []struct {
			tool string
			in   args
		}{
			{"team_token_create", args{"name": "mine", "role": "admin"}},
			{"team_token_create", args{"name": "mine", "role": "reader", "vaults": []string{unseenVault}}},
			{"team_member_set", args{"subject": "dan", "role": "admin"}},
			{"team_member_remove", args{"subject": "root"}},
			{"team_issuer_set", args{"name": "ci", "issuer": h.public.URL, "role": "admin",
				"claims": args{"sub": me.Principal}}},
			{"team_issuer_remove", args{"name": "ci"}},
			{"team_token_list", args{}}, {"team_member_list", args{}}, {"team_issuer_list", args{}},
			{"team_audit", args{}},
		} {
			for _, in := range transports {
				r := h.toolNamed(t, step.tool)
				if v.name == "an admin under a folder" && !r.Kind.Mutates() {
					continue // an admin, who may read
				}
				got, code := h.over(t, in, v, step.tool, step.in)
				require.Equal(t, fault.PermissionDenied, code, "%s by %s: %s", step.tool, v.name, got.body)
			}
		}
	}
	after, _ := h.state(t)
	require.Equal(t, before, after)
}

// workloadToken returns a token of the workload that the tenant heronlabs accepts.
func (h *hosted) workloadToken() string {
	claims := h.public.Claims("repo:heronlabs/site", hostedURL+"/t/heronlabs")
	claims["repository"] = "heronlabs/site"
	return h.public.Sign(claims)
}

// TestHostedScope checks that the scopes of a token limit the role of its bearer, and that the
// refusal names the required scope over every way in: as a 403 with a challenge.
func TestHostedScope(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	v := h.bearing("scoped", h.jwt("ann", args{"roles": "admin", "scope": "openid reader"}))
	for _, in := range transports {
		_, code := h.over(t, in, v, "raven_read", args{"vault": "main", "path": "shared/plan.md"})
		require.Empty(t, code, in.name)
		for name, want := range map[string]string{
			"raven_add": `scope="reader editor"`, "team_token_list": `scope="reader editor admin"`,
		} {
			given := args{}
			if name == "raven_add" {
				given = args{"vault": "main", "text": "x", "to": "shared/plan"}
			}
			got, code := h.over(t, in, v, name, given)
			require.Equal(t, fault.PermissionDenied, code, got.body)
			require.Equal(t, http.StatusForbidden, got.status, "%s over %s: %s", name, in.name, got.body)
			challenge := got.header.Get("WWW-Authenticate")
			require.Contains(t, challenge, `error="insufficient_scope"`, in.name)
			require.Contains(t, challenge, want, in.name)
		}
	}
	low := h.bearing("low", h.jwt("ann", args{"roles": roles{"main": auth.Reader}, "scope": "admin"}))
	got, code := h.over(t, transports[1], low, "raven_add", args{"vault": "main", "text": "x"})
	require.Equal(t, fault.PermissionDenied, code, "a scope gives nothing")
	require.Empty(t, got.header.Get("WWW-Authenticate"), "no token would do")
}

// TestHostedAgents checks that an agent belongs to the principal that first changed something with
// it, in every way of naming it, and that no caller can act as another principal.
func TestHostedAgents(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	first := h.bearing("first", h.newToken(t, args{"name": "1", "role": "editor"}))
	second := h.bearing("second", h.newToken(t, args{"name": "2", "role": "editor"}))
	me := h.whoami(t, first)
	require.Equal(t, me.Principal, me.Agent)
	note := args{"vault": "main", "text": "a line", "to": "shared/plan"}
	named := func(agent string) args {
		given := args{"agent_id": agent}
		for k, v := range note {
			given[k] = v
		}
		return given
	}
	_, code := h.over(t, transports[1], first, "raven_add", named("scribe"))
	require.Empty(t, code)
	for _, agent := range []string{
		"scribe", me.Principal, "local", "user:root@x", "token:x", "workload:ci",
	} {
		for _, in := range transports {
			got, code := h.over(t, in, second, "raven_add", named(agent))
			require.Equal(t, fault.PermissionDenied, code, "%s over %s: %s", agent, in.name, got.body)
			by := second
			by.header = http.Header{"X-Agent-Id": {agent}}
			got, code = h.over(t, in, by, "raven_add", note)
			require.Equal(t, fault.PermissionDenied, code, "%s over %s: %s", agent, in.name, got.body)
			got, code = h.over(t, in, by, "raven_read", args{"vault": "main", "path": "shared/plan.md"})
			require.Equal(t, fault.PermissionDenied, code, "reading as %s over %s: %s",
				agent, in.name, got.body)
		}
	}
	for _, in := range transports {
		_, code := h.over(t, in, first, "raven_add", named("scribe"))
		require.Empty(t, code, "its own agent, over %s", in.name)
		_, code = h.over(t, in, first, "raven_add", named(me.Principal))
		require.Empty(t, code, "itself, over %s", in.name)
	}
	root := h.root("lynxworks")
	_, code = h.over(t, transports[1], root, "raven_add", named("scribe"))
	require.Empty(t, code, "each tenant has agents of its own")
}
