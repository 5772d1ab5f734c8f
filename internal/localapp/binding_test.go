package localapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// paged are the arguments of each tool that answers in pages: of a call that has several pages, and
// of another call.
var paged = map[string][2]args{
	"raven_object_list":    {{"type": "person"}, {"type": "page"}},
	"raven_search":         {{"query": "word"}, {"query": "other"}},
	"raven_trait_list":     {{"trait_type": "due"}, {"trait_type": "due", "value": "2026-01-01"}},
	"raven_backlinks":      {{"target": "people/a"}, {"target": "people/b"}},
	"raven_outlinks":       {{"target": "inbox"}, {"target": "people/b"}},
	"raven_type":           {{"list": true}, {"name": "person"}},
	"raven_tag":            {{"list": true}, {"tag": "one"}},
	"raven_date":           {{"date": "2026-01-01"}, {"date": "2026-01-02"}},
	"raven_untyped":        {{}, nil},
	"raven_history":        {{"id": "inbox"}, {"id": "people/a"}},
	"raven_log":            {{}, {"op": "create"}},
	"raven_query":          {{"query": "type:person"}, {"query": "type:page"}},
	"raven_query_list":     {{}, nil},
	"raven_trash_list":     {{}, {"id": "old/a"}},
	"raven_complete":       {{"kind": "id", "prefix": "people/"}, {"kind": "id", "prefix": "in"}},
	"notes_export":         {{"target": "x"}, {"target": "word"}},
	"notes_complete":       {{"kind": "note_tag"}, {"kind": "project"}},
	"memory_list":          {{}, {"sort": "importance"}},
	"memory_history":       {{"memory_id": "mem_a"}, {"memory_id": "mem_b"}},
	"memory_export":        {{}, {"format": "markdown"}},
	"memory_complete":      {{"kind": "memory"}, {"kind": "agent"}},
	"tree_list_children":   {{"nodeId": "people/"}, {"nodeId": "large/"}},
	"tree_get_subtree":     {{"nodeId": "/"}, {"nodeId": "people/"}},
	"tree_search":          {{}, {"rootNodeId": "people/"}},
	"tree_search_advanced": {{}, {"sortBy": "name"}},
	"tree_select_nodes":    {{"queryDsl": "depth > 0"}, {"queryDsl": "depth > 1"}},
	"tree_query_by_tag":    {{"tag": "one"}, {"tag": "two"}},
	"tree_validate_tree":   {{"rulesetId": "own"}, {"rulesetId": "own", "rootNodeId": "people/"}},
	"tree_get_view":        {{"rootNodeId": "/"}, {"rootNodeId": "people/"}},
	"tree_snapshot_list":   {{}, nil},
	"team_vault_export":    {{}, nil},
	"team_vault_list":      {{}, nil},
	"team_token_list":      {{}, {"all": true}},
	"team_member_list":     {{}, nil},
	"team_issuer_list":     {{}, nil},
	"team_audit":           {{}, {"outcome": "ok"}},
	"team_job_list":        {{}, {"state": "done"}},
	"team_tenant_export":   {{}, nil},
	"team_complete":        {{"kind": "vault"}, {"kind": "vault", "prefix": "v"}},
	"team_complete_access": {{"kind": "issuer"}, {"kind": "issuer", "prefix": "o"}},
}

// bindingPlace returns a place in which each of the calls has several pages, in the vaults v and w.
func bindingPlace(t *testing.T) local {
	app, err := openApp(t.Context(), localapp.Config{
		Data: t.TempDir(), Server: config.Config{
			PublicURL: "https://memory.example.test",
			Issuers:   []config.Issuer{{Issuer: "https://login.example.test", Tenant: "other"}},
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	i := local{app}
	for _, vault := range []string{"v", "w"} {
		must(t, i, "team_vault_create", args{"name": vault})
		must(t, i, "team_vault_import", args{"vault": vault, "notes": listOf(map[string]string{
			"schema.yaml": "version: 1\ntypes:\n  person:\n    default_path: people/\ntraits:\n  due: {type: date}\n",
			"people/a.md": "---\ntype: person\ntags: [one]\n---\nword @due(2026-01-01)\nother [[inbox]] #one\n",
			"people/b.md": "---\ntype: person\ntags: [two]\n---\nword other [[people/a]] [[inbox]] #two\n",
			"inbox.md":    "- word [[people/a]] @due(2026-01-01)\n- [[people/b]] [[2026-01-01]]\n- other\n",
			"more.md":     "word\n", "old/a.md": "", "old/b.md": "",
			"tagged.md": "#one\n", "rookery.yaml": "tree:\n  rulesets:\n    own:\n      rules:\n        - {id: a, require: [nope]}\n",
			"raven.yaml": "queries:\n  one: type:person\n  two: type:page\n",
		})})
		for n := range 3 {
			path := fmt.Sprintf("large/%d.md", n)
			must(t, i, "team_vault_import", args{"vault": vault, "notes": listOf(map[string]string{
				path: strings.Repeat("x\n", 450_000)})})
		}
		must(t, i, "raven_add", args{"vault": vault, "text": "line", "to": "inbox"})
		must(t, i, "raven_delete", args{"vault": vault, "id": "old/a"})
		must(t, i, "raven_delete", args{"vault": vault, "id": "old/b"})
		for _, id := range []string{"mem_a", "mem_b"} { // more than a page of an export
			must(t, i, "memory_import", args{"vault": vault, "files": []args{{"path": "m.jsonl", "content": largeMemory(id)}}})
			must(t, i, "memory_update_memory", args{"vault": vault, "memory_id": id, "tags": []string{"changed"}})
		}
		must(t, i, "team_audit_verify", args{"vault": vault})
		for _, label := range []string{"one", "two", "three"} {
			must(t, i, "tree_snapshot_create", args{"vault": vault, "label": label, "versionToken": "v1"})
		}
	}
	for _, name := range []string{"one", "other"} {
		must(t, i, "team_token_create", args{"name": name, "role": "reader"})
		must(t, i, "team_issuer_set", args{"name": name, "issuer": "https://" + name + ".example.test",
			"role": "reader", "client_id": "rookery"})
		must(t, i, "team_member_set", args{"subject": name, "issuer": name, "role": "reader"})
	}
	return i
}

// largeMemory returns the line of an import for a memory of 900 KB.
func largeMemory(id string) string {
	var actions []args
	for range 4 {
		actions = append(actions, args{"type": "command_run", "result": args{
			"success": true, "output_summary": strings.Repeat("x", 225_000)}})
	}
	line, err := json.Marshal(args{
		"id": id, "intent": args{"goal": id, "task_type": "other"},
		"outcome": args{"success": true, "summary": "s"}, "actions": actions,
	})
	if err != nil {
		panic(err) // never: texts can be marshaled
	}
	return string(line)
}

// limited returns the arguments of a call for a page of a size, if the tool has such an argument.
func limited(made *tool.Tool, in args, limit int) args {
	if _, has := made.Arg("limit"); !has {
		return in
	}
	return with(in, "limit", limit)
}

// TestPageTokensAreBound checks for each tool that answers in pages that a page token continues the
// call that returned it, and is refused by another tool, with other arguments, in another vault and
// in another tenant.
func TestPageTokensAreBound(t *testing.T) {
	i := bindingPlace(t)
	tokens := map[string]string{}
	for _, made := range allTools() {
		if _, pages := made.Arg("page_token"); !pages {
			continue
		}
		calls, known := paged[made.Name]
		require.True(t, known, "%s has no line in paged", made.Name)
		page := must(t, i, made.Name, limited(made, calls[0], 1))
		require.NotEmpty(t, page.Meta.Next, made.Name)
		tokens[made.Name] = page.Meta.Next
	}
	require.Len(t, tokens, len(paged))
	names := slices.Sorted(maps.Keys(tokens))
	for n, name := range names {
		calls, token := paged[name], tokens[name]
		again := func(in args, says string) {
			t.Helper()
			f := refused(t, fault.InvalidParameter, i, name, with(in, "page_token", token))
			require.Contains(t, f.Message, says)
			arg, _ := known(name).ArgFor(tool.MeansToken)
			require.Equal(t, arg.Name, f.Details["argument"])
			require.NotEmpty(t, f.Fixes)
		}
		must(t, i, name, with(calls[0], "page_token", token))
		must(t, i, name, limited(known(name), with(calls[0], "page_token", token), 2))
		if calls[1] != nil {
			again(calls[1], "other arguments")
		}
		made := known(name)
		if _, has := made.Arg("vault"); has && made.Subject == "" && !made.Anywhere && !made.Tenant {
			again(with(calls[0], "vault", "w"), "another vault")
		}
		token = tokens[names[(n+1)%len(names)]]
		again(calls[0], "another tool")
		token = tool.Token("x")
		_, err := call(t.Context(), i, name, with(calls[0], "page_token", token))
		require.Equal(t, made.Family.Malformed, fault.Of(err).Code)
	}
	c := auth.LocalCaller()
	c.Tenant = "other"
	_, err := call(t.Context(), tooltest.As(i.app.Catalogue, c), "team_vault_list",
		args{"page_token": tokens["team_vault_list"]})
	require.True(t, fault.Is(err, fault.InvalidParameter), "%v", err)
}
