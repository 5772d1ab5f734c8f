package clitool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// papers is a family whose tools have the arguments and commands of the Raven document. They do
// nothing; the tests check the calls.
var papers = &tool.Family{
	Name: "papers", Base: "/v1/vaults/{vault}",
	Missing: fault.MissingRequired, Malformed: fault.InvalidValue, Several: fault.ValidationFailed,
}

type newIn struct {
	tool.Vault
	tool.Mutation
	Type   string      `json:"type" jsonschema:"the type"`
	Title  string      `json:"title,omitempty" jsonschema:"the title"`
	Path   string      `json:"path,omitempty" jsonschema:"the path"`
	Fields tool.Fields `json:"fields,omitempty" alias:"field" jsonschema:"fields"`
}

type setIn struct {
	tool.Vault
	tool.Mutation
	ID    string      `json:"id" alias:"object_id,reference" jsonschema:"the object"`
	Set   tool.Fields `json:"set,omitempty" alias:"fields" jsonschema:"fields"`
	Unset []string    `json:"unset,omitempty" jsonschema:"names of fields"`
}

type listIn struct {
	tool.Vault
	tool.Page
	Type  string   `json:"type,omitempty" jsonschema:"the type"`
	Field []string `json:"field,omitempty" jsonschema:"name=value"`
}

type deleteIn struct {
	tool.Vault
	tool.Mutation
	ID    string `json:"id" alias:"object_id,reference" jsonschema:"the object"`
	Force bool   `json:"force,omitempty" jsonschema:"also if it is linked"`
}

type getIn struct {
	tool.Vault
	ID string `json:"id" jsonschema:"the object"`
}

type readIn struct {
	tool.Vault
	Path string `json:"path" jsonschema:"the path"`
}

type addIn struct {
	tool.Vault
	tool.Mutation
	Text      string `json:"text" jsonschema:"the text"`
	To        string `json:"to,omitempty" jsonschema:"the note"`
	Timestamp bool   `json:"timestamp,omitempty" jsonschema:"with the time"`
}

type editIn struct {
	tool.Vault
	tool.Mutation
	ID    string `json:"id" alias:"reference" jsonschema:"the object"`
	Old   string `json:"old_str,omitempty" jsonschema:"what is there"`
	New   string `json:"new_str,omitempty" jsonschema:"what comes there"`
	Edits []edit `json:"edits,omitempty" jsonschema:"several edits"`
}

type edit struct {
	Old string `json:"old_str"`
	New string `json:"new_str"`
}

type nameIn struct {
	tool.Vault
	Name string `json:"name" jsonschema:"the name"`
}

type checkIn struct {
	tool.Vault
	Type  string         `json:"type" enum:"object,trait" jsonschema:"what it is"`
	Input map[string]any `json:"input" jsonschema:"what to check"`
}

type unsetIn struct {
	tool.Vault
	tool.Mutation
	ID    string   `json:"id" jsonschema:"the object"`
	Names []string `json:"names" jsonschema:"names of fields"`
}

type queryIn struct {
	tool.Vault
	tool.Brief
	Query string `json:"query" jsonschema:"the query"`
	Depth int    `json:"depth,omitempty" jsonschema:"how much of each"`
}

type moveIn struct {
	tool.Vault
	tool.Mutation
	Source string `json:"source,omitempty" jsonschema:"the note"`
	To     string `json:"to" jsonschema:"where it goes"`
	Query  string `json:"query,omitempty" jsonschema:"in place of source"`
}

type none struct{ tool.Vault }

// ravenTools returns tools with the commands of the document.
func ravenTools() []*tool.Tool {
	return []*tool.Tool{
		mute[newIn]("new", tool.Write, word("new", "type", "title?"), word("object create", "type", "title?")),
		mute[setIn]("set", tool.Write, tool.Command{Words: "set", Args: []string{"id"}, Pairs: "set"}),
		mute[unsetIn]("unset", tool.Write, word("unset", "id", "names...")),
		mute[deleteIn]("delete", tool.Destroy, word("delete", "id"), word("object delete", "id")),
		mute[listIn]("list", tool.Read, word("object list")),
		mute[getIn]("get", tool.Read, word("object get", "id")),
		mute[readIn]("read", tool.Read, word("read", "path")),
		mute[addIn]("add", tool.Write, word("add", "text")),
		mute[editIn]("edit", tool.Write, word("edit", "id", "old_str?", "new_str?")),
		mute[none]("schema", tool.Read, word("schema")),
		mute[none]("schema_types", tool.Read, word("schema types")),
		mute[nameIn]("schema_type", tool.Read, word("schema type", "name")),
		mute[none]("schema_commands", tool.Read, word("schema commands")),
		mute[none]("stats", tool.Read, word("stats")),
		mute[none]("reindex", tool.Write, word("reindex")),
		mute[nameIn]("trait", tool.Read, word("trait", "name"), word("trait list", "name")),
		mute[queryIn]("query", tool.Read, word("query", "query")),
		mute[moveIn]("move", tool.Write, word("move", "source?", "to")),
		mute[checkIn]("validate", tool.Read, word("validate")),
	}
}

func word(words string, args ...string) tool.Command {
	return tool.Command{Words: words, Args: args}
}

func mute[In any](name string, kind tool.Kind, ways ...tool.Command) *tool.Tool {
	return tool.New(tool.Spec{
		Name: name, Family: papers, Title: name, Doc: "Says " + name + ".", Kind: kind,
		Role: auth.Editor, Commands: ways,
	}, func(context.Context, auth.Caller, In) (struct{}, error) { return struct{}{}, nil })
}

// listToken is the page token "x" of the tool list, in the form in which an answer of a call
// without other arguments contains it.
const listToken = "cDI6ozA5XMClOtHcTC0WJBESNEQTb6NVs2eKeA"

func TestDocumentedLines(t *testing.T) {
	for _, c := range []struct {
		line []string
		want call
	}{
		{
			[]string{"object", "create", "--input", `{"type":"person","path":"people/bob","fields":{"name":"Bob Smith"}}`},
			call{"new", `{"type":"person","path":"people/bob","fields":{"name":"Bob Smith"}}`},
		},
		{
			[]string{"object", "create", "--type", "person", "--path", "people/bob", "--field", "name=Bob Smith", "--json"},
			call{"new", `{"type":"person","path":"people/bob","fields":["name=Bob Smith"]}`},
		},
		{
			[]string{"object", "create", "person", "--title", "bob"},
			call{"new", `{"type":"person","title":"bob"}`},
		},
		{
			[]string{"object", "create", "--type", "person", "--field", "name=Bob", "--dry-run", "--json"},
			call{"new", `{"type":"person","fields":["name=Bob"],"dry_run":true}`},
		},
		{
			[]string{"new", "person", "Bob Smith", "--field", "email=b@example.test", "--field", "a=1,2"},
			call{"new", `{"type":"person","title":"Bob Smith","fields":["email=b@example.test","a=1,2"]}`},
		},
		{
			[]string{"set", "people/alice", "email=new@email.com", "--json"},
			call{"set", `{"id":"people/alice","set":["email=new@email.com"]}`},
		},
		{
			[]string{"set", "people/alice", "a=1", "b=x=y", "--set", "c=3", "--unset", "d", "--unset", "e"},
			call{"set", `{"id":"people/alice","set":["a=1","b=x=y","c=3"],"unset":["d","e"]}`},
		},
		{
			[]string{"unset", "people/alice", "a", "b"},
			call{"unset", `{"id":"people/alice","names":["a","b"]}`},
		},
		{
			[]string{"object", "delete", "people/old-contact", "--json"},
			call{"delete", `{"id":"people/old-contact"}`},
		},
		{
			[]string{"delete", "people/old", "--force", "--if-version", "v4"},
			call{"delete", `{"id":"people/old","force":true,"if_version":"v4"}`},
		},
		{
			[]string{"delete", "--reference", "people/old", "--force=false"},
			call{"delete", `{"id":"people/old","force":false}`},
		},
		{[]string{"object", "list", "--json"}, call{"list", `{}`}},
		{
			[]string{"object", "list", "--type", "meeting", "--field", "attendees=people/alice", "--json"},
			call{"list", `{"type":"meeting","field":["attendees=people/alice"]}`},
		},
		{
			[]string{"object", "list", "--limit", "5", "--page_token", listToken},
			call{"list", `{"limit":5,"page_token":"` + listToken + `"}`},
		},
		{
			[]string{"object", "get", "daily/2025-02-01#standup", "--json"},
			call{"get", `{"id":"daily/2025-02-01#standup"}`},
		},
		{[]string{"read", "daily/2025-02-01.md", "--json"}, call{"read", `{"path":"daily/2025-02-01.md"}`}},
		{
			[]string{"add", "Met with [[people/bob]] about [[projects/website]]", "--json"},
			call{"add", `{"text":"Met with [[people/bob]] about [[projects/website]]"}`},
		},
		{
			[]string{"add", "New feature idea: dark mode", "--to", "projects/website.md"},
			call{"add", `{"text":"New feature idea: dark mode","to":"projects/website.md"}`},
		},
		{[]string{"add", "@priority(high) Review", "--timestamp"}, call{"add", `{"text":"@priority(high) Review","timestamp":true}`}},
		{[]string{"add", "--", "- a dash"}, call{"add", `{"text":"- a dash"}`}},
		{[]string{"edit", "a", "old", "new"}, call{"edit", `{"id":"a","old_str":"old","new_str":"new"}`}},
		{
			[]string{"edit", "a", "--edits", `[{"old_str":"x","new_str":"y"}]`},
			call{"edit", `{"id":"a","edits":[{"old_str":"x","new_str":"y"}]}`},
		},
		{[]string{"move", "a", "b"}, call{"move", `{"source":"a","to":"b"}`}},
		{[]string{"move", "--query", "type:x", "b/"}, call{"move", `{"query":"type:x","to":"b/"}`}},
		{[]string{"move", "--source", "a", "b"}, call{"move", `{"source":"a","to":"b"}`}},
		{[]string{"schema", "--json"}, call{"schema", `{}`}},
		{[]string{"schema", "types", "--json"}, call{"schema_types", `{}`}},
		{[]string{"schema", "type", "person", "--json"}, call{"schema_type", `{"name":"person"}`}},
		{[]string{"schema", "commands", "--json"}, call{"schema_commands", `{}`}},
		{[]string{"stats", "--json"}, call{"stats", `{}`}},
		{[]string{"reindex", "--json"}, call{"reindex", `{}`}},
		{[]string{"trait", "due", "--json"}, call{"trait", `{"name":"due"}`}},
		{[]string{"trait", "list", "list"}, call{"trait", `{"name":"list"}`}},
		{[]string{"--json", "--vault", "main", "stats"}, call{"stats", `{"vault":"main"}`}},
		{[]string{"--dry-run", "set", "a", "b=c"}, call{"set", `{"id":"a","set":["b=c"],"dry_run":true}`}},
		{[]string{"--dry-run=false", "--json", "unset", "a", "b"}, call{"unset", `{"id":"a","names":["b"],"dry_run":false}`}},
		{[]string{"--dry-run", "object", "delete", "a"}, call{"delete", `{"id":"a","dry_run":true}`}},
		{[]string{"object", "--dry-run", "delete", "a"}, call{"delete", `{"id":"a","dry_run":true}`}},
		{[]string{"--slim", "--depth", "2", "query", "type:x"}, call{"query", `{"query":"type:x","slim":true,"depth":2}`}},
		{[]string{"--depth=0", "query", "type:x"}, call{"query", `{"query":"type:x","depth":0}`}},
		{
			[]string{"validate", "--type", "object", "--input", `{"type":"person"}`, "--json"},
			call{"validate", `{"type":"object","input":{"type":"person"}}`},
		},
	} {
		t.Run(strings.Join(c.line, " "), func(t *testing.T) {
			s := newShell(t, ravenTools())
			code, _, errs := s.run(c.line...)
			require.Zero(t, code, errs)
			require.Len(t, s.calls, 1)
			require.Equal(t, c.want.tool, s.calls[0].tool)
			require.JSONEq(t, c.want.args, s.calls[0].args)
		})
	}
}

func TestInputIsMerged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new-person.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"person","title":"File"}`), 0o600))
	for name, c := range map[string]struct {
		line  []string
		stdin string
		env   string
		want  string
	}{
		"file by --input":     {[]string{"--input", file}, "", "", `{"type":"person","title":"File"}`},
		"file":                {[]string{"--input-file", file}, "", "", `{"type":"person","title":"File"}`},
		"standard input":      {[]string{"--stdin"}, `{"type":"person"}`, "", `{"type":"person"}`},
		"space before it":     {[]string{"--input", ` {"type":"a"}`}, "", "", `{"type":"a"}`},
		"a word beats it":     {[]string{"--input-file", file, "idea"}, "", "", `{"type":"idea","title":"File"}`},
		"a flag beats it":     {[]string{"--input-file", file, "--title", "T"}, "", "", `{"type":"person","title":"T"}`},
		"a whole key":         {[]string{"--input", `{"field":{"a":1,"b":2}}`, "--field", "a=3"}, "", "", `{"fields":["a=3"]}`},
		"unknown stays":       {[]string{"--input", `{"tpye":"a"}`}, "", "", `{"tpye":"a"}`},
		"vault of input":      {[]string{"--input", `{"vault":"i"}`}, "", "", `{"vault":"i"}`},
		"beats environment":   {[]string{"--input", `{"vault":"i"}`}, "", "e", `{"vault":"i"}`},
		"not the flag":        {[]string{"--input", `{"vault":"i"}`, "--vault", "f"}, "", "e", `{"vault":"f"}`},
		"environment":         {[]string{"t"}, "", "e", `{"type":"t","vault":"e"}`},
		"a folder is no name": {[]string{"t", "--vault", "./x"}, "", "", `{"type":"t"}`},
		"no input":            {[]string{"t", "--stdin=false"}, "x", "", `{"type":"t"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t, ravenTools())
			s.app.In = strings.NewReader(c.stdin)
			s.env["ROOKERY_VAULT"] = c.env
			s.run(append([]string{"new"}, c.line...)...)
			require.Len(t, s.calls, 1)
			require.JSONEq(t, c.want, s.calls[0].args)
		})
	}
}

func TestInputThatIsNoObjectIsRefused(t *testing.T) {
	for name, line := range map[string][]string{
		"list":       {"--input", `[1]`},
		"cut off":    {"--input", `{"type"`},
		"nothing":    {"--stdin"},
		"null":       {"--stdin"},
		"no file":    {"--input", "nowhere.json"},
		"no file by": {"--input-file", "nowhere.json"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t, ravenTools())
			if name == "null" {
				s.app.In = strings.NewReader("null")
			}
			code, _, errs := s.run(append([]string{"new"}, line...)...)
			require.Equal(t, 2, code)
			require.Contains(t, errs, "(INVALID_VALUE)")
			require.Contains(t, errs, "try: ")
			require.Empty(t, s.calls)
		})
	}
}

func TestLinesThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		line string
		want string
	}{
		{"objcet list", `there is no command "objcet"; did you mean "object"?`},
		{"object lst", `there is no command "object lst"; did you mean "object list"?`},
		{"list", `there is no command "list"; did you mean "object list"?`},
		{"schema tpyes", `there is no command "schema tpyes"; did you mean "schema types"?`},
		{"zzzzzz", `there is no command "zzzzzz"`},
		{"objcet list --type person", `there is no command "objcet"; did you mean "object"?`},
		{"object lst --typ x", `there is no command "object lst"; did you mean "object list"?`},
		{"help objcet", `there is no command "objcet"; did you mean "object"?`},
		{"object list --typ x", `did you mean --type?`},
		{"object list -x", `there is no flag -x`},
		{"object list --limit many", `it must be a number`},
		{"delete a --force=perhaps", `--force must be true or false`},
		{"object list --type", `--type needs a value`},
		{"object get a b", `unexpected argument "b" for "rookery object get"`},
		{"set a b", `write name=value to set a field`},
		{"object get a --id b", `ID is given twice: as a word and as --id`},
		{"delete --id a --reference b", `--id is given twice, also under another name`},
		{`set a b=1 --set {"c":1}`, `--set is one object, or name=value any number of times`},
		{"new --stdin --input {}", `--input, --input-file and --stdin exclude each other`},
		{"--dry-run read a", `there is no flag --dry-run on "rookery read"`},
		{"--depth 1 schema", `there is no flag --depth on "rookery schema"`},
		{"--slim schema types", `there is no flag --slim on "rookery schema types"`},
		{"--depth many query q", `--depth must be a number`},
		{"--slim", `there is no flag --slim on "rookery"`},
		{"object --slim", `there is no flag --slim on "rookery object"`},
		{"--dry-run zzzzzz", `there is no command "zzzzzz"`},
		{"completion basch", `did you mean "completion bash"?`},
	} {
		t.Run(c.line, func(t *testing.T) {
			s := newShell(t, ravenTools())
			code, out, errs := s.run(strings.Fields(c.line)...)
			require.Equal(t, 1, code)
			require.Empty(t, out)
			require.Contains(t, errs, "error: ")
			require.Contains(t, errs, c.want)
			require.Empty(t, s.calls)
		})
	}
}

func TestLineThatCannotBeReadHasAnEnvelopeToo(t *testing.T) {
	s := newShell(t, ravenTools())
	code, out, errs := s.run("object", "list", "--typ", "x", "--json")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "did you mean --type?")
	var e struct {
		OK    bool
		Error struct{ Code, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	require.Equal(t, "INVALID_PARAMETER", e.Error.Code)

	_, out, errs = s.run("stats", "--bare", "--envelope")
	require.Contains(t, errs, "--bare and --envelope exclude each other")
	require.Contains(t, out, `"code":"INVALID_PARAMETER"`)

	_, out, _ = s.run("objcet", "--", "--json")
	require.Empty(t, out)
}

func TestRefusalsOfTheToolAreNotUsageErrors(t *testing.T) {
	s := newShell(t, ravenTools())
	code, _, errs := s.run("object", "get")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "(MISSING_REQUIRED)")
}
