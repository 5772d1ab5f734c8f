package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestPayload covers C10 36 to 40, with what upstream does beside ours.
func TestPayload(t *testing.T) {
	for _, c := range []struct {
		what, tool     string
		in             args
		upstream, ours string // a reason, or what the file has
		file           string
	}{
		{"a field", "update_payload_property", args{"nodeId": w(""), "propertyName": "status", "newValue": "active"}, "Updated", "type: project\nstatus: active\n---\n\n# Website\n\nIntro.\n", "projects/website.md"},
		{"an id of 64 bits", "update_payload_property", args{"nodeId": "projects/api", "propertyName": "id", "newValue": int64(1234567890123456789)}, "Updated", "id: \"1234567890123456789\"\n", "projects/api.md"},
		{"ids in a list", "update_payload", args{"nodeId": "projects/api", "patch": args{"ids": []any{1, int64(9007199254740993)}}}, "Updated", "ids:\n  - 1\n  - \"9007199254740993\"\n", "projects/api.md"},
		{"a field in any case", "update_payload_property", args{"nodeId": "projects/api", "propertyName": "Payload.STATUS", "newValue": "done"}, "silent success", "status: done\n", "projects/api.md"},
		{"a field goes", "update_payload_property", args{"nodeId": "projects/api", "propertyName": "status", "newValue": nil}, "Error", "---\ntype: project\n---\n", "projects/api.md"},
		{"a required field", "update_payload_property", args{"nodeId": "people/alice", "propertyName": "payload.name", "newValue": nil}, "Error", "type_mismatch", ""},
		{"another heading", "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "title", "newValue": "Aims"}, "Updated", "Uses [[projects/website#aims]].", "projects/api.md"},
		{"the title of a note", "update_payload_property", args{"nodeId": w(""), "propertyName": "name", "newValue": "Site"}, "Updated", "# Site\n", "projects/website.md"},
		{"the name of a person", "update_payload_property", args{"nodeId": "people/alice", "propertyName": "title", "newValue": "Al"}, "Updated", "name: Al\n", "people/alice.md"},
		{"the title of a note without one", "update_payload_property", args{"nodeId": "daily/2025-02-01", "propertyName": "title", "newValue": "X"}, "Updated", "---\ntitle: X\n---\nA day.\n", "daily/2025-02-01.md"},
		{"a folder", "update_payload_property", args{"nodeId": "people/", "propertyName": "color", "newValue": "red"}, "", "---\ncolor: red\n---\n", "people/_folder.md"},
		{"a body", "update_payload_property", args{"nodeId": w("#r"), "propertyName": "body", "newValue": "New.\n\nText."}, "", "severity=2)\n\nNew.\n\nText.\n\n## Notes", "projects/website.md"},
		{"no body", "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "body", "newValue": ""}, "", "## Goals\n\n### Q1", "projects/website.md"},
		{"a body of a note", "update_payload_property", args{"nodeId": w(""), "propertyName": "body", "newValue": "Hi"}, "", "# Website\n\nHi\n\n## Goals", "projects/website.md"},
		{"a content", "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "content", "newValue": "x\n\n### Q2\n\ny\n"}, "", "## Goals\n\nx\n\n### Q2\n\ny\n\n## Risks", "projects/website.md"},
		{"a body with a heading", "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "body", "newValue": "x\n\n## Escape"}, "Updated", "body_escapes_section", ""},
		{"a content that escapes", "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "content", "newValue": "x\n\n## Escape"}, "Updated", "body_escapes_section", ""},
		{"an open fence", "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "body", "newValue": "```\nx"}, "Updated", "malformed_markdown", ""},
		{"an internal property", "update_payload_property", args{"nodeId": w(""), "propertyName": "NodeId", "newValue": "x"}, "invalid_argument", "internal_property", ""},
		{"children", "update_payload_property", args{"nodeId": w(""), "propertyName": "children", "newValue": []string{}}, "invalid_argument", "internal_property", ""},
		{"the parent", "update_payload_property", args{"nodeId": w(""), "propertyName": "PARENT", "newValue": "x"}, "invalid_argument", "internal_property", ""},
		{"the type", "update_payload_property", args{"nodeId": w(""), "propertyName": "payload.payloadType", "newValue": "x"}, "invalid_argument", "internal_property", ""},
		{"a wrong type", "update_payload_property", args{"nodeId": w("#r"), "propertyName": "severity", "newValue": "high"}, "internal_error", "type_mismatch", ""},
		{"an unknown field", "update_payload_property", args{"nodeId": w("#r"), "propertyName": "sev", "newValue": 1}, "silent success", "unknown_field", ""},
		{"a title of two lines", "update_payload_property", args{"nodeId": w("#r"), "propertyName": "title", "newValue": "a\nb"}, "Updated", "type_mismatch", ""},
		{"tags of a section", "tag_node", args{"nodeId": w("#goals"), "tags": []string{"a", "#b", "A"}}, "", "## Goals\n::section(tags=[a, b])\n\nG text.", "projects/website.md"},
		{"tags of a note", "tag_node", args{"nodeId": w(""), "tags": []string{"web"}}, "", "---\ntype: project\ntags:\n  - web\n---\n", "projects/website.md"},
		{"a bad tag", "tag_node", args{"nodeId": w(""), "tags": []string{"a,b"}}, "", "tag", ""},
		{"no tag", "tag_node", args{"nodeId": w(""), "tags": []string{}}, "", "empty", ""},
	} {
		p := open(t, website)
		answer, err := p.call(t, c.tool, p.with(t, c.in))
		if c.file == "" {
			require.Error(t, err, c.what)
			require.Equal(t, c.ours, answer["reason"], "%s: %v", c.what, answer)
			require.Equal(t, "invalid_argument", answer["code"], c.what)
			for path, text := range website {
				require.Equal(t, text, p.file(t, path), c.what)
			}
			continue
		}
		require.NoError(t, err, "%s: %v", c.what, answer)
		require.Contains(t, p.file(t, c.file), c.ours, c.what)
		require.Equal(t, answer["versionToken"], p.token(t), c.what)
	}
}

// TestAddressesThatChange covers the map of addresses, and the references of C10 37.
func TestAddressesThatChange(t *testing.T) {
	p := open(t, website)
	uid := p.data(t, "get_node", args{"nodeId": w("#goals")})["node"].(args)["uid"]
	answer := p.write(t, "update_payload_property", args{"nodeId": w("#goals"), "propertyName": "title", "newValue": "Aims"})
	require.Equal(t, args{w("#goals"): w("#aims")}, answer["idMap"])
	require.Equal(t, 1.0, answer["refsUpdated"])
	require.Equal(t, w("#aims"), answer["nodeId"])
	require.Equal(t, uid, p.data(t, "get_node", args{"nodeId": w("#aims")})["node"].(args)["uid"])
	require.Equal(t, w("#aims"), p.data(t, "get_node", args{"nodeId": uid})["node"].(args)["nodeId"])
}

// TestTagsGo covers the second part of C10 40, and B8 58.
func TestTagsGo(t *testing.T) {
	p := open(t, website)
	was := p.file(t, "projects/website.md")
	p.write(t, "tag_node", args{"nodeId": w("#goals"), "tags": []string{"a", "b"}})
	require.Equal(t, []any{"c"}, p.write(t, "tag_node", args{"nodeId": w("#goals"), "tags": []string{"c"}, "replaceExisting": true})["tags"])
	require.Equal(t, []any{"c", "d"}, p.write(t, "tag_node", args{"nodeId": w("#goals"), "tags": []string{"d", "C"}})["tags"])
	require.Equal(t, []any{}, p.write(t, "untag_node", args{"nodeId": w("#goals"), "tags": []string{"D", "c", "x"}})["tags"])
	require.Equal(t, was, p.file(t, "projects/website.md"))
}

// TestPatches covers B8 43: what can be set is, and atomic is all or nothing.
func TestPatches(t *testing.T) {
	p := open(t, website)
	patch := args{"title": "Danger", "severity": 5, "nodeId": "x", "nope": 1, "body": "New."}
	f := p.refused(t, "update_payload", p.with(t, args{"nodeId": w("#r"), "patch": patch, "atomic": true}))
	require.Equal(t, "atomic", f.Details["reason"])
	require.Equal(t, website["projects/website.md"], p.file(t, "projects/website.md"))
	answer := p.write(t, "update_payload", args{"nodeId": w("#r"), "patch": patch})
	require.Equal(t, args{"title": "updated", "severity": "updated", "body": "updated", "nodeId": "internal_property", "nope": "unknown_field"}, answer["results"])
	require.Contains(t, p.file(t, "projects/website.md"), "## Danger\n::risk(id=r, severity=5)\n\nNew.\n\n## Notes")
	again := p.write(t, "update_payload", args{"nodeId": w("#r"), "patch": patch})
	require.Equal(t, "unchanged", again["results"].(args)["title"])
	require.Equal(t, answer["versionToken"], again["versionToken"])
	require.Equal(t, fault.InvalidParameter, p.refused(t, "update_payload", p.with(t, args{"nodeId": w("#r"), "patch": args{}})).Code)
}

// TestTwinSections covers that a change of a section whose declared id another one repeats changes this section.
func TestTwinSections(t *testing.T) {
	const first, second = "## A\n::talk(id=x, status=open)\n\nOne.\n\n", "## B\n::talk(id=x, status=done)\n\nTwo.\n"
	for _, c := range []struct {
		patch args
		want  string
	}{
		{args{"room": "blue"}, "## B\n::talk(id=x, room=blue, status=done)\n\nTwo.\n"},
		{args{"status": nil}, "## B\n::talk(id=x)\n\nTwo.\n"},
		{args{"title": "C"}, "## C\n::talk(id=x, status=done)\n\nTwo.\n"},
		{args{"body": "New."}, "## B\n::talk(id=x, status=done)\n\nNew.\n"},
	} {
		p := open(t, map[string]string{
			"schema.yaml": "types:\n  talk:\n    fields:\n      status: {type: string}\n      room: {type: string}\n",
			"n.md":        "# N\n\n" + first + second,
		})
		answer := p.write(t, "update_nodes", args{"filter": "status = done", "patch": c.patch})
		require.Equal(t, 1.0, answer["updated"], "%v", answer)
		require.Equal(t, "# N\n\n"+first+c.want, p.file(t, "n.md"))
	}
}

// TestBulk covers B8 44 and 45 as update_nodes of the document has them: nodes by a filter.
func TestBulk(t *testing.T) {
	p := open(t, house)
	answer := p.write(t, "update_nodes", args{"filter": "SquareFeet < 500", "patch": args{"Zone": "x", "kind": "y"}})
	require.Equal(t, 3.0, answer["matched"])
	require.Equal(t, 3.0, answer["updated"])
	var told []string
	for _, r := range answer["results"].([]any) {
		told = append(told, fmt.Sprint(r.(args)["nodeId"], " ", r.(args)["status"], " ", r.(args)["reason"]))
	}
	require.Equal(t, "property#bathroom updated internal_property,property#shed updated internal_property,property#bedroom updated internal_property", strings.Join(told, ","))
	require.Contains(t, p.file(t, "property.md"), "## Shed\n::section(SquareFeet=240, Zone=x)\n")
	p.write(t, "update_nodes", args{"filter": []args{{"path": "Zone", "op": "eq", "value": "X"}}, "patch": args{"Zone": nil}})
	require.Equal(t, house["property.md"], p.file(t, "property.md"))
	answer = p.write(t, "update_nodes", args{"filter": "SquareFeet < 500", "patch": args{"body": "# no"}, "continueOnError": false})
	require.Equal(t, "skipped", answer["results"].([]any)[2].(args)["status"])
	require.Equal(t, 0.0, answer["updated"])
	p = open(t, map[string]string{"a.md": strings.Repeat("## S\n\n", 101)})
	f := p.refused(t, "update_nodes", p.with(t, args{"filter": "kind = section", "patch": args{"a": 1}}))
	require.Equal(t, fault.BatchTooLarge, f.Code)
	require.Equal(t, 101, f.Details["got"])
}

// mutations are calls of every tool that changes the vault, on the notes of website.
var mutations = map[string]args{
	"update_payload_property": {"nodeId": "projects/api", "propertyName": "status", "newValue": "active"},
	"update_payload":          {"nodeId": "projects/api", "patch": args{"status": "active"}},
	"update_nodes":            {"filter": "status = paused", "patch": args{"status": "active"}},
	"tag_node":                {"nodeId": "projects/api", "tags": []string{"a"}},
	"untag_node":              {"nodeId": "projects/api", "tags": []string{"old"}},
}

// TestManners covers C10 41 to 43 and B8 34 to 39 for every tool that changes the vault: tokens that are missing, of the
// future, unreadable or stale, dry runs, replays, and keys.
func TestManners(t *testing.T) {
	files := map[string]string{}
	for path, text := range website {
		files[path] = strings.Replace(text, "status: paused\n", "status: paused\ntags: [old]\n", 1)
	}
	for name, in := range mutations {
		p := open(t, files)
		was := p.file(t, "projects/api.md")
		latest := p.token(t)
		for _, token := range []string{"", "v999", "999", "x"} {
			bad := args{"versionToken": token}
			for k, v := range in {
				bad[k] = v
			}
			f := p.refused(t, name, bad)
			require.Equal(t, fault.Conflict, f.Code, "%s %q", name, token)
			require.Equal(t, latest, f.Details["latestVersion"], "%s %q", name, token)
			require.NotEmpty(t, f.Fixes)
		}
		dry := p.with(t, in)
		dry["dryRun"] = true
		answer := p.data(t, name, dry)
		require.Equal(t, true, answer["dry_run"], name)
		require.Equal(t, "projects/api.md", answer["would_modify_files"].([]any)[0].(args)["path"], name)
		require.Equal(t, was, p.file(t, "projects/api.md"), name)
		require.Equal(t, latest, p.token(t), name)

		// Another note changes: the token is good all the same.
		p.write(t, "tag_node", args{"nodeId": "people/alice", "tags": []string{"x"}})
		keyed := args{"versionToken": latest, "idempotencyKey": "k"}
		for k, v := range in {
			keyed[k] = v
		}
		first := p.data(t, name, keyed)
		require.NotEqual(t, was, p.file(t, "projects/api.md"), name)
		require.Equal(t, first, p.data(t, name, keyed), "%s is replayed", name)
		keyed["versionToken"] = first["versionToken"]
		require.Equal(t, first, p.data(t, name, keyed), "%s is replayed with another token", name)
		require.Equal(t, first["versionToken"], p.token(t), name)

		// The note has changed since the old token.
		stale := args{"versionToken": latest}
		for k, v := range in {
			stale[k] = v
		}
		if name == "update_nodes" {
			stale["filter"] = "status = active"
		}
		f := p.refused(t, name, stale)
		require.Equal(t, fault.Conflict, f.Code, name)
		require.Equal(t, "projects/api", f.Details["changed"], name)
		require.Equal(t, first["versionToken"], f.Details["latestVersion"], name)

		other := args{"versionToken": p.token(t), "idempotencyKey": "k", "agent_id": "other"}
		for k, v := range in {
			other[k] = v
		}
		p.data(t, name, other) // the key of another agent
		delete(other, "agent_id")
		for k := range in {
			if k == "tags" || k == "patch" {
				other[k] = args{"tags": []string{"z"}, "patch": args{"z": 1}}[k]
			}
		}
		if name == "update_payload_property" {
			other["newValue"] = "z"
		}
		require.Equal(t, fault.KeyReused, p.refused(t, name, other).Code, name)
	}
}
