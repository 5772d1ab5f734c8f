package raven_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// checkedSchema is a schema that is all used by soundNotes.
const checkedSchema = `version: 1
types:
  person:
    default_path: people/
    name_field: name
    fields:
      name: {type: string, required: true}
      mood: {type: enum, values: [Good, bad]}
      born: date
      rating: {type: number, max: 5}
      boss: {type: ref, target: person}
    traits:
      due: {required: false}
  firm:
    fields: {lead: {type: ref, target: person}}
traits:
  due: date
  status: {type: enum, values: [todo, done]}
  assignee: {type: ref, target: person}
`

// soundNotes are notes of which nothing is wrong.
func soundNotes() map[string]string {
	return map[string]string{
		"schema.yaml":     checkedSchema,
		"people/freya.md": "---\ntype: person\nname: Freya\nboss: \"[[people/sif]]\"\n---\n\n- @due(2026-03-01) @status(todo) @assignee([[people/sif]]) x\n",
		"people/sif.md":   "---\ntype: person\nname: Sif\nmood: Good\n---\n\n## Part\n\nSee [[people/freya]] and [[people/sif#part]].\n",
		"acme.md":         "---\ntype: firm\nlead: \"[[people/sif]]\"\n---\n",
	}
}

// A found is an issue of a check.
type found struct {
	Code     fault.Code
	Level    string
	Message  string
	Location *fault.Location
	Details  map[string]any
}

// checked are the issues of a check, the errors first.
func (p *place) checked(t testing.TB, in args) (all []found, data struct {
	Files    int `json:"file_count"`
	Errors   int `json:"error_count"`
	Warnings int `json:"warning_count"`
	Issues   []found
}) {
	t.Helper()
	e := p.answer(t, "raven_check", in)
	require.NoError(t, json.Unmarshal(e.Data, &data))
	require.Equal(t, data.Errors == 0, e.OK)
	if !e.OK {
		require.Equal(t, fault.ValidationFailed, e.Error.Code)
		for _, f := range e.Error.Errors {
			all = append(all, found{f.Code, "error", f.Message, f.Location, f.Details})
		}
	}
	for _, i := range data.Issues {
		require.Equal(t, "warning", i.Level)
	}
	return append(all, data.Issues...), data
}

// codesOf are the names of issues, and their codes and levels.
func codesOf(all []found) []string {
	codes := []string{}
	for _, f := range all {
		codes = append(codes, fmt.Sprintf("%s %s %s", f.Details["raven_code"], f.Code, f.Level[:1]))
	}
	slices.Sort(codes)
	return codes
}

// checkFiltered requires that a check for the name or the code of one issue finds what a check for
// all issues found of it.
func (p *place) checkFiltered(t testing.TB, all []found) {
	t.Helper()
	for _, f := range all {
		name := f.Details["raven_code"]
		only, _ := p.checked(t, args{"issues": list{name.(string)}})
		require.Equal(t, of(all, func(o found) bool { return o.Details["raven_code"] == name }), only)
		only, _ = p.checked(t, args{"issues": list{string(f.Code)}})
		require.Equal(t, of(all, func(o found) bool { return o.Code == f.Code }), only)
	}
}

// of returns the issues for which is returns true.
func of(all []found, is func(found) bool) (some []found) {
	for _, f := range all {
		if is(f) {
			some = append(some, f)
		}
	}
	return some
}

// TestCheckCodes covers each code with a vault that has it once, beside one that has none. fixed is the text that a fix
// makes of the note; empty: there is no fix.
func TestCheckCodes(t *testing.T) {
	t.Parallel()
	p := open(t, soundNotes())
	all, data := p.checked(t, nil)
	require.Empty(t, all)
	require.Equal(t, 3, data.Files)
	for name, c := range map[string]struct {
		path, text string
		code       string
		at         string
		fixed      string
	}{
		"unknown type":     {"a.md", "---\ntype: persn\n---\n", "unknown_type INVALID_TYPE e", "a.md:1", ""},
		"embedded unknown": {"a.md", "## X\n::persn(id=x)\n", "unknown_type INVALID_TYPE e", "a.md:1", ""},
		"parse error":      {"a.md", "---\na: [\n---\n", "parse_error FILE_ERROR e", "a.md:3", ""},
		"missing field":    {"a.md", "---\ntype: person\n---\n", "missing_required_field MISSING_REQUIRED e", "a.md:1", ""},
		"value":            {"a.md", "---\ntype: person\nname: A\nrating: many\n---\n", "invalid_field_value INVALID_VALUE e", "a.md:4", ""},
		"bounds":           {"a.md", "---\ntype: person\nname: A\nrating: 9\n---\n", "invalid_field_value INVALID_FIELD e", "a.md:4", ""},
		"enum":             {"a.md", "---\ntype: person\nname: A\nmood: sad\n---\n", "invalid_enum_value INVALID_VALUE e", "a.md:4", ""},
		"enum by case": {"a.md", "---\ntype: person\nname: A # c\nmood: good # d\n---\n", "invalid_enum_value INVALID_VALUE e", "a.md:4",
			"---\ntype: person\nname: A # c\nmood: Good # d\n---\n"},
		"enum in quotes": {"a.md", "---\ntype: person\nname: A\nmood: \"'bad'\"\n---\n", "invalid_enum_value INVALID_VALUE e", "a.md:4",
			"---\ntype: person\nname: A\nmood: \"bad\"\n---\n"},
		"date":               {"a.md", "---\ntype: person\nname: A\nborn: never\n---\n", "invalid_date_format INVALID_VALUE e", "a.md:4", ""},
		"loose date":         {"a.md", "---\ntype: person\nname: A\nborn: \"2025-2-1\"\n---\n", "invalid_date_format INVALID_VALUE e", "a.md:4", "---\ntype: person\nname: A\nborn: \"2025-02-01\"\n---\n"},
		"trait value":        {"a.md", "- @due(never) x\n", "invalid_trait_value INVALID_VALUE e", "a.md:1", ""},
		"trait date":         {"a.md", "- @due(2026-3-1) x @status(done)\n", "invalid_trait_value INVALID_VALUE e", "a.md:1", "- @due(2026-03-01) x @status(done)\n"},
		"trait enum":         {"a.md", "- @status(DONE) x\n", "invalid_enum_value INVALID_VALUE e", "a.md:1", "- @status(done) x\n"},
		"bare trait":         {"a.md", "- @due x\n", "invalid_trait_value INVALID_VALUE w", "a.md:1", ""},
		"target":             {"a.md", "---\ntype: firm\nlead: \"[[acme]]\"\n---\n", "wrong_target_type INVALID_FIELD e", "a.md:3", ""},
		"trait target":       {"a.md", "- @assignee(acme) x\n", "wrong_target_type INVALID_FIELD e", "a.md:1", ""},
		"key":                {"a.md", "---\ntype: firm\nsize: 3\naliases: [x]\n---\n", "unknown_frontmatter_key INVALID_FIELD e", "a.md:3", ""},
		"missing":            {"a.md", "See [[nobody]].\n", "missing_reference INVALID_REF e", "a.md:1", ""},
		"missing in a trait": {"a.md", "- @assignee(people/nobody) x\n", "missing_reference INVALID_REF e", "a.md:1", ""},
		"local":              {"a.md", "## One\n\nSee [[#One]].\n", "local_fragment_ref INVALID_REF e", "a.md:3", "## One\n\nSee [[a#One]].\n"},
		"no part":            {"a.md", "See [[#nope]].\n", "local_fragment_ref INVALID_REF e", "a.md:1", ""},
		"stale":              {"a.md", "See [[people/sif#gone]].\n", "stale_fragment INVALID_REF w", "a.md:1", ""},
		"markdown link": {"a.md", "See [Sif *x*](people/sif.md#part).\n", "markdown_link_to_vault_note INVALID_REF e", "a.md:1",
			"See [[people/sif#part|Sif *x*]].\n"},
		"short":          {"a.md", "See [[sif#part|her]] ok.\n", "short_ref_could_be_full_path INVALID_REF w", "a.md:1", "See [[people/sif#part|her]] ok.\n"},
		"declared twice": {"a.md", "## X\n::firm(id=x)\n\n## Y\n::firm(id=x)\n", "duplicate_object_id DUPLICATE_ID e", "a.md:4", ""},
		"trait id twice": {"a.md", "- @due(2026-01-01) @id(q) x\n- @due(2026-01-01) @id(q) y\n", "duplicate_trait_id DUPLICATE_ID e", "a.md:2", ""},
		"alias":          {"a.md", "---\nalias: sif\n---\n", "alias_collision DUPLICATE_ID e", "a.md:2", ""},
		"undefined":      {"a.md", "- @mood x\n- @mood y\n", "undefined_trait INVALID_TRAIT w", "a.md:1", ""},
		"unused type":    {"schema.yaml", checkedSchema + "# \n", "", "", ""},
		"copy":           {"people/sif.conflict-v3.md", "x\n", "conflict_copy FILE_ERROR w", "people/sif.conflict-v3.md:1", ""},
		"settings":       {"raven.yaml", "deletion: {behavior: permanent}\n", "config_error SCHEMA_ERROR w", "raven.yaml:1", ""},
		"bad settings":   {"raven.yaml", "deletion: {behavior: never}\n", "config_error SCHEMA_ERROR e", "raven.yaml:1", ""},
		"query":          {"raven.yaml", "queries: {x: \"type:nope\"}\n", "invalid_saved_query INVALID_QUERY w", "raven.yaml:1", ""},
		"unused trait":   {"schema.yaml", checkedSchema + "  hot: boolean\n", "unused_trait SCHEMA_ERROR w", "schema.yaml:20", ""},
		"no target":      {"schema.yaml", checkedSchema + "  due2: {type: ref, target: nope}\n", "missing_target_type INVALID_TYPE e|unused_trait SCHEMA_ERROR w", "schema.yaml:20", ""},
		"no such trait": {"schema.yaml", strings.Replace(checkedSchema, "  firm:\n", "  firm:\n    traits: [nope]\n", 1),
			"undefined_trait_of_type INVALID_TRAIT w", "schema.yaml:15", ""},
		"default":        {"schema.yaml", checkedSchema + "  due2: {type: number, default: x}\n", "invalid_default INVALID_VALUE e|unused_trait SCHEMA_ERROR w", "schema.yaml:20", ""},
		"type of values": {"schema.yaml", checkedSchema + "  due2: {type: colour}\n", "unknown_field_type SCHEMA_ERROR e", "schema.yaml:20", ""},
		"nobody": {"schema.yaml", strings.Replace(checkedSchema, "types:\n", "types:\n  ghost: {}\n", 1),
			"unused_type SCHEMA_ERROR w", "schema.yaml:3", ""},
		"first of its kind": {"schema.yaml", strings.Replace(checkedSchema, "  firm:\n    fields: {",
			"  firm:\n    fields: {twin: {type: ref, target: firm, required: true}, ", 1),
			"missing_required_field MISSING_REQUIRED e|self_referential_required SCHEMA_ERROR w", "acme.md:1", ""},
		"required trait": {"schema.yaml", strings.Replace(checkedSchema, "due: {required: false}", "due: {required: true}", 1),
			"missing_required_trait MISSING_REQUIRED e|missing_required_trait MISSING_REQUIRED e", "people/freya.md:1", ""},
		"alias of two": {"a.md", "---\nalias: [twin, Twin]\n---\n[[b]]\n", "missing_reference INVALID_REF e", "a.md:4", ""},
		"name of two": {"x/sif.md", "See [[people/sif]], [[sif]].\n", "id_collision DUPLICATE_ID w|" +
			"short_ref_could_be_full_path INVALID_REF w", "x/sif.md:1", "See [[people/sif]], [[x/sif]].\n"},
		"template": {"schema.yaml", checkedSchema + "templates: {a: {file: none.md}}\n", "missing_template NOT_FOUND w", "schema.yaml:20", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := soundNotes()
			files[c.path] = c.text
			p := open(t, files)
			all, _ := p.checked(t, nil)
			want := []string{}
			if c.code != "" {
				want = splitBar(c.code)
			}
			require.Equal(t, want, codesOf(all), "%v", all)
			if len(want) == 0 {
				return
			}
			p.checkFiltered(t, all)
			at := all[0].Location
			require.Equal(t, c.at, fmt.Sprintf("%s:%d", at.File, at.Line))
			before := p.texts(t)
			var fixed struct {
				Total  int `json:"fixed_total"`
				Action string
				Fixed  []struct{ Old, New string }
			}
			p.must(t, "raven_check_fix", nil, &fixed)
			if c.fixed == "" {
				require.Equal(t, before, p.texts(t))
				require.Equal(t, "unchanged", fixed.Action)
				return
			}
			before[c.path] = c.fixed
			require.Equal(t, before, p.texts(t))
			require.Equal(t, 1, fixed.Total)
			all, _ = p.checked(t, nil)
			require.Empty(t, all)
			p.must(t, "raven_check_fix", nil, &fixed)
			require.Equal(t, "unchanged", fixed.Action)
		})
	}
}

// TestCheckTwins covers what needs more than one file to be wrong, or only settings, and what only looks wrong.
func TestCheckTwins(t *testing.T) {
	t.Parallel()
	const ambiguous = "ambiguous_reference INVALID_REF e"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"alias of two notes": {map[string]string{
			"a.md": "---\nalias: other\n---\n", "b.md": "---\naliases: [Other]\n---\n",
		}, "duplicate_alias DUPLICATE_ID e|duplicate_alias DUPLICATE_ID e"},
		"alias of two and name of a third": {map[string]string{
			"a.md": "---\nalias: sif\n---\n", "b.md": "---\nalias: sif\n---\n",
		}, "alias_collision DUPLICATE_ID e|alias_collision DUPLICATE_ID e|duplicate_alias DUPLICATE_ID e|duplicate_alias DUPLICATE_ID e"},
		"reference to two": {map[string]string{
			"x/sif.md": "x\n", "a.md": "See [[sif]].\n",
		}, ambiguous + "|id_collision DUPLICATE_ID w"},
		"field that leads to two": {map[string]string{
			"x/sif.md": "x\n", "a.md": "---\ntype: firm\nlead: \"[[sif]]\"\n---\n",
		}, ambiguous + "|id_collision DUPLICATE_ID w"},
		"short name that nobody uses": {map[string]string{"x/sif.md": "x\n"}, ""},
		"annotations alike without @id": {map[string]string{
			"a.md": "- @due(2026-01-01) x\n- @due(2026-01-01) x\n",
		}, ""},
		"@id in another note": {map[string]string{
			"a.md": "- @due(2026-01-01) @id(q) x\n", "b.md": "- @due(2026-01-01) @id(q) y\n",
		}, "duplicate_trait_id DUPLICATE_ID e"},
		"same part in two notes": {map[string]string{
			"a.md": "## X\n::firm(id=x)\n", "b.md": "## X\n::firm(id=x)\n",
		}, ""},
		"query with inputs": {map[string]string{
			"raven.yaml": "queries:\n  of: {query: \"type:{{args.t}} .name=={{args.who}} | type:firm .lead=={{args.who}}\", args: [t, who]}\n",
		}, ""},
		"filter that narrows nothing": {map[string]string{
			"raven.yaml": "queries: {x: {types: [person], filters: {due: past}}}\n",
		}, "invalid_saved_query INVALID_QUERY w"},
		"query that cannot be read": {map[string]string{"raven.yaml": "queries: {x: \"type:person .\"}\n"}, "invalid_saved_query INVALID_QUERY w"},
		"another trash":             {map[string]string{"raven.yaml": "deletion: {trash_dir: bin}\n"}, "config_error SCHEMA_ERROR w"},
		"files that are not there":  {map[string]string{"a.md": "![](none.png) [[none.pdf]] [x](none.txt)\n"}, ""},
		"key of two types":          {map[string]string{"a.md": "---\nwhatever: 3\n---\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := soundNotes()
			maps.Copy(files, c.files)
			p := open(t, files)
			all, _ := p.checked(t, nil)
			want := []string{}
			if c.want != "" {
				want = splitBar(c.want)
			}
			require.Equal(t, want, codesOf(all), "%v", all)
			p.checkFiltered(t, all)
			before := p.texts(t)
			p.must(t, "raven_check_fix", nil, nil)
			require.Equal(t, before, p.texts(t), "none of this is corrected without a doubt")
		})
	}
}

// TestCheckPlaces covers what a check says of notes that are not where the settings want them.
func TestCheckPlaces(t *testing.T) {
	t.Parallel()
	p := open(t, map[string]string{
		"schema.yaml": checkedSchema, "raven.yaml": "directories: {type: objects}\n",
		"objects/people/sif.md": "---\ntype: person\nname: Sif\n---\nSee [[people/freya]].\n",
		"people/freya.md":       "---\ntype: person\nname: Freya\n---\n",
		"Objects/people/bob.md": "---\ntype: person\nname: Bob\n---\n",
		"objects/people/co.md":  "---\ntype: firm\n---\n",
	})
	only := args{"issues": []string{"non_canonical_path", "directory_type_mismatch"}}
	all, _ := p.checked(t, only)
	require.Equal(t, []string{"directory_type_mismatch INVALID_VALUE e", "non_canonical_path INVALID_VALUE e",
		"non_canonical_path INVALID_VALUE e"}, codesOf(all))
	require.Equal(t, "Objects/people/bob.md", all[0].Location.File)
	require.Equal(t, "objects/people/co.md", all[1].Location.File)
	require.Equal(t, "people/freya.md", all[2].Location.File)
	p.must(t, "raven_check_fix", only, nil)
	texts := p.texts(t)
	require.Contains(t, texts, "objects/people/freya.md")
	require.NotContains(t, texts, "people/freya.md")
	require.Contains(t, texts, "objects/people/bob.md", "a folder that differs by case only is the folder")
	require.Contains(t, texts["objects/people/sif.md"], "[[people/freya]]", "the name without the folder leads there as before")
	all, _ = p.checked(t, only)
	require.Equal(t, []string{"directory_type_mismatch INVALID_VALUE e"}, codesOf(all))
}

func splitBar(s string) []string {
	var all []string
	for i, start := 0, 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '|' {
			all, start = append(all, s[start:i]), i+1
		}
	}
	return all
}

// TestCheckFilters covers what a check leaves out.
func TestCheckFilters(t *testing.T) {
	t.Parallel()
	files := soundNotes()
	maps.Copy(files, map[string]string{
		"a.md":        "- @due(never) [[nobody]] [[sif]]\n\n## B\n\n[[no]]\n",
		"people/x.md": "---\ntype: person\nname: X\nboss: \"[[people/none]]\"\nmood: sad\n---\n",
	})
	p := open(t, files)
	count := func(in args) (errors, warnings int) {
		t.Helper()
		_, data := p.checked(t, in)
		return data.Errors, data.Warnings
	}
	for _, c := range []struct {
		in               args
		errors, warnings int
	}{
		{nil, 5, 1},
		{args{"errors_only": true}, 5, 0},
		{args{"strict": true}, 6, 0},
		{args{"id": "a"}, 3, 1},
		{args{"id": "a#b"}, 1, 0},
		{args{"id": "people/"}, 2, 0},
		{args{"type": "person"}, 2, 0},
		{args{"trait": "due"}, 1, 0},
		{args{"issues": list{"missing_reference"}}, 3, 0},
		{args{"issues": list{"INVALID_REF"}}, 3, 1},
		{args{"exclude": list{"missing_reference", "invalid_enum_value"}}, 1, 1},
		{args{"issues": list{"duplicate_alias"}}, 0, 0},
	} {
		errors, warnings := count(c.in)
		require.Equal(t, []int{c.errors, c.warnings}, []int{errors, warnings}, "%v", c.in)
	}
	for _, c := range []struct {
		in   args
		code fault.Code
	}{
		{args{"issues": list{"nope"}}, fault.InvalidValue}, {args{"id": "none"}, fault.NotFound},
		{args{"id": "none/"}, fault.NotFound}, {args{"type": "nope"}, fault.InvalidType},
		{args{"create_missing": true, "as_of": "v2"}, fault.InvalidValue},
	} {
		require.Equal(t, c.code, p.answer(t, "raven_check", c.in).Error.Code, "%v", c.in)
	}
}

// TestCreateMissing covers the notes that a check makes.
func TestCreateMissing(t *testing.T) {
	t.Parallel()
	files := soundNotes()
	files["a.md"] = "[[people/new one]] [[people/new one]] [[what]] - @assignee(eir) x\n"
	p := open(t, files)
	var out struct {
		Created []struct {
			ID, Type, File, Confidence string
			References                 int
		}
		Unknown []string
		Errors  int `json:"error_count"`
	}
	before := p.texts(t)
	p.must(t, "raven_check", args{"create_missing": true, "dry_run": true}, nil)
	require.Equal(t, before, p.texts(t))
	p.must(t, "raven_check", args{"create_missing": true}, &out)
	require.Equal(t, []string{"what"}, out.Unknown)
	require.Len(t, out.Created, 2)
	require.Equal(t, "people/new one", out.Created[0].ID)
	require.Equal(t, "inferred", out.Created[0].Confidence)
	require.Equal(t, 2, out.Created[0].References)
	require.Equal(t, "certain", out.Created[1].Confidence)
	require.Equal(t, 1, out.Errors)
	version := p.version(t)
	p.must(t, "raven_check", args{"create_missing": true}, &out)
	require.Empty(t, out.Created)
	require.Equal(t, version, p.version(t))
}

// TestCheckFixPassesOver covers that a correction leaves out the notes that the settings protect, says so, and corrects
// all others, also where they would move.
func TestCheckFixPassesOver(t *testing.T) {
	t.Parallel()
	files := soundNotes()
	files["raven.yaml"] = "protected_prefixes: [locked/]\ndirectories: {page: pages}\n"
	files["locked/a.md"] = "See [[sif]].\n"
	files["pages/b.md"] = "See [[sif]].\n"
	files["c.md"] = "x\n"
	p := open(t, files)
	var out struct {
		Total   int `json:"fixed_total"`
		Skipped []struct {
			File   string `json:"file_path"`
			Reason string
		}
	}
	only := args{"issues": list{"short_ref_could_be_full_path", "non_canonical_path"}}
	p.must(t, "raven_check_fix", only, &out)
	require.Equal(t, 2, out.Total)
	require.Len(t, out.Skipped, 2)
	for _, one := range out.Skipped {
		require.Contains(t, one.Reason, "protected_prefixes")
		require.Equal(t, "locked/a.md", one.File)
	}
	texts := p.texts(t)
	require.Equal(t, "See [[sif]].\n", texts["locked/a.md"])
	require.Equal(t, "See [[people/sif]].\n", texts["pages/b.md"])
	require.Contains(t, texts, "pages/c.md")
	require.NotContains(t, texts, "c.md")
	p.must(t, "raven_check_fix", only, &out)
	require.Equal(t, texts, p.texts(t))
}

// TestCheckListsTheFirst covers that a check of many problems counts all, and lists the first of each level by place,
// whatever it finds first; that a folder is checked by itself; and that a fix after it counts as a check does.
func TestCheckListsTheFirst(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"schema.yaml": "version: 1\ntypes:\n  unused: {}\n",
		"a/twin.md":   "See [[dup]].\n", "b/dup.md": "x\n", "c/dup.md": "x\n",
	}
	for i := range 300 {
		texts[fmt.Sprintf("n/%03d.md", i)] = "---\nalias: same\n---\n[[gone one]]\n\n[[b/dup#gone]] [[gone two]]\n"
	}
	texts["o.md"] = "[[gone]]\n"
	p := open(t, texts)
	all, data := p.checked(t, nil)
	require.Equal(t, []int{304, 902, 302}, []int{data.Files, data.Errors, data.Warnings})
	require.Len(t, all, 400)
	require.Equal(t, "a/twin.md:1", place1(all[0]))
	require.Equal(t, "n/000.md:2", place1(all[1]))
	require.Equal(t, "n/000.md:6", place1(all[3]))
	require.Equal(t, "n/066.md:2", place1(all[199]))
	require.Equal(t, "a/twin.md:1", place1(all[200]))
	require.Equal(t, "n/000.md:6", place1(all[201]))
	require.Equal(t, "n/198.md:6", place1(all[399]))

	all, data = p.checked(t, args{"strict": true})
	require.Equal(t, []int{1204, 0}, []int{data.Errors, data.Warnings})
	require.Len(t, all, 200)
	require.Equal(t, "n/049.md:4", place1(all[199]))
	all, data = p.checked(t, args{"errors_only": true})
	require.Equal(t, []int{902, 0}, []int{data.Errors, data.Warnings})
	require.Len(t, all, 200)
	_, data = p.checked(t, args{"id": "n/"})
	require.Equal(t, []int{300, 900, 300}, []int{data.Files, data.Errors, data.Warnings})
	_, data = p.checked(t, args{"id": "n/007"})
	require.Equal(t, []int{1, 3, 1}, []int{data.Files, data.Errors, data.Warnings})

	var fixed struct {
		Errors   int `json:"error_count"`
		Warnings int `json:"warning_count"`
	}
	p.must(t, "raven_check_fix", args{"dry_run": true}, &fixed)
	require.Equal(t, []int{902, 302}, []int{fixed.Errors, fixed.Warnings})
}

// place1 is where an issue is.
func place1(f found) string { return fmt.Sprintf("%s:%d", f.Location.File, f.Location.Line) }
