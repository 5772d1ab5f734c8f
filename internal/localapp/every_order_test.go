package localapp_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// arranging is a story of creating, moving, renaming and deleting sections.
var arranging = tooltest.Story{Name: "sections", Steps: []tooltest.Step{
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[
		{"path":"plan.md","text":"# Plan\n\n## One\na [[#Two]]\n\n## Two\nb\n### Deep\n"},
		{"path":"use.md","text":"[[plan#One|x]] [[plan#two]] [t](plan.md#two)\n"}]}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan","title":"Three","after":"one","dry_run":true}`, Want: `{"data":{"dry_run":true,"placement":"after","anchor":"plan#one","level":2,"would_create":{"id":"plan#three","type":"section"}}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan","title":"Three","after":"plan#one"}`, Want: `{"data":{"action":"created","id":"plan#three","section":"three","file":"plan.md","line":6,"level":2,"placement":"after","anchor":"plan#one","object":{"type":"section"}},"meta":{"version":"v4"}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"move","id":"plan#three","before":"One"}`, Want: `{"data":{"action":"updated","id":"plan#three","line":3,"placement":"before","anchor":"plan#one"}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"rename","id":"plan#two","title":"Second part"}`, Want: `{"data":{"action":"updated","id":"plan#second-part","old_id":"plan#two","updated_refs_total":3}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"plan"}`, Want: `{"data":{"content":"# Plan\n\n## Three\n\n## One\na [[#second-part]]\n\n## Second part\nb\n### Deep\n"}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"use"}`, Want: `{"data":{"content":"[[plan#One|x]] [[plan#second-part]] [t](plan.md#second-part)\n"}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"rename","id":"plan#three","title":"Three"}`, Want: `{"data":{"action":"unchanged"}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"delete","id":"plan#second-part"}`, Want: `{"data":{"action":"deleted","id":"plan#second-part","removed_content":"## Second part\nb\n### Deep\n","deleted_sections":["plan#second-part","plan#deep"],"trash_path":".trash/plan/second-part.md"},"warnings":[{"code":"HAS_BACKLINKS","count":3}]}`},
	{Tool: "raven_trash_list", Args: `{"vault":"main"}`, Want: `{"data":{"items":[{"id":"plan#second-part","reference":"plan#second-part","kind":"section","trash_path":".trash/plan/second-part.md","restore_path":"plan.md","version":"v7","principal":"local"}]},"meta":{"total":1}}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"plan#second-part"}`, Want: `{"data":{"preview":true,"dry_run":true,"would_create":{"id":"plan#second-part"}}}`},
	{Tool: "raven_add", Args: `{"vault":"main","to":"plan#one","text":"more"}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"plan#second-part","confirm":true}`, Want: `{"data":{"action":"created","id":"plan#second-part","kind":"section","restored_from":".trash/plan/second-part.md","side_effects":["3 references lead to it again"]}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"plan"}`, Want: `{"data":{"content":"# Plan\n\n## Three\n\n## One\na [[#second-part]]\n\n- more\n\n\n## Second part\nb\n### Deep\n"}}`},
	{Tool: "raven_trash_list", Args: `{"vault":"main"}`, Want: `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"plan#second-part","confirm":true}`, Code: fault.NotFound},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan","title":"Three"}`, Want: `{"data":{"id":"plan#three-2"}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan","title":"Three","before":"three"}`, Code: fault.ValidationFailed, Want: `{"error":{"details":{"reason":"slug","section":"three"}}}`},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan","title":"a *b*"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan","title":"X","level":5}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","file":"plan"}`, Code: fault.MissingRequired},
	{Tool: "raven_section", Args: `{"vault":"main","op":"create","title":"x"}`, Code: fault.MissingRequired},
	{Tool: "raven_section", Args: `{"vault":"main","op":"move","id":"plan#one","after":"one"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"move","id":"plan#one","after":"use#x"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"move","id":"plan#one","after":"nope"}`, Code: fault.NotFound},
	{Tool: "raven_section", Args: `{"vault":"main","op":"move","id":"plan#one","after":"three","before":"three"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"move","id":"plan"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"delete","id":"plan"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"split","id":"plan#one"}`, Code: fault.InvalidValue},
	{Tool: "raven_section", Args: `{"vault":"main","op":"rename","id":"plan#one","title":"x","if_version":"v1"}`, Code: fault.Conflict},
}}

func TestEveryWayArrangesSections(t *testing.T) { everyWay(t, []tooltest.Story{arranging}) }

// restoring is a story of restoring deleted notes.
var restoring = tooltest.Story{Name: "restores", Steps: []tooltest.Step{
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob"}`},
	{Tool: "raven_add", Args: `{"vault":"main","to":"people/alice","text":"x"}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"people/bob","confirm":true,"idempotency_key":"r"}`, Want: `{"data":{"action":"created","id":"people/bob","kind":"note","restore_path":"people/bob.md","side_effects":["1 reference leads to it again"],"object":{"first_seen_at":"2025-02-01T14:30:00Z"}},"meta":{"version":"v5"}}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"people/bob","confirm":true,"idempotency_key":"r"}`, Want: `{"meta":{"version":"v5","replayed":true}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/bob"}`, Want: `{"data":{"content":"---\ntype: person\nname: Bob\n---\n\n# Bob\n"}}`},
	{Tool: "raven_history", Args: `{"vault":"main","id":"people/bob"}`, Want: `{"data":{"items":[{"tool":"raven_restore"},{"tool":"raven_delete"},{"tool":"team_vault_import"}]}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob"}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"Bob"}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"people/bob","confirm":true}`, Code: fault.DuplicateID},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/bob"}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"people/bob","confirm":true}`, Code: fault.AmbiguousRef, Want: `{"error":{"details":{"matches":[".trash/people/bob.v8.md",".trash/people/bob.md"]}}}`},
	{Tool: "raven_trash_list", Args: `{"vault":"main","id":"people/bob","limit":1}`, Want: `{"data":{"items":[{"id":"people/bob","reference":".trash/people/bob.v8.md","type":"person","restore_path":"people/bob.md","version":"v8"}]},"meta":{"total":2,"has_more":true}}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":".trash/people/bob.md","confirm":true}`, Want: `{"data":{"id":"people/bob","restored_from":".trash/people/bob.md"}}`},
	{Tool: "raven_restore", Args: `{"vault":"main","id":"people/nobody"}`, Code: fault.NotFound},
	{Tool: "raven_restore", Args: `{"vault":"main"}`, Code: fault.MissingRequired},
}}

func TestEveryWayRestores(t *testing.T) { everyWay(t, []tooltest.Story{restoring}) }

// reclassifying is a story of objects that get other types.
var reclassifying = tooltest.Story{Name: "types", Steps: []tooltest.Step{
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[
		{"path":"n.md","text":"---\nmood: fine # c\n---\nx\n"},{"path":"m.md","text":"x\n## S\n::meeting(id=s)\n"}]}`},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"n","type":"person","fields":{"name":"N"}}`, Code: fault.InvalidField, Want: `{"error":{"details":{"field":"mood"}}}`},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"n","type":"person","force":true}`, Code: fault.MissingRequired},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"n","type":"person"}`, Code: fault.ValidationFailed},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"n","type":"person","fields":{"name":"N"},"force":true}`, Want: `{"data":{"action":"updated","id":"n","type":"person","old_type":"page","added_fields":["name"],"dropped_fields":{"mood":"fine"},"side_effects":["the note is not moved; raven_move can move it to people/"]},"meta":{"version":"v4"}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"n"}`, Want: `{"data":{"content":"---\ntype: person\nname: \"N\"\n---\nx\n"}}`},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"people/bob","type":"page"}`, Want: `{"data":{"type":"page","old_type":"person","dropped_fields":{}}}`},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"m#s","type":"company","fields":{"name":"C"}}`},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"m","type":"section"}`, Code: fault.InvalidType},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"m","type":"persn"}`, Code: fault.InvalidType},
	{Tool: "raven_reclassify", Args: `{"vault":"main","id":"nope","type":"person"}`, Code: fault.NotFound},
}}

func TestEveryWayReclassifies(t *testing.T) { everyWay(t, []tooltest.Story{reclassifying}) }
