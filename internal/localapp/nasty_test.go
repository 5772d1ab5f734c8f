package localapp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rookery/internal/auth"
	"rookery/internal/tool"
	"rookery/internal/tooltest"
)

// maxObjects is how many objects a call may allocate: what counts its work.
const maxObjects = 3_000_000

// readsAll are the tools that read every file of a vault or its whole log, and cost what these have in bytes.
var readsAll = []string{"raven_reindex", "team_audit_verify"}

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
		"line.md":      strings.Repeat("lorem [[fields]] ", 60_000),
		"headings.md":  lines(19_000, "# h%d\n"),
		"traits.md":    lines(19_000, "- @due(x%d) t\n"),
		"traitline.md": "- " + strings.Repeat("@due(x) ", 15_000) + "\n",
		"fields.md":    "---\n" + lines(1000, "k%04d: "+strings.Repeat("v", 1000)+"\n") + "---\n\n# A\n\n- @due(x) a\n",
		"field.md":     "---\nname: " + strings.Repeat("v", 900<<10) + "\n---\n\n" + strings.Repeat("- @due(x) a\n", 300),
		"deep.md":      "---\nlist: " + strings.Repeat("[", 16) + strings.Repeat("]", 16) + "\n---\n",
		"escapes.md":   strings.Repeat("\x01", 600<<10),
	}
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

// A nastyCall is one call of the suite.
type nastyCall struct{ tool, why, args string }

// nastyCalls are all calls: each argument of each tool with each value, and each tool on each note, and
// with unknown arguments.
func nastyCalls(t testing.TB) []nastyCall {
	t.Helper()
	var all []nastyCall
	for _, made := range allTools() {
		sound := soundCall(t, made)
		if _, ok := sound.Args["vault"]; ok {
			sound.Args["vault"] = json.RawMessage(`"v"`)
		}
		with := func(why, name, value string) {
			c := tooltest.Call{Tool: made.Name, Args: map[string]json.RawMessage{}}
			for k, v := range sound.Args {
				c.Args[k] = v
			}
			c.Args[name] = json.RawMessage(value)
			all = append(all, nastyCall{made.Name, name + " " + why, string(c.JSON(t))})
		}
		for _, a := range made.Args {
			values := nastyValues(a)
			for _, why := range slices.Sorted(maps.Keys(values)) {
				with(why, a.Name, values[why])
			}
			if slices.Contains([]string{"id", "path", "target", "reference", "of"}, a.Name) {
				for path := range nastyNotes() {
					with(path, a.Name, `"`+strings.TrimSuffix(path, ".md")+`"`)
				}
			}
			if slices.Contains([]string{"depth", "limit"}, a.Name) && a.Schema().Maximum != nil {
				with("largest", a.Name, fmt.Sprint(*a.Schema().Maximum))
			}
		}
		for why, value := range nastyValues(made.Args[0]) {
			with(why, "unknown", value)
		}
	}
	slices.SortFunc(all, func(a, b nastyCall) int { return strings.Compare(a.tool+a.why, b.tool+b.why) })
	return all
}

// TestNastyCalls makes each nasty call on a vault with the nastiest notes. Each stays within what a call may
// cost, and another caller is answered beside it. CI draws a sample by seed; the soak makes them all.
func TestNastyCalls(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	for path, text := range nastyNotes() {
		put(t, local{app}, map[string]string{path: text})
	}
	calls := nastyCalls(t)
	require.Greater(t, len(calls), 2000)
	if !soaked() {
		rand.New(rand.NewPCG(lostSeed(t), 7)).Shuffle(len(calls), func(i, j int) {
			calls[i], calls[j] = calls[j], calls[i]
		})
		calls = calls[:400]
	}
	other := tooltest.As(app.Catalogue, auth.LocalCaller())
	read := json.RawMessage(`{"vault":"v","path":"deep"}`)
	for _, c := range calls {
		beside := make(chan error, 1)
		go func() {
			_, err := other.Invoke(t.Context(), "raven_read", read)
			beside <- err
		}()
		var answer json.RawMessage
		objects, bytes := tooltest.Allocated(func() {
			answer, _ = local{app}.Invoke(t.Context(), c.tool, json.RawMessage(c.args))
		})
		what := fmt.Sprintf("%s %s", c.tool, c.why)
		assert.NoError(t, <-beside, what)
		assert.NotContains(t, string(answer[:min(len(answer), 200)]), "INTERNAL", what)
		assert.LessOrEqual(t, len(answer), maxAnswered, what)
		if slices.Contains(readsAll, c.tool) {
			continue
		}
		assert.LessOrEqual(t, bytes, uint64(maxAllocated), what)
		assert.LessOrEqual(t, objects, uint64(maxObjects), what)
	}
}
