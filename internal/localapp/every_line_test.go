package localapp_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// aboutTyping is a story of completing fields, their values, and versions.
var aboutTyping = tooltest.Story{Name: "typing", Steps: []tooltest.Step{
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"projects/canal","prefix":"st"}`, Want: `{"data":{"items":["started=","status="]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"projects/canal","prefix":"status="}`, Want: `{"data":{"items":["status=active","status=done","status=planned"]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"projects/canal","prefix":"status=d"}`, Want: `{"data":{"items":["status=done"]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"projects/canal","prefix":"started=to"}`, Want: `{"data":{"items":["started=today","started=tomorrow"]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"projects/canal","prefix":"lead=","limit":2}`, Want: `{"data":{"items":["lead=people/alice","lead=people/bob"]},"meta":{"has_more":true}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"projects/canal","prefix":"title="}`, Want: `{"data":{"items":[]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"field","of":"nothing","prefix":""}`, Want: `{"data":{"items":[]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"type_field","of":"book","prefix":"r"}`, Want: `{"data":{"items":["rating=","read="]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"type_field","of":"book","prefix":"read="}`, Want: `{"data":{"items":["read=false","read=true"]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"type_field","of":"meeting","prefix":"attendees=people/b"}`, Want: `{"data":{"items":["attendees=people/bob"]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"type_field","prefix":""}`, Want: `{"data":{"items":[]}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"version","prefix":"x"}`, Want: `{"data":{"items":[]}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"projects/canal","set":{"status":"done"}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"projects/canal","set":{"status":"planned"}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/bob","set":{"phone":"1"}}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"version"}`, Want: `{"data":{"items":["v5","v4"],"about":{"v4":"raven_set projects/canal.md, by local, 2025-02-01 14:30 UTC"}}}`},
	{Tool: "raven_undo", Args: `{"vault":"main","version":"v4"}`},
	{Tool: "raven_complete", Args: `{"vault":"main","kind":"version","limit":1}`, Want: `{"data":{"items":["v6"]}}`},
}}

func TestTypingIsCompletedEveryWay(t *testing.T) { everyWay(t, []tooltest.Story{aboutTyping}) }

// TestLinesAreCompleted checks the completions of the shell while a person types a line.
func TestLinesAreCompleted(t *testing.T) {
	s := newPlace(t).shell("main")
	for line, want := range map[string]string{
		"set projects/canal sta":                   "started= status= :6",
		"set projects/canal status=":               "status=active status=done status=planned :4",
		"set projects/canal title=x status=pl":     "status=planned :4",
		"object update --id projects/canal lead=p": "lead=people/alice lead=people/bob lead=people/windows :4",
		"new project Dam --field status=a":         "status=active :4",
		"object list --type book --field read=":    "read=false read=true :4",
		"undo v9":                                  ":4",
	} {
		out := s.Run(t, append([]string{"__complete"}, strings.Fields(line)...)...).Out
		require.Equal(t, want, strings.Join(strings.Fields(out), " "), line)
	}
}

// TestSearchTakesWords checks that a query needs no quotes, and that quotes within it remain.
func TestSearchTakesWords(t *testing.T) {
	s := newPlace(t).shell("main")
	for _, line := range [][]string{
		{"search", "Likes", "tea"}, {"search", "Likes tea"}, {"object", "search", "Likes", "tea"},
		{"search", "--query", "Likes tea"}, {"search", `"Likes tea"`, "--limit", "5"},
	} {
		printed := s.Run(t, append(line, "--json")...)
		require.Zero(t, printed.Exit, printed.Out)
		require.Contains(t, printed.Out, `":"people/alice`)
		require.Regexp(t, `"query":"(\\")?Likes tea`, printed.Out)
	}
	require.Equal(t, 1, s.Run(t, "search").Exit)
	require.Equal(t, 1, s.Run(t, "search", "tea", "--query", "tea").Exit)
}

// TestOnlyShowsEveryFieldOfEveryList checks that each field of an item that a line selects is
// printed, for people and for programs.
func TestOnlyShowsEveryFieldOfEveryList(t *testing.T) {
	p := newPlace(t)
	s := p.shell("main")
	require.Zero(t, s.Run(t, "add", "#tag [[people/alice]]", "--to", "inbox").Exit)
	require.Zero(t, s.Run(t, "token", "create", "ci", "--role", "reader").Exit)
	require.Zero(t, s.Run(t, "audit", "verify").Exit)
	_, err := p.catalogue().Invoke(t.Context(), "memory_import", json.RawMessage(memoryLines(
		`{"id":"mem_a","intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`)))
	require.NoError(t, err)
	require.Zero(t, s.Run(t, "memory", "update", "mem_a", "--tags", "x").Exit)
	require.Zero(t, s.Run(t, "new", "page", "Gone").Exit)
	require.Zero(t, s.Run(t, "delete", "gone").Exit)
	shown := 0
	for _, made := range allTools() {
		fields := itemsOf(made)
		if len(fields) == 0 {
			continue
		}
		for _, field := range fields {
			line := append(strings.Fields(made.Commands[0].Words), listsOfPlace[made.Name]...)
			printed := s.Run(t, append(line, "--only", field)...)
			require.Zero(t, printed.Exit, "%v: %s", line, printed.Err)
			require.True(t, strings.HasPrefix(printed.Out, field+"\n") ||
				strings.Contains(printed.Out, "\n"+field+"\n"), "%v %s: %q", line, field, printed.Out)
			shown++
		}
	}
	require.Greater(t, shown, 50)
}

// listsOfPlace are the arguments with which the lists of a place have items.
var listsOfPlace = map[string][]string{
	"raven_backlinks": {"people/alice"}, "raven_outlinks": {"projects/canal"},
	"raven_type": {"person"}, "raven_tag": {"tag"}, "raven_trait_list": {"due"},
	"memory_history": {"mem_a"}, "raven_history": {"inbox"}, "raven_search": {"alice"}, "raven_date": {"2025-02-03"},
}

// itemsOf returns the fields of the items of a tool's list, in order; none if the list has no
// pages, is written to files, or has no items in a place.
func itemsOf(made *tool.Tool) []string {
	_, paged := made.Arg("page_token")
	empty := []string{"team_member_list", "team_issuer_list"} // they are only on servers with a login
	if !paged || made.Output != nil || slices.Contains(empty, made.Name) {
		return nil
	}
	for _, name := range []string{"items", "entries"} {
		if list := made.OutputSchema().Properties[name]; list != nil && list.Items != nil {
			return slices.Sorted(maps.Keys(list.Items.Properties))
		}
	}
	return nil
}

// TestEmptyListsNameToolsThatAreThere checks that the call which the message about an empty list
// suggests is a valid one.
func TestEmptyListsNameToolsThatAreThere(t *testing.T) {
	for _, made := range allTools() {
		for _, e := range made.Empty {
			if e.Tool == "" {
				continue
			}
			args, err := json.Marshal(e.Args)
			require.NoError(t, err)
			target := toolOf(t, e.Tool)
			for name := range e.Args {
				_, ok := target.Arg(name)
				require.True(t, ok, "%s: %s %s", made.Name, e.Tool, args)
			}
			for _, a := range target.Args {
				_, given := e.Args[a.Name]
				require.True(t, given || !a.Required, "%s: %s has no %s", made.Name, e.Tool, a.Name)
			}
		}
	}
}
