package raven_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/raven"
)

// An era is how vaults were written when Raven had another form (reference/raven.md §0).
type era struct {
	file  string
	day   string   // the id of its daily note
	check []string // what a check says: the place and Raven's name
}

var eras = []era{
	{"s", "daily/2025-02-01", []string{"schema.yaml:27 unused_trait"}},
	{"m", "daily/2025-02-01", []string{"raven.yaml:1 invalid_saved_query", "schema.yaml:25 unused_trait"}},
	{"c", "journal/2025-02-01", []string{
		"locked/rules.md:1 non_canonical_path", "objects/projects/website.md:9 local_fragment_ref",
		"objects/projects/website.md:9 markdown_link_to_vault_note", "schema.yaml:28 unused_trait",
	}},
}

// eraReads are calls of every tool that reads, on a vault of any era. DAY is the daily note.
const eraReads = `
raven_schema {}
raven_schema_types {}
raven_schema_type {"name":"person"}
raven_schema_traits {}
raven_schema_trait {"name":"due"}
raven_schema_commands {}
raven_schema_validate {}
raven_object_list {"type":"person"}
raven_object_list {"type":"meeting"}
raven_object_get {"id":"people/alice"}
raven_object_get {"id":"DAY"}
raven_search {"query":"website"}
raven_read {"path":"projects/website","references":true,"backlinks":true}
raven_read {"path":"DAY"}
raven_backlinks {"target":"people/alice"}
raven_outlinks {"target":"projects/website"}
raven_resolve {"reference":"alice"}
raven_type {"name":"project"}
raven_tag {"list":true}
raven_date {"date":"2025-02-01"}
raven_untyped {}
raven_trait_list {"trait_type":"due","depth":2}
raven_trait_list {"trait_type":"task"}
raven_trait_get {"id":"kick"}
raven_query {"query":"trait:due within(type:project)"}
raven_query {"query":"type:project refs(people/bob) | section | link"}
raven_query {"name":"overdue"}
raven_query_list {}
raven_validate {"type":"object","input":{"type":"person","title":"Carol"}}
raven_trash_list {}
raven_stats {}
raven_history {"id":"projects/website"}
raven_log {"all":true}
`

// eraChanges are calls of every tool that changes a vault. Each is taken back before the next.
const eraChanges = `
raven_new {"type":"person","title":"Carol"}
raven_new {"type":"project","title":"Second"}
raven_upsert {"type":"person","title":"Bob","fields":{"email":"bob@example.test"}}
raven_set {"id":"people/alice","set":{"email":"a@example.test"}}
raven_unset {"id":"projects/website","unset":["lead"]}
raven_delete {"id":"people/bob"}
raven_delete {"id":"projects/website#tasks"}
raven_add {"text":"More","to":"projects/website"}
raven_add {"text":"Noted","to":"DAY"}
raven_edit {"id":"projects/website","old_str":"About the website","new_str":"Of the site"}
raven_move {"source":"people/bob","destination":"elsewhere/robert"}
raven_section {"op":"rename","id":"projects/website#tasks","title":"To do"}
raven_section {"op":"create","file":"projects/website","title":"Later","level":2}
raven_reclassify {"id":"people/bob","type":"page","force":true}
raven_trait_create {"trait_type":"due","value":"2025-03-01","parent_id":"projects/website","content":"One more"}
raven_trait_update {"id":"kick","set":{"status":"done","value":"2025-02-04"}}
raven_trait_delete {"id":"kick"}
raven_batch {"operations":[{"op":"update","entity":"trait","data":{"id":"kick","set":{"status":"done"}}},{"op":"delete","entity":"object","data":{"id":"people/bob"}}]}
raven_schema_add {"kind":"trait","name":"effort","value_type":"number"}
raven_schema_update {"kind":"trait","name":"status","values":["todo","in_progress","done","dropped"]}
raven_schema_remove {"kind":"trait","name":"highlight","force":true}
raven_query_save {"name":"mine","query":"trait:due .value==today"}
raven_query_remove {"name":"overdue"}
raven_check {"create_missing":true,"issues":["missing_reference"]}
`

// notOfEras are tools that do nothing to a vault as it is, or that are called by the test itself.
var notOfEras = []string{
	"raven_schema_init", "raven_complete", "raven_start_work", "raven_record_learnt", "raven_weekly_summary",
	"raven_prompt_start_work", "raven_prompt_record_learnt", "raven_prompt_weekly_summary",
	"raven_undo", "raven_restore", "raven_reindex", "raven_check_fix",
}

// eraCall is one line of calls.
func eraCall(t *testing.T, line, day string) (name string, in args) {
	t.Helper()
	name, data, _ := strings.Cut(strings.ReplaceAll(line, "DAY", day), " ")
	require.NoError(t, json.Unmarshal([]byte(data), &in), line)
	return name, in
}

// TestErasReadAndChange covers that a vault of each era of Raven is read, checked, changed by every tool and
// exported, that each change is taken back to the byte, and that nothing but what a call names changes.
func TestErasReadAndChange(t *testing.T) {
	t.Parallel()
	called := map[string]bool{}
	for line := range strings.Lines(eraReads + eraChanges) {
		name, _, _ := strings.Cut(line, " ")
		called[name] = true
	}
	for _, made := range raven.Tools(nil, func() []*tool.Tool { return nil }) {
		require.True(t, called[made.Name] || slices.Contains(notOfEras, made.Name), made.Name)
	}
	for _, e := range eras {
		t.Run(e.file, func(t *testing.T) {
			t.Parallel()
			files := e.files(t)
			p := open(t, files)
			e.isRead(t, p)
			e.isChanged(t, p)
			e.isBroughtBack(t, p)
			require.Equal(t, files, p.texts(t))
			e.isExported(t, p)
		})
	}
}

// files are the files of a vault of the era.
func (e era) files(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/eras/" + e.file + ".txt")
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range txtar.Parse(data).Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

// isRead covers that every reading tool answers, and what a check says.
func (e era) isRead(t *testing.T, p *place) {
	for line := range strings.Lines(strings.TrimSpace(eraReads)) {
		name, in := eraCall(t, line, e.day)
		a := p.answer(t, name, in)
		require.True(t, a.OK, "%s: %v", line, a.Error)
	}
	all, _ := p.checked(t, nil)
	said := []string{}
	for _, f := range all {
		said = append(said, fmt.Sprintf("%s:%d %s", f.Location.File, f.Location.Line, f.Details["raven_code"]))
	}
	require.Equal(t, e.check, said)
}

// isChanged covers that every tool changes the vault, and that an undo gives it back to the byte.
func (e era) isChanged(t *testing.T, p *place) {
	before := p.texts(t)
	for line := range strings.Lines(strings.TrimSpace(eraChanges)) {
		name, in := eraCall(t, line, e.day)
		was := p.version(t)
		a := p.answer(t, name, in)
		require.True(t, a.OK || name == "raven_check", "%s: %v", line, a.Error)
		if name != "raven_check" {
			require.Greater(t, p.version(t), was, line)
		}
		if p.version(t) == was {
			continue
		}
		require.NotEqual(t, before, p.texts(t), line)
		p.must(t, "raven_undo", args{"version": fmt.Sprintf("v%d", p.version(t))}, nil)
		require.Equal(t, before, p.texts(t), line)
	}
}

// isBroughtBack covers the trash, and the corrections of a check.
func (e era) isBroughtBack(t *testing.T, p *place) {
	before := p.texts(t)
	p.must(t, "raven_delete", args{"id": "people/bob"}, nil)
	var trash struct{ Items []struct{ ID string } }
	p.must(t, "raven_trash_list", nil, &trash)
	require.Len(t, trash.Items, 1)
	p.must(t, "raven_restore", args{"id": trash.Items[0].ID, "confirm": true}, nil)
	require.Equal(t, before, p.texts(t))
	was := p.version(t)
	p.must(t, "raven_check_fix", nil, nil)
	if p.version(t) > was {
		p.must(t, "raven_undo", args{"version": fmt.Sprintf("v%d", p.version(t))}, nil)
	}
	require.Equal(t, before, p.texts(t))
}

// isExported covers that an export is the vault to the byte, and that another vault is made of it.
func (e era) isExported(t *testing.T, p *place) {
	var out struct{ Notes []struct{ Path, Text string } }
	p.must(t, "team_vault_export", args{"vault": "v"}, &out)
	texts := map[string]string{}
	notes := list{}
	for _, n := range out.Notes {
		texts[n.Path] = n.Text
		notes = append(notes, args{"path": n.Path, "text": n.Text})
	}
	here := maps.Clone(p.texts(t))
	maps.DeleteFunc(here, func(path, _ string) bool { return strings.HasPrefix(path, ".raven/") })
	maps.DeleteFunc(texts, func(path, _ string) bool { return strings.HasPrefix(path, ".raven/") })
	require.Equal(t, here, texts)
	p.must(t, "team_vault_create", args{"name": "again"}, nil)
	p.must(t, "team_vault_import", args{"vault": "again", "notes": notes}, nil)
	for _, name := range []string{"raven_object_list", "raven_trait_list", "raven_check"} {
		in := args{"slim": true}
		switch name {
		case "raven_trait_list":
			in["trait_type"] = "due"
		case "raven_check":
			in = args{}
		}
		one, other := p.answer(t, name, in), args{"vault": "again"}
		maps.Copy(other, in)
		two := p.answer(t, name, other)
		require.Equal(t, string(one.Data), string(two.Data), name)
	}
}
