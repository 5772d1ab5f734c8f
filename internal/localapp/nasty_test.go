package localapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// maxObjects is the maximum number of objects that a call may allocate, as a measure of its work.
const maxObjects = 3_000_000

// readsAll are the tools that read a whole vault, so that their cost per call cannot be limited:
// raven_reindex parses every note again, and team_audit_verify reads every commit. TestWholeVaults
// limits their cost per byte of the vault. They read it note by note and run by run.
var readsAll = []string{"raven_reindex", "team_audit_verify"}

// maxPerByte is the maximum number of bytes that the tools of readsAll allocate for each byte of
// all notes and their history.
const maxPerByte = 100

// TestWholeVaults covers that the tools which read a whole vault cost what it has in bytes, with the nastiest notes,
// and no more for each byte of a vault that is twice as large.
func TestWholeVaults(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	written := 0
	for round := range rounds(2, 1) {
		for path, text := range nastyNotes() {
			if path == "schema.yaml" && round > 0 {
				continue
			}
			put(t, local{app}, map[string]string{strings.Replace(path, ".md", fmt.Sprint(round, ".md"), 1): text})
			written += len(text)
		}
		for name, in := range map[string]string{
			"raven_reindex": `{"vault":"v","full":true}`, "team_audit_verify": `{"vault":"v"}`,
		} {
			var err error
			_, bytes := tooltest.Allocated(func() {
				_, err = local{app}.Invoke(t.Context(), name, json.RawMessage(in))
			})
			require.NoError(t, err, name)
			t.Logf("%s: %d bytes for each of %d", name, bytes/uint64(written), written)
			require.LessOrEqual(t, bytes, uint64(maxAllocated+maxPerByte*written), name)
		}
	}
}

// nastyNotes are the nastiest notes that a vault may have.
func nastyNotes() map[string]string {
	lines := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"schema.yaml":  "types:\n  thing:\n    fields:\n      name: string\ntraits:\n  due: string\n",
		"line.md":      strings.Repeat("lorem [[fields]] ", 1<<20/17+1)[:1<<20],
		"things.md":    strings.Repeat("lorem [[fields]] ", index.MaxThings),
		"headings.md":  lines(index.MaxThings, "# h%d\n"),
		"headings1.md": lines(index.MaxThings+1, "# h%d\n"),
		"traits.md":    lines(index.MaxThings, "- @due(x%d) t\n"),
		"traits1.md":   lines(index.MaxThings+1, "- @due(x%d) t\n"),
		"traitline.md": "- " + strings.Repeat("@due(x) ", 15_000) + "\n",
		"fields.md":    "---\n" + lines(1000, "k%04d: "+strings.Repeat("v", 1010)+"\n") + "---\n\n# A\n\n- @due(x) a\n",
		"field.md":     "---\nname: " + strings.Repeat("v", 900<<10) + "\n---\n\n" + strings.Repeat("- @due(x) a\n", 300),
		"deep.md":      "---\nlist: " + strings.Repeat("[", 16) + strings.Repeat("]", 16) + "\n---\n",
		"lists.md":     "---\nlist: [" + strings.Repeat("[a, [b, [c]]], ", 6000) + "]\n---\n\n" + deepItems(60_000),
		"escapes.md":   strings.Repeat("\x01", 1<<20),
		"quotes.md":    strings.Repeat("\"", 1<<20),
	}
}

// deepItems are so many items of a list, each in the one before up to a depth of 100.
func deepItems(n int) string {
	var b strings.Builder
	for i := range n {
		line := strings.Repeat(" ", 2*(i%100)) + "- x\n"
		if b.Len()+len(line) > 800<<10 {
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// nastyValues are the values to try for an argument: as JSON, by what they are.
func nastyValues(a tool.Arg) map[string]string {
	longest := 1 << 20
	if a.Schema().MaxLength != nil {
		longest = *a.Schema().MaxLength
	}
	text := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	return map[string]string{
		"longest":         text(longest),
		"1 MiB":           text(1 << 20),
		"100,000 entries": "[" + strings.TrimSuffix(strings.Repeat(`"x",`, 100_000), ",") + "]",
		"1,000 entries":   "[" + strings.TrimSuffix(strings.Repeat(`"x",`, 1000), ",") + "]",
		"depth 100":       strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"10,000 keys":     "{" + strings.Join(keys, ",") + "}",
		"1,000 keys":      "{" + strings.Join(keys[:1000], ",") + "}",
	}
}

// nastyTexts are texts of 1 MiB that cost most to read as notes; see TestWorstNotes of package markdown.
func nastyTexts() map[string]string {
	full := func(piece string) string { return strings.Repeat(piece, (1<<20-64)/len(piece)) }
	return map[string]string{
		"of headings": full("# h\n"), "of items": full("- #a\n"), "of lines": full("@d\n"), "of words": full("ab cd "),
		"of references": full("[[a]]\n\n"), "of brackets": "[ " + full("["), "of declarations": full("# h\n::type(a)\n"),
		"of values": "---\na: [" + full("b,") + "]\n---\n", "of fields": "---\n" + full("a: b\n") + "---\n",
	}
}

// withText returns the values of an argument that have a text where a text of a note may be: as JSON, by where.
func withText(t testing.TB, a tool.Arg, sound json.RawMessage, text string) map[string]string {
	t.Helper()
	long := func(s *jsonschema.Schema) bool { return s != nil && s.MaxLength != nil && *s.MaxLength == tool.MaxText }
	if a.Schema().Type == "string" && long(a.Schema()) {
		return map[string]string{"": string(marshalled(t, text))}
	}
	var items []map[string]any
	if a.Schema().Items == nil || json.Unmarshal(sound, &items) != nil || len(items) == 0 {
		return nil
	}
	all := map[string]string{}
	for name, inner := range a.Schema().Items.Properties {
		if inner.Type == "string" && long(inner) {
			item := maps.Clone(items[0])
			item[name] = text
			all["."+name] = string(marshalled(t, []any{item}))
		}
	}
	return all
}

// A nastyCall is one call of the suite. Its arguments are made when it is.
type nastyCall struct {
	tool, why string
	args      func() json.RawMessage
}

// nastyCalls are all calls: each argument of each tool with each value, and each tool on each note, and
// with unknown arguments.
func nastyCalls(t testing.TB) []nastyCall {
	t.Helper()
	var all []nastyCall
	notes := nastyNotes()
	for _, made := range allTools() {
		sound := soundCall(t, made)
		if _, ok := sound.Args["vault"]; ok {
			sound.Args["vault"] = json.RawMessage(`"v"`)
		}
		with := func(why, name string, value func() string) {
			all = append(all, nastyCall{made.Name, name + " " + why, func() json.RawMessage {
				c := tooltest.Call{Tool: made.Name, Args: maps.Clone(sound.Args)}
				if c.Args == nil {
					c.Args = map[string]json.RawMessage{}
				}
				c.Args[name] = json.RawMessage(value())
				return c.JSON(t)
			}})
		}
		text := func(value string) func() string { return func() string { return value } }
		each := func(name string, a tool.Arg) {
			for why := range nastyValues(a) {
				with(why, name, func() string { return nastyValues(a)[why] })
			}
		}
		for _, a := range made.Args {
			each(a.Name, a)
			for why, written := range nastyTexts() {
				for where, value := range withText(t, a, sound.Args[a.Name], written) {
					with(where+" "+why, a.Name, text(value))
				}
			}
			if slices.Contains([]string{"id", "path", "target", "reference", "of"}, a.Name) {
				for path := range notes {
					with(path, a.Name, text(`"`+strings.TrimSuffix(path, ".md")+`"`))
				}
			}
			if slices.Contains([]string{"depth", "limit"}, a.Name) && a.Schema().Maximum != nil {
				with("largest", a.Name, text(fmt.Sprint(*a.Schema().Maximum)))
			}
		}
		each("unknown", made.Args[0])
	}
	slices.SortFunc(all, func(a, b nastyCall) int { return strings.Compare(a.tool+a.why, b.tool+b.why) })
	return all
}

// A nastyVault is a vault with the nastiest notes, and a note that no call names.
type nastyVault struct {
	in      local
	mutates map[string]bool // tools
}

func newNastyVault(t testing.TB, in local) nastyVault {
	t.Helper()
	v := nastyVault{in: in, mutates: map[string]bool{}}
	for _, made := range allTools() {
		v.mutates[made.Name] = made.Kind.Mutates()
	}
	put(t, in, map[string]string{"beside.md": "# Beside\n"})
	v.restore(t)
	return v
}

// restore restores the notes after a call that changed them.
func (v nastyVault) restore(t testing.TB) {
	t.Helper()
	for path, text := range nastyNotes() {
		in, err := tool.Marshal(args{"vault": "v", "mode": "replace", "notes": []args{{"path": path, "text": text}}})
		require.NoError(t, err)
		_, err = v.in.Invoke(t.Context(), "team_vault_import", in)
		require.NoError(t, err)
	}
}

// cost returns the cost of a call, and its answer. Background work is counted too, such as a
// compaction after restore, so a call that seems to be too expensive is repeated on the same notes
// when no background work runs.
func (v nastyVault) cost(t testing.TB, c nastyCall) (objects, bytes uint64, answer json.RawMessage) {
	t.Helper()
	in := c.args()
	for range 3 {
		var err error
		objects, bytes = tooltest.Allocated(func() { answer, err = v.in.Invoke(t.Context(), c.tool, in) })
		if err == nil && v.mutates[c.tool] {
			v.restore(t)
		}
		if bytes <= maxAllocated && objects <= maxObjects {
			break
		}
		settle(t)
	}
	return objects, bytes, answer
}

// settle waits until no background work runs.
func settle(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, bytes := tooltest.Allocated(func() { time.Sleep(100 * time.Millisecond) })
		return bytes < 1<<20
	}, time.Minute, time.Millisecond, "something in the background goes on allocating")
}

// TestNastyCalls makes each expensive call on a vault with the most expensive notes, whatever
// earlier calls changed. Each stays within the limits of a call, and another caller is answered
// meanwhile. CI runs a sample by seed; ROOKERY_SOAK runs all.
func TestNastyCalls(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	v := newNastyVault(t, local{app})
	calls := nastyCalls(t)
	require.Greater(t, len(calls), 2000)
	if !soaked() {
		rand.New(rand.NewPCG(lostSeed(t), 7)).Shuffle(len(calls), func(i, j int) {
			calls[i], calls[j] = calls[j], calls[i]
		})
		calls = calls[:200]
	}
	other := tooltest.As(app.Catalogue, auth.LocalCaller())
	read := json.RawMessage(`{"vault":"v","path":"beside"}`)
	for _, c := range calls {
		t.Run(c.tool, func(t *testing.T) {
			beside := make(chan error, 1)
			go func() {
				_, err := other.Invoke(t.Context(), "raven_read", read)
				beside <- err
			}()
			objects, bytes, answer := v.cost(t, c)
			assert.NoError(t, <-beside, c.why)
			assert.NotContains(t, string(answer[:min(len(answer), 200)]), "INTERNAL", c.why)
			assert.LessOrEqual(t, len(answer), maxAnswered, c.why)
			if slices.Contains(readsAll, c.tool) {
				return
			}
			assert.LessOrEqual(t, bytes, uint64(maxAllocated), c.why)
			assert.LessOrEqual(t, objects, uint64(maxObjects), c.why)
		})
	}
}

// TestManyEvents checks the cost of calls that write or read an event for each of 20,000 things of
// a note.
func TestManyEvents(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	v := newNastyVault(t, local{app})
	for _, id := range []string{"traits", "headings", "things"} {
		for _, name := range []string{"raven_history", "raven_delete", "raven_history"} {
			c := nastyCall{name, id, func() json.RawMessage {
				return json.RawMessage(fmt.Sprintf(`{"vault":"v","id":%q}`, id))
			}}
			objects, bytes, _ := v.cost(t, c)
			t.Logf("%s of %s: %d objects, %.1f MiB", name, id, objects, float64(bytes)/(1<<20))
			assert.LessOrEqual(t, bytes, uint64(maxAllocated), "%s of %s", name, id)
		}
	}
}
