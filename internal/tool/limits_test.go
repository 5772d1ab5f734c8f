package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// boundIn has an argument of each kind.
type boundIn struct {
	Name  string            `json:"name,omitempty" jsonschema:"a name"`
	Path  string            `json:"path,omitempty" complete:"path" jsonschema:"a path"`
	Query string            `json:"query,omitempty" size:"query" jsonschema:"what to look for"`
	Text  *string           `json:"text,omitempty" text:"true" jsonschema:"a text"`
	Short string            `json:"short,omitempty" max:"3" jsonschema:"a short one"`
	List  []string          `json:"list,omitempty" jsonschema:"names"`
	Set   tool.Fields       `json:"set,omitempty" jsonschema:"values"`
	Roles map[string]string `json:"roles,omitempty" jsonschema:"roles"`
	Files []struct {
		Path string `json:"path" size:"id"`
		Text string `json:"text" size:"text"`
	} `json:"files,omitempty" jsonschema:"files"`
}

// bounded returns a catalogue with one tool, and the counter of its calls.
func bounded(t *testing.T) (*tool.Catalogue, *int) {
	calls := new(int)
	made := tool.New(tool.Spec{
		Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Malformed: fault.InvalidValue, Missing: fault.MissingRequired,
			Several: fault.ValidationFailed},
	}, func(context.Context, auth.Caller, boundIn) (struct{}, error) {
		*calls++
		return struct{}{}, nil
	})
	cat, err := tool.NewCatalogue([]*tool.Tool{made}, tool.Options{})
	require.NoError(t, err)
	return cat, calls
}

// many returns a JSON list or object of n entries, each formatted with its number.
func many(open, entry, end string, n int) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = entry
		if strings.Contains(entry, "%d") {
			entries[i] = fmt.Sprintf(entry, i)
		}
	}
	return open + strings.Join(entries, ",") + end
}

// TestBounds checks that an argument may be as large as its kind allows and not larger, and that
// the refusal is short.
func TestBounds(t *testing.T) {
	text := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	for _, c := range []struct {
		arg        string
		most, over string
		code       fault.Code
		says       string
	}{
		{"name", text(512), text(513), fault.InvalidValue, "a text of at most 512 characters"},
		{"path", text(4096), text(4097), fault.InvalidValue, "a text of at most 4096 characters"},
		{"query", text(16384), text(16385), fault.InvalidValue, "a text of at most 16384 characters"},
		{"short", text(3), text(4), fault.InvalidValue, "a text of at most 3 characters"},
		{"text", text(1 << 20), text(1<<20 + 1), fault.NoteTooLarge, "a note has at most 1048576"},
		{"list", many("[", `"x"`, "]", 1000), many("[", `"x"`, "]", 1001), fault.BatchTooLarge, "at most 1000"},
		{"list", "[" + text(512) + "]", "[" + text(513) + "]", fault.InvalidValue, "at most 512 characters"},
		{"set", many("{", `"k%d":1`, "}", 1000), many("{", `"k%d":1`, "}", 1001), fault.BatchTooLarge, "at most 1000"},
		{"set", many("[", `"k%d=1"`, "]", 1000), many("[", `"k%d=1"`, "]", 1001), fault.BatchTooLarge, "at most 1000"},
		{"set", "{" + text(512) + ":1}", "{" + text(513) + ":1}", fault.InvalidValue, "at most 512 characters"},
		{"roles", many("{", `"k%d":"x"`, "}", 1000), many("{", `"k%d":"x"`, "}", 1001), fault.BatchTooLarge, "at most 1000"},
		{"files", `[{"path":"x","text":` + text(1<<20) + `}]`, `[{"path":"x","text":` + text(1<<20+1) + `}]`,
			fault.NoteTooLarge, "a note has at most 1048576"},
		{"files", `[{"path":` + text(4096) + `,"text":""}]`, `[{"path":` + text(4097) + `,"text":""}]`,
			fault.InvalidValue, "at most 4096 characters"},
	} {
		t.Run(c.arg, func(t *testing.T) {
			cat, calls := bounded(t)
			_, err := cat.Invoke(t.Context(), "shelf", json.RawMessage(`{"`+c.arg+`":`+c.most+`}`))
			require.NoError(t, err)
			require.Equal(t, 1, *calls)
			answer, err := cat.Invoke(t.Context(), "shelf", json.RawMessage(`{"`+c.arg+`":`+c.over+`}`))
			require.Equal(t, 1, *calls)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.code, fault.Of(err).Code)
			require.Equal(t, c.arg, fault.Of(err).Details["argument"])
			require.Less(t, len(answer), 1000)
		})
	}
}

// TestManyArguments checks that a call with very many arguments, values or levels is refused before
// it is decoded, and that only some of many problems are reported.
func TestManyArguments(t *testing.T) {
	cat, calls := bounded(t)
	for args, says := range map[string]string{
		many("{", `"k%d":1`, "}", 350_000):                                   "a call has at most 100 arguments",
		`{"list":` + many("[", "[]", "]", 200_000) + `}`:                     "at most 100000 values",
		`{"set":` + many("{", `"k%d":1`, "}", 200_000) + `}`:                 "at most 100000 values",
		`{"list":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + "}": "deeper than 32",
		many("{", `"k%d":1`, "}", 90):                                        "90 validation errors found; the first 20 are listed",
	} {
		var answer json.RawMessage
		var err error
		_, bytes := tooltest.Allocated(func() { answer, err = cat.Invoke(t.Context(), "shelf", json.RawMessage(args)) })
		require.ErrorContains(t, err, says)
		require.Less(t, len(answer), 20_000)
		require.Less(t, bytes, uint64(16<<20), says)
	}
	require.Zero(t, *calls)
}

// TestLongNamesAreNear checks that a name which is too long for a typing error is not compared with
// others.
func TestLongNamesAreNear(t *testing.T) {
	cat, _ := bounded(t)
	for name, near := range map[string]bool{"shelff": true, "shelf" + strings.Repeat("f", 4<<20): false} {
		var answer json.RawMessage
		_, bytes := tooltest.Allocated(func() { answer, _ = cat.Invoke(t.Context(), name, nil) })
		require.Equal(t, near, strings.Contains(string(answer), "use shelf"))
		require.Less(t, len(answer), 500)
		require.Less(t, bytes, uint64(1<<20))
	}
}
