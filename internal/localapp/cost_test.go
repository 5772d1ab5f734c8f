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

// What one call may cost at most: bytes that it allocates, and of its answer.
const (
	maxAllocated = 64 << 20
	maxAnswered  = tool.MaxBody
)

// cheap makes a call whose cost must be within the limits.
func cheap(t testing.TB, i tool.Invoker, name string, in args) (json.RawMessage, error) {
	t.Helper()
	data, err := tool.Marshal(in)
	require.NoError(t, err)
	var answer json.RawMessage
	_, bytes := tooltest.Allocated(func() { answer, err = i.Invoke(t.Context(), name, data) })
	require.LessOrEqual(t, bytes, uint64(maxAllocated), "%s allocates", name)
	require.LessOrEqual(t, len(answer), maxAnswered, "%s answers", name)
	return answer, err
}

// TestEditsOfALongLine checks that many replacements in one long line each show a part of it, and
// that their cost is proportional to the bytes of the note and of the call, also in a dry run.
func TestEditsOfALongLine(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	var line strings.Builder
	var edits []args
	for i := range 300 {
		fmt.Fprintf(&line, "word%03d %s", i, strings.Repeat("lorem ipsum ", 233))
		edits = append(edits, args{"old_str": fmt.Sprintf("word%03d", i), "new_str": fmt.Sprintf("other%03d", i)})
	}
	require.Greater(t, line.Len(), 800<<10)
	put(t, local{app}, map[string]string{"long.md": line.String()})
	for _, dry := range []bool{true, false} {
		for _, n := range []int{1, 10, len(edits) - 11} {
			in := args{"vault": "v", "id": "long", "edits": edits[:n], "dry_run": dry}
			answer, err := cheap(t, local{app}, "raven_edit", in)
			require.NoError(t, err)
			require.Less(t, len(answer), 5000*(n+20))
			if !dry {
				edits = edits[n:]
			}
		}
	}
	require.NotContains(t, read(t, local{app}, "long"), "word000")
}

// TestTooManyEdits checks that replacements are refused if they would search more than a call may,
// or are more than a call may have.
func TestTooManyEdits(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, map[string]string{"long.md": strings.Repeat("lorem ipsum ", 80_000)})
	for n, says := range map[int]string{2000: "at most 1000", 1000: "make at most 279 at once"} {
		edits := make([]args, n)
		for i := range edits {
			edits[i] = args{"old_str": "lorem", "new_str": "x"}
		}
		_, err := cheap(t, local{app}, "raven_edit", args{"vault": "v", "id": "long", "edits": edits})
		require.ErrorContains(t, err, says)
		require.Equal(t, fault.BatchTooLarge, fault.Of(err).Code)
	}
}

// TestEditsOfAGrowingNote checks that the bytes which replacements add count for the replacements
// after them: a small note cannot become so large that they search more than a call may.
func TestEditsOfAGrowingNote(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, map[string]string{"small.md": "first second third"})
	edits := []args{
		{"old_str": "first", "new_str": strings.Repeat("a ", 1<<19)},
		{"old_str": "second", "new_str": strings.Repeat("b ", 1<<19)},
	}
	for range 900 {
		edits = append(edits, args{"old_str": "third", "new_str": "third"})
	}
	_, err := cheap(t, local{app}, "raven_edit", args{"vault": "v", "id": "small", "edits": edits})
	require.True(t, fault.Is(err, fault.BatchTooLarge), "%v", err)
	require.ErrorContains(t, err, "at most 129 at once")
	require.Equal(t, "first second third", read(t, local{app}, "small"))
}

// TestSetOfManyFields checks that a call can set and remove a thousand fields at the cost of one
// pass over the note, and no more than a thousand.
func TestSetOfManyFields(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, map[string]string{"note.md": "---\nname: x\n---\n\n# Note\n\n## Part\n"})
	fields, names := args{}, []string{}
	for i := range 1000 {
		name := fmt.Sprintf("k%d", i)
		fields[name], names = strings.Repeat("v", 100), append(names, name)
	}
	for tool, in := range map[string]args{
		"raven_set": {"id": "note", "set": fields}, "raven_unset": {"id": "note", "unset": names},
		"raven_new": {"type": "page", "title": "New", "fields": fields},
	} {
		in["vault"] = "v"
		_, err := cheap(t, local{app}, tool, in)
		require.NoError(t, err, tool)
	}
	_, err := cheap(t, local{app}, "raven_upsert", args{"vault": "v", "type": "page", "title": "New", "fields": fields})
	require.NoError(t, err)
	fields["one-more"] = 1
	_, err = cheap(t, local{app}, "raven_set", args{"vault": "v", "id": "note", "set": fields})
	require.True(t, fault.Is(err, fault.BatchTooLarge), "%v", err)
}

// TestListsCutFields checks that an item of a list has only the beginning of a large field, and
// says so, that the object itself has the whole field, and that a page over a note with a large
// field is small.
func TestListsCutFields(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, map[string]string{
		"schema.yaml": "traits:\n  due: date\n",
		"note.md": "---\nabout: " + strings.Repeat("long ", 180_000) + "\n---\n\n" +
			strings.Repeat("- @due(2026-03-02) x\n", 300),
	})
	var list struct {
		Data struct {
			Items []struct {
				Fields map[string]string
				Cut    []string `json:"cut_fields"`
				Parent struct {
					Cut []string `json:"cut_fields"`
				}
			}
		}
	}
	answer, err := cheap(t, local{app}, "raven_object_list", args{"vault": "v"})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer, &list))
	require.Equal(t, []string{"about"}, list.Data.Items[0].Cut)
	require.Less(t, len(list.Data.Items[0].Fields["about"]), 4200)
	answer, err = cheap(t, local{app}, "raven_trait_list", args{"vault": "v", "trait_type": "due", "limit": 200})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(answer, &list))
	require.Len(t, list.Data.Items, 200)
	require.Equal(t, []string{"about"}, list.Data.Items[0].Parent.Cut)
	answer, err = cheap(t, local{app}, "raven_object_get", args{"vault": "v", "id": "note"})
	require.NoError(t, err)
	require.Greater(t, len(answer), 900_000)
	require.NotContains(t, string(answer), "cut_fields")
}
