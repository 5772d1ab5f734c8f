package localapp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWayKeepsVaults(t *testing.T) {
	everyWay(t, []tooltest.Story{vaults, imports})
}

func TestEveryWayErases(t *testing.T) {
	everyWay(t, []tooltest.Story{erasing})
}

func TestEveryWayErasesTheTenant(t *testing.T) {
	everyWay(t, []tooltest.Story{theTenant})
}

// After the tenant is erased no token is accepted, so that is the last step.
var theTenant = tooltest.Story{Name: "the tenant", Steps: []tooltest.Step{
	{Tool: "team_vault_create", Args: `{"name":"more"}`},
	{Tool: "team_tenant_erase", Args: `{}`, Code: fault.InvalidParameter},
	{Tool: "team_tenant_erase", Args: `{"confirm":"main"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"confirm"}}}`},
	{Tool: "team_tenant_erase", Args: `{"confirm":"local","if_version":"v1"}`, Code: fault.Conflict},
	{Tool: "team_tenant_erase", Args: `{"dry_run":false}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"confirm"}}}`},
	{Tool: "team_tenant_erase", Args: `{"confirm":"main","dry_run":true}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"confirm"}}}`},
	{Tool: "team_tenant_erase", Args: `{"dry_run":true}`, Want: `{"data":{"dry_run":true,"would_delete":{"left":0,"expires":[]}}}`},
	{Tool: "team_tenant_erase", Args: `{"confirm":"local","dry_run":true}`, Want: `{"data":{"dry_run":true,"would_delete":{"left":0,"expires":[]}}}`},
	{Tool: "raven_stats", Args: `{"vault":"main"}`},
	{Tool: "team_tenant_erase", Args: `{"confirm":"local"}`, Want: `{"data":{"action":"deleted","name":"local","receipt":{"left":0,"expires":[{"what":"tombstones"},{"what":"receipt"}]},"job":{"state":"waiting","progress":{"step":"sweep","done":5,"total":6}}}}`},
}}

var erasing = tooltest.Story{Name: "erasing", Steps: []tooltest.Step{
	{Tool: "team_vault_create", Args: `{"name":"gone"}`},
	{Tool: "team_vault_erase", Args: `{"name":"gone"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_erase", Args: `{"name":"gone","confirm":"main"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"confirm"}}}`},
	{Tool: "team_vault_erase", Args: `{"name":"nowhere","confirm":"nowhere"}`, Code: fault.NotFound},
	{Tool: "team_vault_erase", Args: `{"name":"gone","confirm":"main","dry_run":true}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"confirm"}}}`},
	{Tool: "team_vault_erase", Args: `{"name":"gone","confirm":"","dry_run":true}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"confirm"}}}`},
	{Tool: "team_vault_erase", Args: `{"name":"gone","dry_run":true}`, Want: `{"data":{"dry_run":true,"would_delete":{"left":0,"expires":[]}}}`},
	{Tool: "team_vault_erase", Args: `{"name":"gone","confirm":"gone","dry_run":true}`, Want: `{"data":{"dry_run":true,"would_delete":{"left":0,"expires":[]}}}`},
	{Tool: "team_vault_erase", Args: `{"name":"gone","confirm":"gone"}`, Want: `{"data":{"action":"deleted","name":"gone","receipt":{"left":0,"expires":[{"what":"tombstones"}]},"job":{"state":"waiting","progress":{"step":"sweep","done":4,"total":5}}}}`},
	{Tool: "team_vault_erase", Args: `{"name":"gone","confirm":"gone"}`, Want: `{"data":{"action":"deleted"}}`},
	{Tool: "team_vault_create", Args: `{"name":"gone"}`, Code: fault.DuplicateID},
	{Tool: "raven_stats", Args: `{"vault":"gone"}`, Code: fault.NotFound},
	{Tool: "team_job_list", Args: `{"kind":"vault_erase"}`, Want: `{"data":{"items":[{"state":"waiting","target":{"vault":"gone"}}]},"meta":{"count":1,"has_more":false}}`},
	{Tool: "team_job_list", Args: `{"state":"failed"}`, Want: `{"data":{"items":[]}}`},
	{Tool: "team_job_get", Args: `{"id":"none"}`, Code: fault.NotFound},
	{Tool: "team_job_cancel", Args: `{"id":"none"}`, Code: fault.NotFound},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/alice#notes","erase":true,"force":true}`, Code: fault.InvalidValue},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/nobody","erase":true,"force":true}`, Code: fault.NotFound},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob","erase":true,"force":true,"dry_run":true}`, Want: `{"data":{"dry_run":true,"would_delete":{"id":"people/bob"},"erased":{"parts":2,"copies":0}}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/bob"}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob","erase":true,"force":true}`, Want: `{"data":{"action":"deleted","id":"people/bob","type":"person","file":"people/bob.md","erased":{"copies":0},"job":{"state":"done"}},"warnings":[{"code":"HAS_BACKLINKS"}]}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/bob"}`, Code: fault.NotFound},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob","erase":true,"force":true}`, Code: fault.NotFound},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/windows","force":true}`, Want: `{"data":{"action":"deleted"}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/windows","erase":true,"force":true}`, Want: `{"data":{"action":"deleted","erased":{"copies":1}}}`},
	{Tool: "team_audit_verify", Args: `{"vault":"main"}`, Want: `{"data":{"verified":true}}`},
}}

var vaults = tooltest.Story{Name: "vaults", Steps: []tooltest.Step{
	{Tool: "team_whoami", Want: `{"data":{"principal":"local","tenant":"local","agent":"local","session":"default","roles":{"*":"admin"},"readonly":false,"limits":{"note_bytes":1048576,"body_bytes":4194304,"page_items":200,"vaults":100}}}`},
	{Tool: "team_whoami", Args: `{"agent_id":"planner","session":"s1"}`, Want: `{"data":{"agent":"planner","session":"s1"}}`},
	{Tool: "team_whoami", Args: `{"only":["agent"]}`, Want: `{"data":{"agent":"local"}}`},
	{Tool: "team_vault_list", Want: `{"data":{"items":[{"name":"main","version":"v2","notes":11,"readonly":false,"state":"active"}]},"meta":{"count":1,"total":1,"has_more":false}}`},
	{Tool: "team_vault_create", Args: `{"name":"north","config":{"timezone":"Europe/Oslo","week_start":"sunday"}}`, Want: `{"data":{"action":"created","vault":{"name":"north","state":"active"}}}`},
	{Tool: "raven_schema", Args: `{"vault":"north"}`, Want: `{"data":{"config":{"timezone":"Europe/Oslo","week_start":"sunday"}}}`},
	{Tool: "raven_stats", Code: fault.InvalidParameter, Want: `{"error":{"details":{"available":["main","north"]}}}`},
	{Tool: "raven_stats", Args: `{"vault":"north"}`, Want: `{"data":{"file_count":0}}`},
	{Tool: "team_vault_create", Args: `{"name":"north"}`, Code: fault.DuplicateID, Want: `{"error":{"details":{"id":"north"}}}`},
	{Tool: "team_vault_create", Args: `{"name":"North"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_create", Args: `{"name":"-north"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_create", Args: `{"name":"` + strings.Repeat("n", 64) + `"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_create", Args: `{"name":"south","config":{"timezone":"Mars/Olympus"}}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_create", Args: `{"name":"south","config":{"zone":"UTC"}}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_create", Code: fault.InvalidParameter},
	{Tool: "team_vault_delete", Args: `{"name":"north"}`, Want: `{"data":{"action":"deleted","vault":{"name":"north","state":"trashed"}}}`},
	{Tool: "team_vault_list", Want: `{"data":{"items":[{"name":"main"},{"name":"north","state":"trashed"}]}}`},
	{Tool: "raven_stats", Args: `{"vault":"north"}`, Code: fault.NotFound},
	{Tool: "team_vault_export", Args: `{"vault":"north"}`, Code: fault.NotFound},
	{Tool: "team_vault_delete", Args: `{"name":"north"}`, Code: fault.NotFound},
	{Tool: "team_vault_create", Args: `{"name":"north"}`, Code: fault.DuplicateID, Want: `{"error":{"fixes":["team_vault_restore {\"name\":\"north\"}"]}}`},
	{Tool: "team_vault_restore", Args: `{"name":"north","dry_run":true}`, Want: `{"data":{"dry_run":true,"would_update":{"name":"north","state":"active"}}}`},
	{Tool: "team_vault_restore", Args: `{"name":"north"}`, Want: `{"data":{"action":"restored","vault":{"name":"north","state":"active"}}}`},
	{Tool: "team_vault_restore", Args: `{"name":"north"}`, Want: `{"data":{"action":"unchanged","vault":{"state":"active"}}}`},
	{Tool: "team_vault_restore", Args: `{"name":"nowhere"}`, Code: fault.NotFound},
	{Tool: "team_vault_delete", Args: `{"name":"nowhere"}`, Code: fault.NotFound},
	{Tool: "team_vault_delete", Args: `{"name":"north","if_version":"v1"}`, Code: fault.Conflict, Want: `{"error":{"details":{"latest_version":"v4"}}}`},
	{Tool: "team_vault_delete", Args: `{"name":"north","if_version":"now"}`, Code: fault.InvalidParameter},
	{Tool: "team_audit_verify", Args: `{"vault":"north"}`, Want: `{"data":{"verified":true,"commit_count":3,"audit_log":"verified"},"meta":{"version":"v3"}}`},
	{Tool: "team_audit_verify", Args: `{"vault":"north"}`, Want: `{"data":{"tenant":"verified","tenant_commit_count":4,"refusal_count":0}}`},
	{Tool: "team_audit", Args: `{"target":"north","outcome":"ok","tool":"team_vault_restore"}`, Want: `{"data":{"entries":[{"operation":"team_vault_restore","targets":["north"],"outcome":"ok","version_before":"v3","version_after":"v4","principal":"local","agent":"local","tenant":"local"},{"vault":"north","targets":[],"version_after":"v3"}]},"meta":{"version":"v4","count":2,"has_more":false}}`},
	{Tool: "team_audit", Args: `{"agent":"nobody","principal":"local","since":"1 hour ago","until":"tomorrow","limit":5}`, Want: `{"data":{"entries":[]},"meta":{"count":0}}`},
	{Tool: "team_audit", Args: `{"outcome":"good"}`, Code: fault.InvalidParameter},
	{Tool: "team_audit", Args: `{"since":"whenever"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"argument":"since"}}}`},
	{Tool: "team_audit_verify", Args: `{"vault":"nowhere"}`, Code: fault.NotFound},
	{Tool: "team_audit_verify", Code: fault.InvalidParameter},
	{Tool: "team_vault_list", Args: `{"limit":0}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_list", Args: `{"page_token":"no"}`, Code: fault.InvalidParameter},
}}

var imports = tooltest.Story{Name: "imports", Steps: []tooltest.Step{
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"new/a.md","text":"# A\n"},{"path":"people/bob.md","text":"---\ntype: person\nname: Bob\n---\n\n# Bob\n"}]}`, Want: `{"data":{"created":1,"replaced":0,"skipped":1,"version":"v3"},"meta":{"version":"v3"}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"new/a.md","text":"# B\n"}]}`, Code: fault.DuplicateID, Want: `{"error":{"details":{"id":"new/a"}}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"new/a.md","text":"# B\n"}],"mode":"skip"}`, Want: `{"data":{"created":0,"replaced":0,"skipped":1,"version":"v3"}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"new/a.md","text":"# B\n","if_version":"v2"}],"mode":"replace"}`, Code: fault.Conflict, Want: `{"error":{"details":{"latest_version":"v3"}}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"new/a.md","text":"# B\n","if_version":"v3"}],"mode":"replace"}`, Want: `{"data":{"replaced":1,"version":"v4"}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"new/a.md","text":"# C\n","if_version":"?"}],"mode":"replace"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"c.md","text":"x"},{"path":"../d.md","text":"x"}]}`, Code: fault.InvalidPath},
	{Tool: "raven_read", Args: `{"vault":"main","path":"c"}`, Code: fault.NotFound}, // all or none
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"x.txt","text":"x"}]}`, Code: fault.InvalidPath},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"C.md","text":"x"},{"path":"c.md","text":"y"}]}`, Code: fault.DuplicateID},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"Inbox.md","text":"x"}]}`, Code: fault.DuplicateID},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"CON.md","text":"x"},{"path":"a:b.md","text":"x"}]}`, Code: fault.InvalidParameter, Want: `{"error":{"errors":[{"code":"INVALID_PATH"},{"code":"INVALID_PATH"}]}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[]}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_import", Args: `{"vault":"main"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"c.md","text":"x"}],"mode":"merge"}`, Code: fault.InvalidParameter, Want: `{"error":{"details":{"allowed":["create","replace","skip"]}}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"c.md","text":"---\na: [\n---\n"}]}`, Want: `{"data":{"created":1},"warnings":[{"code":"NOTE_QUARANTINED","path":"c.md"}]}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"schema.yaml","text":"types: [\n"}],"mode":"replace"}`, Want: `{"data":{"replaced":1}}`},
	{Tool: "raven_schema", Args: `{"vault":"main"}`, Code: fault.SchemaError, Want: `{"error":{"location":{"file":"schema.yaml"}}}`},
	{Tool: "raven_schema_types", Args: `{"vault":"main"}`, Code: fault.SchemaError},
	{Tool: "raven_schema_traits", Args: `{"vault":"main"}`, Code: fault.SchemaError},
	{Tool: "raven_schema_trait", Args: `{"vault":"main","name":"due"}`, Code: fault.SchemaError},
	{Tool: "raven_schema_validate", Args: `{"vault":"main"}`, Want: `{"data":{"valid":false,"issues":[{"code":"SCHEMA_ERROR"}]}}`},
	{Tool: "raven_schema_type", Args: `{"vault":"main","name":"person"}`, Code: fault.SchemaError},
	{Tool: "team_vault_create", Args: `{"name":"unfit"}`, Want: `{"ok":true}`},
	{Tool: "team_vault_import", Args: `{"vault":"unfit","notes":[{"path":"schema.yaml","text":"types: {p: {fields: {a: {type: number, default: many}, b: {type: number, max: 3, default: 5}, c: {type: number, default: 5}, d: {type: date, default: today}}, traits: {due: {default: x}, mood: {default: low}}}}\ntraits: {due: {type: date}, mood: {type: enum, values: [low], default: high}}\n"}]}`, Want: `{"data":{"created":1}}`},
	{Tool: "raven_schema_validate", Args: `{"vault":"unfit"}`, Want: `{"data":{"valid":false,"issues":[{"code":"INVALID_VALUE","details":{"where":"types.p.fields.a"},"location":{"file":"schema.yaml"}},{"code":"INVALID_FIELD","details":{"where":"types.p.fields.b"}},{"code":"INVALID_VALUE","details":{"where":"types.p.traits.due"}},{"code":"INVALID_VALUE","details":{"where":"traits.mood"}}]}}`},
	{Tool: "raven_object_list", Args: `{"vault":"main","type":"page"}`, Code: fault.SchemaError},
	{Tool: "raven_object_list", Args: `{"vault":"main","limit":1}`, Want: `{"meta":{"count":1}}`},
	{Tool: "raven_add", Args: `{"vault":"main","text":"x","to":"inbox","dry_run":true}`, Want: `{"data":{"dry_run":true}}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"X"}`, Code: fault.SchemaError},
	{Tool: "team_vault_import", Args: `{"vault":"gone","notes":[{"path":"c.md","text":"x"}]}`, Code: fault.NotFound},
	{Tool: "team_vault_export", Args: `{"vault":"main","page_token":"no"}`, Code: fault.InvalidParameter},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":` + manyNotes(1001) + `}`, Code: fault.BatchTooLarge},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"big.md","text":"` + strings.Repeat("x", 1<<20+1) + `"}]}`, Code: fault.NoteTooLarge},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"big.md","text":"` + strings.Repeat("x", 1<<20) + `"}]}`, Want: `{"data":{"created":1}}`},
}}

// manyNotes returns notes in the form for an import.
func manyNotes(n int) string {
	return "[" + strings.Repeat(`{"path":"many.md","text":""},`, n-1) + `{"path":"many.md","text":""}]`
}

// TestEveryWayPages checks that a list is the same in pages of one entry, over every way in.
func TestEveryWayPages(t *testing.T) {
	lists := []struct{ tool, args, list, key string }{
		{"raven_object_list", `{"vault":"main"}`, "items", "id"},
		{"raven_object_list", `{"vault":"main","type":"section"}`, "items", "id"},
		{"raven_object_list", `{"vault":"main","type":"person","field":["name=Bob"]}`, "items", "id"},
		{"team_vault_list", `{}`, "items", "name"},
	}
	for _, in := range waysIn() {
		t.Run(in.name, func(t *testing.T) {
			e := in.open(t)
			setUp := e.call(t, tooltest.NewCall(t, "team_vault_create", `{"name":"two"}`))
			require.Empty(t, tooltest.CodeOf(t, setUp))
			for _, c := range lists {
				all := tooltest.NewCall(t, c.tool, c.args)
				require.Equal(t, e.page(t, all).keys(t, c.list, c.key),
					e.pages(t, all, c.list, c.key), "%s %s", c.tool, c.args)
			}
		})
	}
}

// A page is one page of a list.
type page struct {
	Data map[string]json.RawMessage
	Meta struct {
		Count, Total int
		Next         string `json:"next_page_token"`
		More         bool   `json:"has_more"`
	}
}

// page reads one page.
func (e *entrance) page(t testing.TB, c tooltest.Call) page {
	t.Helper()
	answer := e.call(t, c)
	var p page
	require.NoError(t, json.Unmarshal(answer, &p))
	require.Empty(t, tooltest.CodeOf(t, answer), "%s", answer)
	require.Equal(t, p.Meta.More, p.Meta.Next != "")
	return p
}

// keys returns the names of the entries of the page.
func (p page) keys(t testing.TB, list, key string) []string {
	t.Helper()
	var items []map[string]any
	require.NoError(t, json.Unmarshal(p.Data[list], &items))
	require.Len(t, items, p.Meta.Count)
	keys := []string{}
	for _, item := range items {
		keys = append(keys, item[key].(string))
	}
	return keys
}

// pages returns the names of the entries of a list that is read one entry at a time.
func (e *entrance) pages(t testing.TB, c tooltest.Call, list, key string) []string {
	t.Helper()
	var all []string
	c.Args["limit"] = json.RawMessage("1")
	for {
		p := e.page(t, c)
		all = append(all, p.keys(t, list, key)...)
		if !p.Meta.More {
			require.Len(t, all, p.Meta.Total)
			return all
		}
		require.Equal(t, 1, p.Meta.Count)
		require.Less(t, len(all), 100, "the pages come to an end")
		token, err := tool.Marshal(p.Meta.Next)
		require.NoError(t, err)
		c.Args["page_token"] = token
	}
}

// TestEveryWayExports checks that an export has the imported files, to the byte, followed by the
// audit log.
func TestEveryWayExports(t *testing.T) {
	for _, in := range waysIn() {
		t.Run(in.name, func(t *testing.T) {
			e := in.open(t)
			files := map[string]string{}
			c := tooltest.NewCall(t, "team_vault_export", `{"vault":"main"}`)
			for {
				p := e.page(t, c)
				var notes []struct{ Path, Text string }
				require.NoError(t, json.Unmarshal(p.Data["notes"], &notes))
				for _, n := range notes {
					files[n.Path] += n.Text
				}
				if !p.Meta.More {
					break
				}
				token, err := tool.Marshal(p.Meta.Next)
				require.NoError(t, err)
				c.Args["page_token"] = token
			}
			require.Contains(t, files[".raven/audit.log"], `"id":"people/alice"`)
			delete(files, ".raven/audit.log")
			require.Equal(t, fixture, files)
		})
	}
}
