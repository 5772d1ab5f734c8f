package localapp_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// askedOf returns a call about a vault that changes nothing if it is permitted.
func askedOf(t testing.TB, made *tool.Tool, vault string) tooltest.Call {
	t.Helper()
	c := askedBy(t, made)
	if _, inVault := made.Arg("vault"); inVault {
		c.Args["vault"] = marshalled(t, vault)
	}
	if made.Subject != "" {
		c.Args[made.Subject] = marshalled(t, vault)
	}
	return c
}

// aboutVaults reports whether a call of the tool names a vault.
func aboutVaults(made *tool.Tool) bool {
	_, inVault := made.Arg("vault")
	return inVault || made.Subject != ""
}

// TestHostedIsolation checks the answers of every tool for every caller, over every way in, about a
// vault that it can see, one that it cannot see, and one that does not exist. The code follows from
// the tool's Spec, no answer contains anything that the caller cannot see, and those about the last
// two vaults are the same.
//
// One way is tried for each caller and tool, a different one each time; with ROOKERY_SOAK all are.
func TestHostedIsolation(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	guests := h.guests(t)
	before := filesIn(t, h.dir)
	whole := os.Getenv("ROOKERY_SOAK") != ""
	var cases atomic.Int64
	t.Run("guests", func(t *testing.T) {
		for n, v := range guests {
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				for i, made := range h.app.Catalogue.Tools() {
					for k, in := range transports {
						if whole || k == (n+i)%len(transports) {
							cases.Add(int64(h.isolated(t, v, made, in)))
						}
					}
				}
			})
		}
	})
	require.Greater(t, int(cases.Load()), 2*len(guests)*len(allTools()))
	t.Logf("%d calls of %d tools by %d callers", cases.Load(), len(allTools()), len(guests))
	require.Equal(t, before, filesIn(t, h.dir), "nothing is changed")
	for _, d := range guestVaults {
		require.NotContains(t, h.logs.String(), d.word)
	}
}

// isolated makes the calls of one tool by one guest over one way, and counts them.
func (h *hosted) isolated(t testing.TB, v guest, made *tool.Tool, in transport) (calls int) {
	t.Helper()
	vaults := []string{"main"}
	if aboutVaults(made) {
		vaults = []string{"main", unseenVault, absentVault}
	}
	replies := map[string]string{}
	for _, vault := range vaults {
		r, carried := in.request(t, made, askedOf(t, made, vault))
		if !carried {
			return calls
		}
		calls++
		got := h.send(v, r)
		what := fmt.Sprintf("%s of %q as %s over %s: %.500s", made.Name, vault, v.name, in.name, got.body)
		v.requireCode(t, got, v.refusal(made, vault), what)
		v.requireNothingForeign(t, got.comparable(), vault, what)
		replies[vault] = strings.ReplaceAll(got.comparable(), vault, "")
	}
	if _, asked := replies[unseenVault]; asked && !v.sees(guestVaults[1]) {
		require.Equal(t, replies[unseenVault], replies[absentVault],
			"%s as %s over %s", made.Name, v.name, in.name)
	}
	return calls
}

// requireCode requires the code; for a call that is not refused, any code except those of refusals.
func (v guest) requireCode(t testing.TB, got reply, want fault.Code, what string) {
	t.Helper()
	answer, _ := got.said(t)
	v.requireCodeOf(t, answer, want, what)
	if v.code != "" {
		require.NotEmpty(t, got.header.Get("WWW-Authenticate"), what)
	}
}

// requireCodeOf is requireCode for an answer.
func (v guest) requireCodeOf(t testing.TB, answer json.RawMessage, want fault.Code, what string) {
	t.Helper()
	code := tooltest.CodeOf(t, answer)
	switch want {
	case "":
		if code == fault.PermissionDenied && v.who.Prefix != "" {
			require.Contains(t, string(answer), `"prefix":"`+v.who.Prefix+`"`, what)
			return
		}
		require.NotContains(t, []fault.Code{
			fault.PermissionDenied, fault.ReadOnly, fault.Unauthenticated, fault.TokenExpired,
			fault.Internal, fault.Unavailable, fault.RateLimited,
		}, code, what)
	case fault.NotFound:
		require.Equal(t, want, code, what)
		require.Contains(t, string(answer), "no vault", what)
	default:
		require.Equal(t, want, code, what)
	}
}

// TestHostedOwn checks that a reader of a vault gets its notes, and nothing of another vault, even
// if one in another tenant has the same name: caches do not mix them.
func TestHostedOwn(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	for _, in := range transports {
		for range 2 { // the second time from what is cached
			for _, d := range guestVaults {
				v := h.root(d.tenant)
				for name, given := range map[string]args{
					"team_vault_export": {}, "raven_search": {"query": "Common"}, "raven_schema_types": {},
					"raven_read": {"path": "shared/plan.md"}, "raven_object_get": {"id": d.word + "/note"},
				} {
					given["vault"] = d.vault
					got, code := h.over(t, in, v, name, given)
					require.Empty(t, code, got.body)
					require.Contains(t, got.body, d.word, name)
					for _, other := range guestVaults {
						if other != d {
							require.NotContains(t, got.body, other.word, "%s of %s in %s over %s",
								name, d.vault, d.tenant, in.name)
						}
					}
				}
			}
		}
	}
}

// TestHostedCommands checks that commands which are sent to the server with a token are refused
// like the calls over HTTP. Each caller tries every fourth tool; with ROOKERY_SOAK all.
func TestHostedCommands(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	handler := h.app.Handler("1.2.3", nil)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	whole := os.Getenv("ROOKERY_SOAK") != ""
	for n, v := range h.guests(t) {
		if v.code != "" || v.header != nil {
			continue // commands say nothing more about a call that is not let in
		}
		token := strings.TrimPrefix(v.tokens[0], "Bearer ")
		way := tooltest.Commands(allTools(), func(to clitool.Target) tool.Invoker {
			return &httptool.Client{Base: server.URL, Token: token, Agent: to.Agent, Session: to.Session}
		})
		for i, made := range h.app.Catalogue.Tools() {
			if !whole && (n+i)%4 != 0 {
				continue
			}
			vault := []string{"main", unseenVault, absentVault}[i%3]
			answer, carried := way.Call(t, askedOf(t, made, vault))
			if !carried {
				continue
			}
			what := fmt.Sprintf("%s of %q as %s: %.300s", made.Name, vault, v.name, answer)
			v.requireCodeOf(t, answer, v.refusal(made, vault), what)
			v.requireNothingForeign(t, string(answer), vault, what)
		}
	}
}

// TestHostedNothingForeign checks that a reader of one vault learns nothing about others by naming
// their things in any argument: the answers contain no word of theirs, and are the same as for
// things that do not exist.
//
// Each argument is tried with one form of the name for each vault; with ROOKERY_SOAK with all.
func TestHostedNothingForeign(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	v := h.bearing("reader", h.jwt("ann", args{"roles": roles{"main": auth.Reader}}))
	v.who.Roles = roles{"main": auth.Reader}
	whole := os.Getenv("ROOKERY_SOAK") != ""
	cases, n := 0, 0
	for _, made := range h.app.Catalogue.Tools() {
		for _, a := range made.Args {
			if a.Schema().Type != "string" || a.Name == "vault" || len(a.Schema().Enum) > 0 {
				continue
			}
			for _, d := range guestVaults[1:] {
				forms := foreignForms(d)
				n++
				for i, form := range forms {
					if whole || i == n%len(forms) {
						cases++
						h.requireStrange(t, v, made, [3]string{a.Name, form, d.word})
					}
				}
			}
		}
	}
	require.Greater(t, cases, 500)
	t.Logf("%d pairs of calls", cases)
}

// foreignForms returns the forms in which a thing of a guest vault can be named, with a placeholder for its
// word.
func foreignForms(d guestVault) []string {
	return []string{
		"%s", "%s/note", "../" + d.vault + "/notes/%s/note.md", "%stag", "%skind", "%strait", "%squery",
		"rookery://" + d.vault + "/notes/%s/note.md",
	}
}

// requireStrange requires that an argument with a word of another vault is answered like one with a
// word that no vault has. ask is the argument, the form of its value, and the word.
func (h *hosted) requireStrange(t testing.TB, v guest, made *tool.Tool, ask [3]string) {
	t.Helper()
	var told []string
	nobodys := strings.Repeat("q", len(ask[2]))
	for _, word := range []string{ask[2], nobodys} {
		c := askedOf(t, made, "main")
		c.Args[ask[0]] = marshalled(t, fmt.Sprintf(ask[1], word))
		r, _ := transports[1].request(t, made, c)
		got := strings.ReplaceAll(h.send(v, r).comparable(), word, "")
		got = strings.ReplaceAll(got, guestVaults[1].vault, "") // as the forms name it
		got = strings.ReplaceAll(got, guestVaults[3].vault, "")
		told = append(told, got)
	}
	require.Equal(t, told[1], told[0], "%s with %s %s", made.Name, ask[0], ask[1])
}

// TestHostedAids checks that lists, documents, prompts and completions show nothing that the caller
// cannot see, and that a resource of such a vault does not exist for it.
func TestHostedAids(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	for _, v := range h.guests(t) {
		for _, path := range []string{
			"/docs", "/openapi.json", "/healthz", "/readyz", "/", "/v1", "/v1/vaults/" + absentVault,
			"/v1/vaults", "/v1/whoami", "/v1/usage", "/v1/complete?prefix=dim", "/v1/tokens", "/metrics",
			"/.well-known/oauth-protected-resource",
		} {
			r := posted(path, nil)
			r.Method = "GET"
			v.requireNothingForeign(t, h.send(v, r).comparable(), "", v.name+" "+path)
		}
		for _, method := range []string{
			"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list",
		} {
			got := h.send(v, message(t, method, args{}))
			v.requireNothingForeign(t, got.comparable(), "", v.name+" "+method)
		}
		h.requireNoResource(t, v)
		h.requireNoCompletion(t, v)
	}
}

// requireNoResource requires that resources of a vault that the guest does not see are answered
// like those of a vault that does not exist.
func (h *hosted) requireNoResource(t testing.TB, v guest) {
	t.Helper()
	for _, uri := range []string{"rookery://%s/schema", "rookery://%s/notes/lampreyword/note.md"} {
		var told []string
		for _, vault := range []string{unseenVault, absentVault} {
			asked := fmt.Sprintf(uri, vault)
			r := message(t, "resources/read", args{"uri": asked})
			r.Header.Set("Mcp-Name", asked)
			got := strings.ReplaceAll(h.send(v, r).comparable(), vault, "")
			told = append(told, strings.ReplaceAll(got, "lampreyword/note", ""))
		}
		if !v.sees(guestVaults[1]) {
			require.Equal(t, told[1], told[0], "%s %s", v.name, uri)
			v.requireNothingForeign(t, told[0], "", v.name)
		} else if v.who.Tools == nil {
			require.Contains(t, told[0], "lampreyword", v.name)
		}
	}
}

// requireNoCompletion requires that nothing of a vault that the guest does not see is completed.
func (h *hosted) requireNoCompletion(t testing.TB, v guest) {
	t.Helper()
	template := args{"type": "ref/resource", "uri": "rookery://{vault}/notes/{+path}"}
	for _, ask := range []args{
		{"ref": template, "argument": args{"name": "vault", "value": "dim"}},
		{"ref": template, "argument": args{"name": "path", "value": ""},
			"context": args{"arguments": args{"vault": unseenVault}}},
	} {
		got := h.send(v, message(t, "completion/complete", ask)).comparable()
		v.requireNothingForeign(t, got, "", fmt.Sprint(v.name, ask))
		if v.sees(guestVaults[1]) && v.who.Tools == nil {
			require.Regexp(t, "dimcellar|lampreyword", got, v.name)
		}
	}
}

// TestHostedReadOnly checks that a read-only server refuses every mutation of every caller.
func TestHostedReadOnly(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	require.NoError(t, h.app.Close())
	h.cfg.ReadOnly = true
	h.open(t)
	root := h.root("heronlabs")
	root.who.ReadOnly = true
	for _, made := range h.app.Catalogue.Tools() {
		for _, in := range transports {
			if r, carried := in.request(t, made, askedOf(t, made, "main")); carried {
				got := h.send(root, r)
				root.requireCode(t, got, root.refusal(made, "main"), made.Name+" over "+in.name+": "+got.body)
			}
		}
	}
}

// TestHostedImplied checks that the implied vault is one that the caller can see, and that only
// such vaults are suggested.
func TestHostedImplied(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	for _, v := range h.guests(t) {
		if v.code != "" {
			continue
		}
		for _, made := range h.app.Catalogue.Tools() {
			c := askedOf(t, made, "main")
			if _, named := c.Args["vault"]; !named || made.Anywhere {
				continue
			}
			delete(c.Args, "vault")
			r, _ := transports[1].request(t, made, c)
			got := h.send(v, r)
			v.requireNothingForeign(t, got.comparable(), "", made.Name+" as "+v.name)
			var alone struct{ OK bool }
			require.NoError(t, json.Unmarshal([]byte(got.body), &alone))
			if seen := v.count(); seen != 1 {
				require.False(t, alone.OK, "%s as %s: %s", made.Name, v.name, got.body)
			}
		}
	}
}

// count returns the number of vaults that the guest sees.
func (v guest) count() (n int) {
	for _, d := range guestVaults {
		if v.sees(d) {
			n++
		}
	}
	return n
}
