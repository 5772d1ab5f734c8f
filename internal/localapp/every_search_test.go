package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestEveryWaySearches(t *testing.T) {
	everyWay(t, []tooltest.Story{searching, searchingWhatChanges, searchingAnything()})
}

var searching = tooltest.Story{Name: "searching", Steps: []tooltest.Step{
	{Tool: "raven_search", Args: `{"vault":"main","query":"likes tea"}`, Want: `{"data":{"query":"likes tea","items":[{"id":"people/alice","title":"Alice","file_path":"people/alice.md","snippet":"## Notes - Likes tea","line_start":13}]},"meta":{"count":1,"total":1,"has_more":false,"version":"v2"}}`},
	{Tool: "raven_search", Args: `{"query":"planning"}`, Want: `{"data":{"items":[{"id":"meetings/plan","title":"Planning","line_start":6}]},"meta":{"total":2}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch"}`, Want: `{"data":{"items":[{"id":"broken"},{"id":"people/alice"},{"id":"daily/2025-01-31"}]},"meta":{"total":3}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch","type":"person"}`, Want: `{"data":{"items":[{"id":"people/alice"}]},"meta":{"total":1}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch","type":"date"}`, Want: `{"data":{"items":[{"id":"daily/2025-01-31"}]},"meta":{"total":1}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch","type":"book"}`, Want: `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}],"meta":{"count":0,"total":0,"has_more":false}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch","type":"persn"}`, Code: fault.InvalidType, Want: `{"error":{"details":{"available_types":["person","company"]},"fixes":["did you mean person?"]}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"nowheretobefound"}`, Want: `{"data":{"items":[]},"warnings":[{"code":"NO_RESULTS"}]}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"코드"}`, Want: `{"data":{"items":[{"id":"ünï/코드"}]}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"uni"}`, Want: `{"data":{"items":[{"id":"ünï/코드"}]}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinsh"}`, Want: `{"data":{"items":[{"id":"broken"}]},"meta":{"total":3}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebra*","only":["id"]}`, Want: `{"data":{"items":[{"id":"broken"}]},"meta":{"total":3}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"\"keeps a zebrafinch\""}`, Want: `{"data":{"items":[{"id":"people/alice"}]},"meta":{"total":1}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"\"zebrafinch keeps\""}`, Want: `{"meta":{"total":0}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch -alice"}`, Want: `{"meta":{"total":2}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"date"}`, Want: `{"data":{"items":[{"id":"templates/plan"}]}}`},
	{Tool: "raven_search", Args: `{"vault":"main"}`, Code: fault.MissingRequired},
	{Tool: "raven_search", Args: `{"vault":"main","query":""}`, Code: fault.MissingRequired},
	{Tool: "raven_search", Args: `{"vault":"main","query":"x","limit":0}`, Code: fault.InvalidValue},
	{Tool: "raven_search", Args: `{"vault":"main","query":"x","limit":201}`, Code: fault.InvalidValue},
	{Tool: "raven_search", Args: `{"vault":"main","query":"zebrafinch","envelope":false,"limit":1}`, Want: `{"query":"zebrafinch","items":[{"id":"broken"}]}`},
}}

// searchingWhatChanges searches immediately after each write.
var searchingWhatChanges = tooltest.Story{Name: "searching what changes", Steps: []tooltest.Step{
	{Tool: "raven_search", Args: `{"vault":"main","query":"thermometer"}`, Want: `{"meta":{"total":0}}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"book","title":"Heat","content":"# Heat\n\nA thermometer.\n"}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"thermometers"}`, Want: `{"data":{"items":[{"id":"books/heat","title":"Heat"}]},"meta":{"version":"v3"}}`},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"books/heat","old_str":"thermometer","new_str":"barometer"}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"\"a thermometer\""}`, Want: `{"meta":{"total":0}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"barometer"}`, Want: `{"data":{"items":[{"id":"books/heat","snippet":"# Heat A barometer."}]}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"books/heat"}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"barometer"}`, Want: `{"meta":{"total":0}}`},
	{Tool: "team_vault_import", Args: `{"vault":"main","notes":[{"path":"rookery.yaml","text":"language: de\n"},{"path":"haus.md","text":"Viele Häuser.\n"}]}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"haus -pfad"}`, Want: `{"data":{"items":[{"id":"haus"}]}}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"viel"}`, Want: `{"data":{"items":[{"id":"haus"}]}}`},
	{Tool: "raven_reindex", Args: `{"vault":"main","full":true}`},
	{Tool: "raven_search", Args: `{"vault":"main","query":"viel"}`, Want: `{"data":{"items":[{"id":"haus"}]}}`},
}}

// searchingAnything returns a story of usual and unusual queries: no query is an error.
func searchingAnything() tooltest.Story {
	s := tooltest.Story{Name: "searching anything"}
	for _, query := range []string{
		"O'Brien", "c++", "@todo", "*", "**", "\"", "\"un balanced", "tea AND", "AND", "OR NOT",
		"foo:bar", "x {y}", "-foo", "-", "--", "-\"", "-*", "a*", "(", ")", "[[people/alice]]", "#tag",
		"日本語の検索", "🦜", "👩‍👩‍👧", "\u202etfel", "a\u0000b", "\u0001", "e\u0301", "\ufeff", "%", "\\", "'; --", "NEAR(a,b)",
		"^x", "x~2", "x^3", "/.*/", "<b>", "$HOME", "`id`", "…", "½", "ﬀ", "İ", "ß",
		strings.Repeat("a", 2000), strings.Repeat("lantern ", 400), strings.Repeat("\"a b\" ", 300),
		strings.Repeat("-x ", 500), strings.Repeat("漢", 1000),
	} {
		args, _ := json.Marshal(map[string]string{"vault": "main", "query": query}) // strings
		want, _ := json.Marshal(map[string]any{"data": map[string]string{"query": query}})
		s.Steps = append(s.Steps, tooltest.Step{
			Tool: "raven_search", Args: string(args), Want: string(want),
		})
	}
	return s
}

// TestSearchOfAPage sends the longest permitted query of each kind.
func TestSearchOfAPage(t *testing.T) {
	p := newPlace(t)
	for i := range 5 {
		var b strings.Builder
		for n := 0; b.Len() < tool.MaxQuery-100; n++ {
			fmt.Fprintf(&b, []string{`w%d `, `-w%d `, `"a w%d" `, `w%d* `, `-"a w%d" `}[i], n)
		}
		answer := done(t, p.catalogue(), "raven_search", map[string]any{
			"vault": "main", "query": b.String() + "zebrafinch",
		})
		require.NotContains(t, string(answer), `"error"`)
	}
}

// TestSearchPages reads all pages of a search while others write.
func TestSearchPages(t *testing.T) {
	app, _ := openVault(t)
	files := map[string]string{}
	for i := range 25 {
		files[fmt.Sprintf("n%02d.md", i)] = fmt.Sprintf("# N\n\n%s\n\nitem %d\n", strings.Repeat("lantern ", i%5+1), i)
	}
	put(t, local{app}, files)
	walk := func(between func(page int)) (ids []string) {
		token := ""
		for page := 0; page == 0 || token != ""; page++ {
			a := must(t, local{app}, "raven_search", args{
				"query": "lantern", "limit": 4, "page_token": token,
			})
			for _, item := range into[struct{ Items []struct{ ID string } }](t, a).Items {
				ids = append(ids, item.ID)
			}
			token = a.Meta.Next
			between(page)
		}
		return ids
	}
	quiet := walk(func(int) {})
	require.Len(t, quiet, 25)
	require.Equal(t, quiet, walk(func(page int) {
		put(t, local{app}, map[string]string{fmt.Sprintf("other/%d.md", page): "# Another\n\nferry\n"})
	}), "what others write changes all scores, and no page")
}
