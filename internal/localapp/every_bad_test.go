package localapp_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A badCall is a call that must be refused, and the expected code.
type badCall struct {
	why  string
	call tooltest.Call
	code fault.Code
	hint string // part of the answer
}

// TestBadInput makes all bad calls over the first way in, and half of them over one of the others,
// drawn by a seed, or with ROOKERY_SOAK all over all. Each is refused with its code and the same
// message; nothing changes, and nothing leaks.
func TestBadInput(t *testing.T) {
	t.Parallel()
	calls := append(generatedBad(t), writtenBad(t)...)
	require.Greater(t, len(calls), 500)
	var first []string
	ways := append(waysIn(), asleep())
	turn := rand.New(rand.NewPCG(lostSeed(t), 3)).Perm(len(calls))
	for n, in := range ways {
		t.Run(in.name, func(t *testing.T) {
			if n > 0 {
				t.Parallel()
			}
			e := in.open(t)
			versions, files := e.state(t)
			var answers []string
			carried := 0
			for i, bad := range calls {
				answers = append(answers, "")
				if n > 0 && !soaked() && turn[i]%(2*(len(ways)-1)) != n-1 {
					continue
				}
				answer, ok := e.way.Call(t, bad.call)
				if !ok {
					continue
				}
				carried++
				answers[i] = tooltest.Comparable(answer)
				if n == 0 {
					bad.require(t, answer)
				} else {
					bad.requireSame(t, in.name, first[i], answers[i])
				}
				e.requireNoLeak(t, answers[i])
			}
			require.Greater(t, carried, 30, "the way carries enough calls to tell")
			after, filesAfter := e.state(t)
			require.Equal(t, versions, after, "nothing is committed")
			require.Equal(t, files, filesAfter, "no file changes")
			e.requireNoLeak(t, e.logs.String())
			if n == 0 {
				first = answers
			}
		})
	}
}

// require requires that an answer refuses the call as expected.
func (b badCall) require(t testing.TB, answer json.RawMessage) {
	t.Helper()
	what := fmt.Sprintf("%s: %s: %.1000s", b.call.Tool, b.why, answer)
	assert.Equal(t, b.code, tooltest.CodeOf(t, answer), what)
	assert.Contains(t, string(answer), b.hint, what)
	assert.Less(t, len(answer), 4000, what)
	assert.NotContains(t, string(answer), `"data":`, what)
}

// requireSame requires that the call is refused over a way in as over the first one. MCP has the
// name of the vault in a header too, and its SDK refuses a header that is not text before any tool
// is called.
func (b badCall) requireSame(t testing.TB, way, first, answer string) {
	t.Helper()
	var name string
	raw, named := b.call.Args["vault"]
	if named && json.Unmarshal(raw, &name) != nil && strings.HasPrefix(way, "mcp") {
		first = string(tooltest.CodeOf(t, json.RawMessage(first)))
		answer = string(tooltest.CodeOf(t, json.RawMessage(answer)))
	}
	assert.Equal(t, first, answer, "%s: %s", b.call.Tool, b.why)
}

// requireNoLeak requires that a text contains no text of the notes, and no path of this machine.
func (e *entrance) requireNoLeak(t testing.TB, text string) {
	t.Helper()
	for _, secret := range []string{textCanary, fieldCanary, e.dir} {
		if strings.Contains(text, secret) {
			assert.Fail(t, "a leak", "%q stands in %.1000s", secret, text)
		}
	}
}

// generatedBad returns the bad calls that follow from the schemas of the tools.
func generatedBad(t testing.TB) []badCall {
	var all []badCall
	for _, made := range allTools() {
		for _, a := range made.Args {
			all = append(all, badValues(t, made, a)...)
			all = append(all, badName(t, made, a))
			if a.Required {
				c := soundCall(t, made)
				delete(c.Args, a.Name)
				all = append(all, badCall{"missing " + a.Name, c, made.Family.Missing, a.Name})
			}
		}
	}
	return all
}

// badValues returns calls with each invalid value of an argument.
func badValues(t testing.TB, made *tool.Tool, a tool.Arg) []badCall {
	var all []badCall
	add := func(value any, code fault.Code) {
		c := soundCall(t, made)
		c.Args[a.Name] = marshalled(t, value)
		all = append(all, badCall{fmt.Sprintf("%s is %.60v", a.Name, value), c, code, a.Name})
	}
	malformed := cmp.Or(a.Code, made.Family.Malformed)
	if a.Name == "vault" {
		malformed = fault.InvalidParameter // in every family
	}
	for _, value := range []any{"text", 5, 2.5, true, []any{}, []any{[]any{5}}, map[string]any{}} {
		if !takes(a.Schema(), value) {
			add(value, malformed)
		}
	}
	s := a.Schema()
	if len(s.Enum) > 0 {
		add("none-of-them", malformed)
	}
	if s.Minimum != nil {
		add(*s.Minimum-1, malformed)
	}
	if s.Maximum != nil {
		add(*s.Maximum+1, malformed)
	}
	if s.MaxLength != nil && slices.Contains(append(s.Types, s.Type), "string") && s.Pattern == "" {
		malformed = made.Family.Malformed
		if *s.MaxLength == tool.MaxText {
			malformed = fault.NoteTooLarge
		}
		add(strings.Repeat("x", *s.MaxLength+1), malformed)
	}
	if a.Required && s.Type == "string" && len(s.Enum) == 0 && !mayBeEmpty(s) {
		add("", made.Family.Missing)
	}
	return all
}

// badName returns a call with an additional argument whose name is similar to that of a real one.
func badName(t testing.TB, made *tool.Tool, a tool.Arg) badCall {
	c := soundCall(t, made)
	name := a.Name + a.Name[len(a.Name)-1:]
	c.Args[name] = json.RawMessage(`"x"`)
	return badCall{"unknown " + name, c, made.Family.Malformed, `did you mean \"` + a.Name + `\"`}
}

// takes reports whether a value has a type that the schema permits.
func takes(s *jsonschema.Schema, value any) bool {
	kind := map[bool]string{true: "integer", false: "number"}[value == 5]
	switch v := value.(type) {
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case map[string]any:
		kind = "object"
	case []any:
		if len(v) > 0 && s.Items != nil {
			return false // no list contains lists of numbers
		}
		kind = "array"
	}
	types := append([]string{s.Type}, s.Types...)
	if kind == "integer" && slices.Contains(types, "number") {
		return true
	}
	return slices.Contains(types, kind) && (kind != "string" || s.Pattern == "")
}

// soundCall returns a call with plausible values for the required arguments, and with the vault.
func soundCall(t testing.TB, made *tool.Tool) tooltest.Call {
	t.Helper()
	c := tooltest.Call{Tool: made.Name, Args: map[string]json.RawMessage{}}
	for _, a := range made.Args {
		if a.Required {
			c.Args[a.Name] = marshalled(t, plausible(a.Schema()))
		}
	}
	if _, ok := made.Arg("vault"); ok {
		c.Args["vault"] = json.RawMessage(`"main"`)
	}
	return c
}

// plausible returns a value that the schema permits.
func plausible(s *jsonschema.Schema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case slices.Contains(s.Types, "object"):
		return map[string]any{"name": "x"}
	case s.Type == "array":
		return []any{plausible(s.Items)}
	case s.Type == "object":
		object := map[string]any{}
		for _, name := range s.Required {
			object[name] = plausible(s.Properties[name])
		}
		return object
	case s.Type == "integer", s.Type == "number":
		return 1
	case s.Type == "boolean":
		return false
	}
	return "x"
}

func marshalled(t testing.TB, v any) json.RawMessage {
	t.Helper()
	data, err := tool.Marshal(v)
	require.NoError(t, err)
	return data
}

// strangePaths are paths that no note can have.
var strangePaths = []string{
	"../x", "../../etc/passwd", "/etc/passwd", `C:\x`, `..\x`, "people/../inbox", "people//alice",
	"./inbox", "a\x00b", ".raven/audit.log", ".trash/x", ".rookery/x", strings.Repeat("x/", 1200),
}

// strangeNames are invalid names of notes, sections and vaults.
var strangeNames = slices.Concat(strangePaths, []string{
	"a\nb", "#", "##", "people/alice#../nothing", strings.Repeat("x", 600), "%2e%2e/x",
})

// windowsNames cannot be names of files on every system.
var windowsNames = []string{
	"CON", "people/aux", "nul.txt", "a./b", "a /b", "a:b", "a?b", "a*b", `a"b`, "a<b", "a|b", "COM1", `a\b`,
}

// detailed are valid calls of tools that have the argument depth.
var detailed = map[string]map[string]any{
	"raven_object_get": {"id": "people/alice"}, "raven_object_list": {},
	"raven_type": {"name": "person"}, "raven_tag": {"tag": "engineering"}, "raven_date": {},
}

// zebrafinch is the id of the trait of the fixture.
var zebrafinch = idOf("daily/2025-01-31", "due", "zebrafinch")

// overlong returns the code of a call with a text that is longer than its schema permits, or the
// given code for any other call.
func overlong(made *tool.Tool, in map[string]any, code fault.Code) fault.Code {
	for name, value := range in {
		a, ok := made.Arg(name)
		text, isText := value.(string)
		if !isText {
			text = fmt.Sprint(value)
		}
		switch {
		case !ok || len(text) <= tool.MaxName:
		case isText && a.Schema().MaxLength != nil && len(text) > *a.Schema().MaxLength && *a.Schema().MaxLength < tool.MaxText:
			return made.Family.Malformed
		case !isText && a.Schema().MaxProperties != nil && code == fault.InvalidTrait, name == "unset":
			return made.Family.Malformed
		}
	}
	return code
}

// writtenBad returns the bad calls that do not follow from a schema.
func writtenBad(t testing.TB) []badCall {
	var all []badCall
	add := func(code fault.Code, name string, in map[string]any) {
		c := tooltest.NewCall(t, name, string(marshalled(t, in)))
		if _, ok := in["vault"]; !ok {
			if _, takes := toolOf(t, name).Arg("vault"); takes {
				c.Args["vault"] = json.RawMessage(`"main"`)
			}
		}
		all = append(all, badCall{firstOf(string(c.JSON(t)), 80), c, overlong(toolOf(t, name), in, code), ""})
	}
	for _, name := range strangeNames {
		add(fault.NotFound, "raven_object_get", map[string]any{"id": name})
		asPath := fault.NotFound
		if slices.Contains(strangePaths, name) {
			asPath = fault.InvalidPath
		}
		add(asPath, "raven_read", map[string]any{"path": name})
		add(fault.NotFound, "raven_set", map[string]any{"id": name, "set": map[string]any{"a": 1}})
		add(fault.NotFound, "raven_unset", map[string]any{"id": name, "unset": []string{"a"}})
		add(fault.NotFound, "raven_delete", map[string]any{"id": name})
		add(asPath, "raven_add", map[string]any{"text": "x", "to": name})
		add(fault.NotFound, "raven_edit", map[string]any{"id": name, "old_str": "a", "new_str": "b"})
		add(fault.NotFound, "raven_backlinks", map[string]any{"target": name})
		add(fault.NotFound, "raven_outlinks", map[string]any{"target": name})
		add(fault.InvalidType, "raven_type", map[string]any{"name": name})
		add(fault.InvalidValue, "raven_date", map[string]any{"date": name})
		add(fault.InvalidType, "raven_schema_type", map[string]any{"name": name})
		add(fault.InvalidType, "raven_object_list", map[string]any{"type": name})
		add(fault.InvalidType, "raven_search", map[string]any{"query": "x", "type": name})
		add(fault.InvalidType, "raven_new", map[string]any{"type": name, "title": "x"})
		add(fault.InvalidTrait, "raven_trait_list", map[string]any{"trait_type": name})
		add(fault.InvalidType, "raven_trait_list", map[string]any{"trait_type": "due", "parent_type": name})
		add(fault.InvalidValue, "raven_trait_list", map[string]any{"trait_type": "due", "value": name})
		add(fault.InvalidValue, "raven_trait_list", map[string]any{"trait_type": "priority", "value": name})
		add(fault.InvalidValue, "raven_trait_list", map[string]any{"trait_type": "due", "created_since": name})
		add(fault.NotFound, "raven_trait_get", map[string]any{"id": name})
		add(fault.NotFound, "raven_trait_get", map[string]any{"id": name + ":1"})
		add(fault.NotFound, "raven_trait_get", map[string]any{"id": name + ":trait:0"})
		add(fault.NotFound, "raven_trait_update", map[string]any{"id": name, "set": map[string]any{"value": "today"}})
		add(fault.NotFound, "raven_trait_delete", map[string]any{"id": name})
		add(fault.InvalidTrait, "raven_trait_create",
			map[string]any{"trait_type": name, "value": "x", "parent_id": "inbox", "content": "x"})
		add(fault.InvalidValue, "raven_trait_create",
			map[string]any{"trait_type": "due", "value": name, "parent_id": "inbox", "content": "x"})
		add(fault.NotFound, "raven_trait_create",
			map[string]any{"trait_type": "due", "value": "today", "parent_id": name, "content": "x"})
		add(fault.InvalidTrait, "raven_trait_create", map[string]any{"trait_type": "due", "value": "today",
			"parent_id": "inbox", "content": "x", "other_traits": map[string]any{name: 1}})
		add(fault.InvalidTrait, "raven_trait_update", map[string]any{"id": zebrafinch, "set": map[string]any{name: 1}})
		add(fault.InvalidTrait, "raven_trait_update", map[string]any{"id": zebrafinch, "unset": []string{name}})
		add(fault.NotFound, "raven_stats", map[string]any{"vault": name})
		add(fault.NotFound, "team_vault_export", map[string]any{"vault": name})
	}
	for _, name := range slices.Concat(strangeNames, windowsNames) {
		if strings.HasPrefix(name, "#") || strings.Contains(name, "%") {
			continue // a file can be called so
		}
		add(fault.InvalidPath, "raven_new", map[string]any{"type": "page", "title": "x", "path": name})
		add(fault.InvalidPath, "team_vault_import",
			map[string]any{"notes": []any{map[string]any{"path": name + ".md", "text": "x"}}})
		add(fault.InvalidPath, "raven_trait_list", map[string]any{"trait_type": "due", "path": name})
		add(fault.InvalidParameter, "team_vault_create", map[string]any{"name": name})
	}
	// Refusals about the text of a note, which must not leak.
	add(fault.InvalidValue, "raven_edit", map[string]any{"id": "people/alice", "old_str": "absent", "new_str": "x"})
	add(fault.InvalidValue, "raven_edit", map[string]any{"id": "people/alice", "old_str": "twice", "new_str": "x"})
	add(fault.InvalidValue, "raven_set", map[string]any{"id": "broken", "set": map[string]any{"a": 1}})
	add(fault.InvalidValue, "raven_unset", map[string]any{"id": "broken", "unset": []string{"a"}})
	add(fault.MissingRequired, "raven_unset", map[string]any{"id": "people/alice", "unset": []string{"name"}})
	add(fault.InvalidValue, "raven_set", map[string]any{"id": "people/alice", "set": map[string]any{"email": 5}})
	add(fault.DuplicateID, "raven_new", map[string]any{"type": "person", "title": "Alice"})
	add(fault.Conflict, "raven_delete", map[string]any{"id": "people/alice", "if_version": "v1"})
	add(fault.DuplicateID, "team_vault_import",
		map[string]any{"notes": []any{map[string]any{"path": "people/alice.md", "text": "x"}}})
	for _, query := range []string{"", " ", "\n\t "} {
		add(fault.MissingRequired, "raven_search", map[string]any{"query": query})
	}
	large := strings.Repeat("x", 1<<20+1)
	add(fault.NoteTooLarge, "raven_trait_create",
		map[string]any{"trait_type": "due", "value": "today", "parent_id": "inbox", "content": large})
	for _, lines := range []string{"0", "5-3", "x", "1-2-3", "-1", "999999999-", "9999999999", "\u202e1"} {
		add(fault.InvalidValue, "raven_read", map[string]any{"path": "people/alice", "lines": lines})
	}
	for _, name := range []string{strings.Repeat("x", 1e5), strings.Repeat("/", 1e5), strings.Repeat("x ", 1e5)} {
		add(fault.NotFound, "raven_object_get", map[string]any{"id": name})
		add(fault.NotFound, "raven_backlinks", map[string]any{"target": name})
	}
	for _, content := range []string{"a\nb", "a\rb", "a\x00b", "a\x1bb", "a\u0085b", "a\u2028b", "a\u2029b"} {
		add(fault.InvalidValue, "raven_trait_create",
			map[string]any{"trait_type": "due", "value": "today", "parent_id": "inbox", "content": content})
	}
	for _, content := range []string{" ", "\t", "\u00a0"} {
		add(fault.MissingRequired, "raven_trait_create",
			map[string]any{"trait_type": "due", "value": "today", "parent_id": "inbox", "content": content})
	}
	for _, value := range []any{5, true, []any{}, map[string]any{}, "", "soon", large} {
		add(fault.InvalidValue, "raven_trait_update", map[string]any{"id": zebrafinch, "set": map[string]any{"value": value}})
	}
	add(fault.NoteTooLarge, "raven_new", map[string]any{"type": "page", "title": "x", "content": large})
	add(fault.NoteTooLarge, "raven_add", map[string]any{"text": large, "to": "inbox"})
	add(fault.NoteTooLarge, "raven_set", map[string]any{"id": "inbox", "set": map[string]any{"a": large}})
	add(fault.NoteTooLarge, "raven_edit", map[string]any{"id": "inbox", "old_str": "line", "new_str": large})
	deep := json.RawMessage(strings.Repeat("[", 500) + strings.Repeat("]", 500))
	add(fault.InvalidValue, "raven_set", map[string]any{"id": "inbox", "set": map[string]any{"a": deep}})
	add(fault.InvalidValue, "raven_set", map[string]any{"id": "people/bob", "set": map[string]any{"tags": deep}})
	add(fault.InvalidValue, "raven_new", map[string]any{"type": "page", "title": "x", "fields": map[string]any{"a": deep}})
	for _, name := range []string{"raven_type", "raven_tag"} {
		add(fault.MissingRequired, name, map[string]any{})
		add(fault.MissingRequired, name, map[string]any{"list": false})
	}
	add(fault.InvalidValue, "raven_type", map[string]any{"name": "person", "list": true})
	add(fault.InvalidValue, "raven_tag", map[string]any{"tag": "engineering", "list": true})
	add(fault.InvalidValue, "raven_tag", map[string]any{"tag": " # "})
	for _, date := range []string{"this-week", "past", "2025-02-30", "2025-2-1", "2025-02-01T10:00", "2 days ago", "[[2025-02-01]]"} {
		add(fault.InvalidValue, "raven_date", map[string]any{"date": date})
	}
	for name, in := range detailed {
		for _, depth := range []any{1, 2} {
			call := maps.Clone(in)
			call["slim"], call["depth"] = true, depth
			add(fault.InvalidValue, name, call)
		}
	}
	for _, filter := range []string{"after", "before", "since"} {
		for _, when := range []string{"someday", "2025-02-30", "2025", "1 day", "-1 days ago", "99999999999999999999 days ago"} {
			add(fault.InvalidValue, "raven_object_list", map[string]any{"created_" + filter: when})
			add(fault.InvalidValue, "raven_object_list", map[string]any{"modified_" + filter: when})
		}
	}
	for _, field := range []any{
		map[string]any{"attendees": map[string]any{}}, map[string]any{"attendees": []any{[]any{}}},
		map[string]any{"time": "someday"}, "time=someday",
	} {
		add(fault.InvalidValue, "raven_object_list", map[string]any{"type": "meeting", "field": field})
	}
	for _, token := range []string{"x", "p1:x", "cDE", "AAAA", strings.Repeat("A", 5000), "\x00", "é"} {
		add(fault.InvalidValue, "raven_object_list", map[string]any{"page_token": token})
		add(fault.InvalidValue, "raven_trait_list", map[string]any{"trait_type": "due", "page_token": token})
		add(fault.InvalidValue, "raven_backlinks", map[string]any{"target": "people/alice", "page_token": token})
		add(fault.InvalidValue, "raven_outlinks", map[string]any{"target": "people/alice", "page_token": token})
		add(fault.InvalidValue, "raven_type", map[string]any{"name": "person", "page_token": token})
		add(fault.InvalidValue, "raven_type", map[string]any{"list": true, "page_token": token})
		add(fault.InvalidValue, "raven_tag", map[string]any{"tag": "x", "page_token": token})
		add(fault.InvalidValue, "raven_tag", map[string]any{"list": true, "page_token": token})
		add(fault.InvalidValue, "raven_date", map[string]any{"page_token": token})
		add(fault.InvalidValue, "raven_untyped", map[string]any{"page_token": token})
		add(fault.InvalidValue, "raven_search", map[string]any{"query": "x", "page_token": token})
		add(fault.InvalidParameter, "team_vault_list", map[string]any{"page_token": token})
		add(fault.InvalidParameter, "team_vault_export", map[string]any{"page_token": token})
	}
	for _, version := range []string{"x", "v", "42", "v-1", "v1.5", "v99999999999999999999", "v1\n", "V1", " v1"} {
		add(fault.InvalidValue, "raven_delete", map[string]any{"id": "inbox", "if_version": version})
		add(fault.InvalidValue, "raven_trait_delete", map[string]any{"id": zebrafinch, "if_version": version})
		add(fault.InvalidParameter, "team_vault_delete", map[string]any{"name": "main", "if_version": version})
	}
	for _, lines := range []string{"0", "-1", "2-1", "a", "1-2-3", "99999999999", "1,2", "999999"} {
		add(fault.InvalidValue, "raven_read", map[string]any{"path": "inbox", "lines": lines})
	}
	return all
}

// TestBadGlobals checks the global flags of the command line, whose errors are its own.
func TestBadGlobals(t *testing.T) {
	p := newPlace(t)
	for _, flag := range []string{"--agent", "--session"} {
		printed := p.shell("main").Run(t, "whoami", "--json", flag, strings.Repeat("x", 129))
		require.Equal(t, fault.InvalidParameter, tooltest.CodeOf(t, json.RawMessage(printed.Out)))
		require.Equal(t, 2, printed.Exit)
		require.Contains(t, printed.Out, flag)
	}
}

// mayBeEmpty reports whether a required text may be empty.
func mayBeEmpty(s *jsonschema.Schema) bool { return s.MinLength != nil && *s.MinLength == 0 }
