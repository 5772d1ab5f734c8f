package localapp_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// aboutRefs is a story of references without a target, over every way in.
var aboutRefs = tooltest.Story{Name: "references", Steps: []tooltest.Step{
	{Tool: "raven_add", Args: `{"vault":"main","text":"Met [[people/sif]] and [[people/alice]]"}`, Want: `{"data":{"line":7},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/sif","suggested_type":"person","create_command":"rookery object create person --title \"sif\" --json"}]}`},
	{Tool: "raven_add", Args: `{"vault":"main","text":"[[people/sif]] again, with [[people/sif]] and [[2031-01-01]]"}`, Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"people/sif"}]}`},
	{Tool: "raven_add", Args: `{"vault":"main","text":"only [[people/bob]]"}`, Want: `{"warnings":[]}`},
	{Tool: "raven_add", Args: `{"vault":"main","text":"[[people/alice#nope]]"}`, Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"people/alice#nope","message":"people/alice has no section \"nope\""}]}`},
	{Tool: "raven_add", Args: `{"vault":"main","text":"[[people/sif]]","dry_run":true}`, Want: `{"data":{"dry_run":true},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/sif"}]}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"company":"Mill and Sons"}}`, Want: `{"data":{"new_values":{"company":"Mill and Sons"}},"warnings":[{"code":"REF_NOT_FOUND","ref":"Mill and Sons","suggested_type":"company","create_command":"rookery object create company --title \"Mill and Sons\" --path \"Mill and Sons\" --json"}]}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"company":"Mill and Sons","email":"x@example.test"}}`, Want: `{"warnings":[]}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"project","title":"Dam","fields":{"lead":"people/ymir"},"content":"For [[companies/dam]].","idempotency_key":"r1"}`, Want: `{"data":{"action":"created"},"warnings":[{"code":"REF_NOT_FOUND","ref":"people/ymir","suggested_type":"person"},{"code":"REF_NOT_FOUND","ref":"companies/dam","suggested_type":"company"}]}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"project","title":"Dam","fields":{"lead":"people/ymir"},"content":"For [[companies/dam]].","idempotency_key":"r1"}`, Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"people/ymir"},{"code":"REF_NOT_FOUND","ref":"companies/dam"}],"meta":{"replayed":true}}`},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"inbox","old_str":"a line","new_str":"[[projects/weir]]"}`, Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"projects/weir","suggested_type":"project","create_command":"rookery object create project --title \"weir\" --field lead= --json"}]}`},
	{Tool: "raven_edit", Args: `{"vault":"main","id":"inbox","old_str":"- [[projects/weir]]","new_str":"* on [[projects/weir]]"}`, Want: `{"warnings":[]}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"page","title":"Mill","path":"notes/mill"}`, Want: `{"data":{"id":"notes/mill"}}`},
	{Tool: "raven_add", Args: `{"vault":"main","text":"[[mill]]","to":"inbox"}`, Want: `{"warnings":[{"code":"REF_NOT_FOUND","ref":"mill","matches":["notes/mill","projects/mill"]}]}`},
}}

func TestEveryWayWarnsOfReferences(t *testing.T) {
	everyWay(t, []tooltest.Story{aboutRefs})
}

// nearestNames is a story of names that are almost correct, over every way in.
var nearestNames = tooltest.Story{Name: "nearest names", Steps: []tooltest.Step{
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/alcie"}`, Code: fault.NotFound, Want: `{"error":{"details":{"nearest":["people/alice"]},"fixes":["raven_read {\"vault\":\"main\",\"path\":\"people/alice\"}"]}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"persons/alice","set":{"email":"a@example.test"}}`, Code: fault.NotFound, Want: `{"error":{"details":{"nearest":["people/alice"]}}}`},
	{Tool: "raven_delete", Args: `{"vault":"main","id":"people/zzz"}`, Code: fault.NotFound, Want: `{"error":{"fixes":["raven_object_list {\"vault\":\"main\"}"]}}`},
	{Tool: "raven_read", Args: `{"vault":"main","path":"people/alcie","as_of":"v1"}`, Code: fault.NotFound, Want: `{"error":{"fixes":["raven_object_list {\"vault\":\"main\",\"as_of\":\"v1\"}"]}}`},
	{Tool: "raven_read", Args: `{"vault":"nope","path":"people/alice"}`, Code: fault.NotFound, Want: `{"error":{"fixes":["team_vault_list {}"]}}`},
	{Tool: "raven_set", Args: `{"vault":"main","id":"people/alice","set":{"emial":"a@example.test"},"dry_run":true}`, Want: `{"warnings":[{"code":"UNKNOWN_FIELD","field":"emial","nearest":["email"]}]}`},
	{Tool: "raven_object_list", Args: `{"vault":"main","type":"person","field":["emial=x"]}`, Code: fault.InvalidField, Want: `{"error":{"details":{"nearest":["email"]}}}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"persn","title":"X"}`, Code: fault.InvalidType, Want: `{"error":{"details":{"nearest":["person"]}}}`},
	{Tool: "raven_trait_list", Args: `{"vault":"main","trait_type":"deu"}`, Code: fault.InvalidTrait, Want: `{"error":{"details":{"nearest":["due"]}}}`},
	{Tool: "raven_new", Args: `{"vault":"main","type":"person","title":"Alice"}`, Code: fault.DuplicateID, Want: `{"error":{"fixes":["set fields of that object, or give another title","raven_read {\"vault\":\"main\",\"path\":\"people/alice\"}"]}}`},
}}

func TestEveryWayOffersNearestNames(t *testing.T) {
	everyWay(t, []tooltest.Story{nearestNames})
}

// strangeRefs are references to notes that can be created, with unusual names.
var strangeRefs = []string{
	"people/sif", "people/Loki", "people/Sif Hansen", "people/hel.md", "thrym", "Größe", "O'Brien",
	"a$HOME", "a`b`", "wow!", `say'$it'!`, "-dash", "--json", "projects/Weir", "people/gna#tasks",
	"deep/er/note", "Ünï 코드", "100%", "c;d", "e&f", "(round)", "g=h", "~", "{x}", "people/★",
	"people/CON", "i: j", "daily/someday", "x/y/z#Über uns", "tab\tbed", "what?", "two--dashes",
}

// refWarning is a warning about a reference.
type refWarning struct {
	Code, Ref string
	Command   string `json:"create_command"`
	Call      string `json:"create_call"`
}

// TestCreateCommandsRun checks that each create_command runs as it is printed, parsed by a shell,
// and that the reference then leads to the created note.
func TestCreateCommandsRun(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no POSIX shell here to read the lines with")
	}
	p := newPlace(t)
	for _, ref := range strangeRefs {
		warnings := p.adding(t, ref)
		require.Len(t, warnings, 1, ref)
		require.Equal(t, ref, warnings[0].Ref)
		command := warnings[0].Command
		require.NotEmpty(t, command, ref)

		words, err := exec.CommandContext(t.Context(), sh, "-c", `printf '%s\0' `+command).Output()
		require.NoError(t, err, command)
		line := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
		require.Equal(t, line, tooltest.Words(command), "both read the same")
		printed := p.shell("main").Run(t, line[1:]...)
		require.Zero(t, printed.Exit, "%s: %s", command, printed.Out)
		require.Empty(t, p.adding(t, ref), "%q after %s", ref, command)
	}
}

// TestCreateCallsRun checks that each create_call is a call that succeeds, that the command line
// shows it as a command that makes the same call, and that the reference then leads to the created
// note.
func TestCreateCallsRun(t *testing.T) {
	p := newPlace(t)
	for _, ref := range strangeRefs {
		warnings := p.adding(t, ref)
		require.Len(t, warnings, 1, ref)
		call, ok := fault.ParseCall(warnings[0].Call)
		require.True(t, ok, "%s: %q", ref, warnings[0].Call)
		require.Equal(t, "raven_new", call.Tool)

		printed := p.shell("main").Run(t, "add", "see [["+ref+"]]", "--to", "inbox", "--dry-run", "--json")
		require.Zero(t, printed.Exit, printed.Err)
		var out struct{ Warnings []refWarning }
		require.NoError(t, json.Unmarshal([]byte(printed.Out), &out))
		again, ok := tooltest.CallOf(t, allTools(), out.Warnings[0].Call)
		require.True(t, ok, out.Warnings[0].Call)
		own := strings.Replace(call.String(), `"vault":"main",`, "", 1)
		require.Equal(t, own, strings.Replace(again.String(), `"vault":"main",`, "", 1))

		_, args, _ := strings.Cut(call.String(), " ")
		answer, err := p.catalogue().Invoke(t.Context(), call.Tool, json.RawMessage(args))
		require.NoError(t, err, "%s: %s", call, answer)
		require.Empty(t, p.adding(t, ref), "%q after %s", ref, call)
	}
}

// TestNoCreateCommand checks references to notes that no command can create.
func TestNoCreateCommand(t *testing.T) {
	p := newPlace(t)
	for _, ref := range []string{
		"people/alice#nope", "#tasks", "people/", "a/../b", ".trash/x", strings.Repeat("x/", 400) + "x",
	} {
		warnings := p.adding(t, ref)
		require.Len(t, warnings, 1, ref)
		require.Empty(t, warnings[0].Command, ref)
	}
}

// TestManyReferences checks that the answer about a note with very many references has a limited
// size.
func TestManyReferences(t *testing.T) {
	p := newPlace(t)
	var text strings.Builder
	for i := range 300 {
		text.WriteString("[[people/p" + strings.Repeat("x", i) + "]] ")
	}
	answer := done(t, p.catalogue(), "raven_add", map[string]any{"vault": "main", "text": text.String()})
	var out struct{ Warnings []refWarning }
	require.NoError(t, json.Unmarshal(answer, &out))
	require.Len(t, out.Warnings, 100)
	require.Equal(t, "WARNINGS_TRUNCATED", out.Warnings[99].Code)
	require.NotEmpty(t, out.Warnings[98].Command)
}

// adding adds a line with a reference, and returns the warnings of the answer.
func (p *place) adding(t *testing.T, ref string) []refWarning {
	t.Helper()
	answer := done(t, p.catalogue(), "raven_add",
		map[string]any{"vault": "main", "text": "see [[" + ref + "]]", "to": "inbox"})
	var out struct{ Warnings []refWarning }
	require.NoError(t, json.Unmarshal(answer, &out))
	return out.Warnings
}
