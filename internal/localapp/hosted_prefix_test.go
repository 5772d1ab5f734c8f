package localapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// outside are arguments, by name, with which tools might change something outside inbox/. They are
// tried with every tool that has them.
var outside = args{
	"name": "dimcellar", "type": "robinwordkind", "trait_type": "robinwordtrait",
	"value": "2026-01-01", "old_str": "Common", "new_str": "Changed",
	"set": args{"value": "2026-02-02"}, "unset": []string{"value"}, "text": "changed",
	"title": "Changed", "content": "changed", "mode": "replace", "subject": "a-member",
	"role": "admin", "readonly": true, "query": "type:page", "destination": "shared/elsewhere", "output_dir": "shared", "secrets": "off", "full": true, "version": "v2",
	"propertyName": "a", "newValue": "x",
}

// nestedCalls are calls of tools that name notes within other arguments, which attempts does not
// reach.
var nestedCalls = map[string]string{
	"notes_import":     `{"vault":"main","type":"raven","files":[{"path":"shared/brought.md","content":"x"}]}`,
	"raven_query_save": `{"vault":"main","name":"dimcellar","query":"type:page"}`,
	"raven_section":    `{"vault":"main","op":"create","file":"shared/plan","title":"x"}`,

	"raven_schema_add":    `{"vault":"main","kind":"type","name":"dimcellar"}`,
	"raven_schema_update": `{"vault":"main","kind":"type","name":"robinwordkind","description":"dimcellar"}`,
	"raven_schema_remove": `{"vault":"main","kind":"trait","name":"robinwordtrait","force":true}`,

	"raven_query_remove": `{"vault":"bare","name":"dimcellar"}`,
	"raven_schema_init":  `{"vault":"bare"}`,

	"raven_batch": `{"vault":"main","operations":[{"op":"add","data":{"text":"x","to":"shared/plan"}}]}`,

	"tree_add_child":     `{"vault":"main","versionToken":"NOW","parentNodeId":"shared/","payloadType":"page","payloadProps":{"title":"x"}}`,
	"tree_copy_subtree":  `{"vault":"main","versionToken":"NOW","sourceId":"shared/plan","targetParentId":"shared/"}`,
	"tree_clone_node":    `{"vault":"main","versionToken":"NOW","nodeId":"shared/plan","targetParentId":"/"}`,
	"tree_move_node":     `{"vault":"main","versionToken":"NOW","nodeId":"shared/plan","newParentId":"/"}`,
	"tree_sort_children": `{"vault":"main","versionToken":"NOW","parentId":"/","byProp":"name","direction":"desc"}`,

	"tree_update_nodes":     `{"vault":"main","versionToken":"NOW","filter":"nodeId = shared/plan","patch":{"a":1}}`,
	"tree_import_merge":     `{"vault":"main","versionToken":"NOW","json":{"nodeId":"shared/plan","payload":{"a":1}}}`,
	"tree_snapshot_restore": `{"vault":"main","versionToken":"NOW","snapshotId":"early"}`,
}

// places are the arguments that name a note.
var places = []string{"id", "path", "to", "parent_id", "notes", "source", "file", "nodeId", "parentNodeId", "newParentId",
	"siblingId", "parentId", "sourceId", "targetParentId"}

// attempts returns calls of a tool that may change something outside inbox/: with the required
// arguments, with each other argument in addition, and with all. Notes are named in every possible
// way; trait is the id of a trait.
func attempts(t testing.TB, made *tool.Tool, trait string) []tooltest.Call {
	t.Helper()
	var all []tooltest.Call
	for _, note := range []string{
		"shared/plan", "shared/plan.md", "robinword/note", "schema.yaml", "raven.yaml", "inboxes/x",
		"inbox.md", "inbox/../shared/plan", "inbox/../../notes/shared/plan", "Inbox/x", "/shared/plan",
		".trash/shared/plan.md", ".trash/shared/gone.md", trait,
	} {
		least, most := soundCall(t, made), soundCall(t, made)
		var optional []string
		for _, a := range made.Args {
			value, ok := attempt(a, note)
			if !ok {
				continue
			}
			most.Args[a.Name] = marshalled(t, value)
			if a.Required || slices.Contains(places, a.Name) {
				least.Args[a.Name] = most.Args[a.Name]
			} else {
				optional = append(optional, a.Name)
			}
		}
		all = append(all, least, most)
		for _, name := range optional {
			one := tooltest.Call{Tool: made.Name, Args: maps.Clone(least.Args)}
			one.Args[name] = most.Args[name]
			all = append(all, one)
		}
	}
	return append(all, soundCall(t, made))
}

// attempt returns the value with which an argument is tried, and false if it is not.
func attempt(a tool.Arg, note string) (any, bool) {
	switch {
	case a.Name == "notes":
		return []args{{"path": note, "text": "changed"}}, true
	case slices.Contains(places, a.Name):
		return note, true
	}
	value, ok := outside[a.Name]
	return value, ok && (len(a.Schema().Enum) == 0 || slices.Contains(a.Schema().Enum, value))
}

// state returns the versions of everything in the tenant, and all files of all tenants.
func (h *hosted) state(t testing.TB) (string, map[string]string) {
	t.Helper()
	list := h.done(t, h.root("heronlabs"), "team_vault_list", args{})
	return tooltest.Comparable(list), filesIn(t, h.dir)
}

// TestHostedPrefix checks that a token which is bound to a folder changes no byte outside it, with
// any tool in any way: neither another note, nor the schema, nor a setting, nor access; and that it
// can write in the folder.
func TestHostedPrefix(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	v := h.bearing("bound", h.newToken(t, args{"name": "bound", "role": "admin", "prefix": "inbox"}))
	v.who = auth.Caller{Tenant: "heronlabs", Roles: roles{"*": auth.Admin}, Prefix: "inbox/"}
	trait := idOf("robinword/note", "robinwordtrait", "do robinword")
	root := h.root("heronlabs")
	h.done(t, root, "raven_new", args{"vault": "main", "type": "page", "title": "Gone", "path": "shared/gone"})
	h.done(t, root, "tree_snapshot_create", args{"vault": "main", "label": "early", "versionToken": "v1"})
	h.done(t, root, "raven_delete", args{"vault": "main", "id": "shared/gone"})
	h.done(t, root, "team_vault_create", args{"name": "bare"})
	h.done(t, root, "raven_query_save", args{"vault": "bare", "name": "dimcellar", "query": "type:page"})
	people := []args{}
	for i := range 9 {
		people = append(people, args{"path": fmt.Sprintf("people/p%d.md", i), "text": "---\nname: One\n---\n"})
	}
	h.done(t, root, "team_vault_import", args{"vault": "bare", "notes": people})
	versions, files := h.state(t)
	cases, tried := 0, map[string]bool{}
	var stats answer
	require.NoError(t, json.Unmarshal(h.done(t, root, "raven_stats", args{"vault": "main"}), &stats))
	now := stats.Meta.Version
	for _, made := range h.app.Catalogue.Tools() {
		if !made.Kind.Mutates() {
			continue
		}
		for i, c := range attempts(t, made, trait) {
			if _, takes := made.Arg("versionToken"); takes {
				c.Args["versionToken"] = marshalled(t, now)
			}
			in := transports[i%len(transports)]
			r, carried := in.request(t, made, c)
			if !carried {
				continue
			}
			cases++
			got := h.send(v, r)
			_, code := got.said(t)
			tried[made.Name] = tried[made.Name] || code == fault.PermissionDenied || code == ""
			require.NotEqual(t, fault.Internal, code, got.body)
		}
		after, filesAfter := h.state(t)
		if made.Family.Name == "memory" {
			versions = after // memories are in no folder: such a token may write them
		}
		require.Equal(t, versions, after, made.Name)
		require.Equal(t, files, filesAfter, made.Name)
	}
	require.Greater(t, cases, 200)
	t.Logf("%d calls", cases)
	for name, was := range tried {
		if strings.HasPrefix(name, "memory_") || nestedCalls[name] != "" {
			continue // memories are in no folder; for the others see below
		}
		assert.True(t, was, "%s found fault with all calls before it looked where they write", name)
	}
	for name, in := range nestedCalls {
		r, carried := transports[0].request(t, known(name), tooltest.NewCall(t, name, strings.ReplaceAll(in, "NOW", now)))
		require.True(t, carried)
		_, code := h.send(v, r).said(t)
		require.Contains(t, []fault.Code{fault.PermissionDenied, fault.BatchFailed}, code, name)
	}
	_, filesAfter := h.state(t)
	require.Equal(t, files, filesAfter)
}

// TestHostedPrefixInside checks that a caller which is bound to a folder can write there like any
// other.
func TestHostedPrefixInside(t *testing.T) {
	t.Parallel()
	h := newHosted(t)
	v := h.bearing("bound", h.newToken(t,
		args{"name": "bound", "role": "editor", "vaults": []string{"main"}, "prefix": "inbox/"}))
	for _, step := range []struct {
		tool string
		in   args
	}{
		{"raven_new", args{"type": "page", "title": "Mine", "path": "inbox/mine"}},
		{"raven_add", args{"text": "a line", "to": "inbox/mine"}},
		{"raven_set", args{"id": "inbox/mine", "set": args{"colour": "red"}}},
		{"raven_unset", args{"id": "inbox/mine", "unset": []string{"colour"}}},
		{"raven_edit", args{"id": "inbox/mine", "old_str": "a line", "new_str": "another"}},
		{"team_vault_import", args{"notes": []args{{"path": "inbox/in.md", "text": "# In\n"}}}},
		{"raven_delete", args{"id": "inbox/in"}},
	} {
		step.in["vault"] = "main"
		got := h.invoke(t, v, step.tool, step.in)
		require.Equal(t, http.StatusOK, got.status, "%s: %s", step.tool, got.body)
	}
	got := h.invoke(t, v, "team_vault_import", args{"vault": "main", "notes": []args{
		{"path": "inbox/two.md", "text": "in"}, {"path": "elsewhere.md", "text": "out"},
	}})
	_, code := got.said(t)
	require.Equal(t, fault.PermissionDenied, code, "a batch is refused as a whole: %s", got.body)
	got = h.invoke(t, v, "raven_read", args{"vault": "main", "path": "inbox/two.md"})
	_, code = got.said(t)
	require.Equal(t, fault.NotFound, code, got.body)
	got = h.invoke(t, v, "raven_read", args{"vault": "main", "path": "shared/plan.md"})
	require.Contains(t, got.body, "robinword", "all of the vault can be read")
	require.True(t, json.Valid([]byte(got.body)))
}
