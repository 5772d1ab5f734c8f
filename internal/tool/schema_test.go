package tool_test

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

type shelfIn struct {
	tool.Vault
	tool.Page
	ID  string      `json:"id" alias:"reference" jsonschema:"which one"`
	Set tool.Fields `json:"set,omitempty" jsonschema:"new values"`
	Old tool.Fields `json:"old,omitempty" jsonschema:"old values"`
}

// TestArgs checks that an argument is found even if its type has the same name, and that each has
// its own schema.
func TestArgs(t *testing.T) {
	made := tool.New(tool.Spec{
		Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Malformed: fault.InvalidValue},
	}, func(context.Context, auth.Caller, shelfIn) (struct{}, error) { return struct{}{}, nil })

	var names []string
	for _, a := range made.Args {
		names = append(names, a.Name)
		require.Equal(t, a.Doc, a.Schema().Description, a.Name)
		require.Equal(t, a.Name == "id", a.Required, a.Name)
	}
	require.Equal(t, []string{
		"vault", "limit", "page_token", "id", "set", "old", "agent_id", "session", "only", "envelope",
	}, names)
}

type shelfOut struct {
	tool.Aside `json:"-"`
	ID         string   `json:"id" jsonschema:"which one"`
	Tags       []string `json:"tags,omitempty"`
}

// TestOutput checks that the schema of an answer's data has the members of the data and no others.
func TestOutput(t *testing.T) {
	made := tool.New(tool.Spec{
		Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
		Family: &tool.Family{Name: "f"},
	}, func(context.Context, auth.Caller, struct{}) (shelfOut, error) { return shelfOut{}, nil })

	require.Equal(t, []string{"id", "tags"}, slices.Sorted(maps.Keys(made.OutputSchema().Properties)))
	require.Equal(t, []string{"id"}, made.OutputSchema().Required)
}

type Dimensions struct {
	Width int `json:"width"`
}

type plankOut struct {
	ID     string      `json:"id"`
	Boards []boardSeen `json:"boards"`
}

type boardSeen struct {
	Name string `json:"name"`
	*Dimensions
}

// TestOutputOfPart checks that a schema does not require the fields of a struct that is embedded by
// pointer.
func TestOutputOfPart(t *testing.T) {
	made := tool.New(tool.Spec{
		Name: "plank", Title: "Plank", Doc: "A plank.", Role: auth.Reader,
		Family: &tool.Family{Name: "f"},
	}, func(context.Context, auth.Caller, struct{}) (plankOut, error) { return plankOut{}, nil })

	require.Equal(t, []string{"id", "boards"}, made.OutputSchema().Required)
	board := made.OutputSchema().Properties["boards"].Items
	require.Equal(t, []string{"name"}, board.Required)
	require.Contains(t, board.Properties, "width")
}

// TestFieldsForm checks that a value which is not a field is refused with the expected form.
func TestFieldsForm(t *testing.T) {
	made := tool.New(tool.Spec{
		Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Malformed: fault.InvalidValue},
	}, func(context.Context, auth.Caller, shelfIn) (struct{}, error) { return struct{}{}, nil })
	cat, err := tool.NewCatalogue([]*tool.Tool{made}, tool.Options{})
	require.NoError(t, err)
	for set, ok := range map[string]bool{
		`"a=b"`: true, `["a=b", " c =d=e"]`: true, `{"a": 1}`: true, `"a="`: true, `"größe=x\ny"`: true,
		`"a"`: false, `["a=b", "c"]`: false, `"=b"`: false, `" =b"`: false, `""`: false, `[1]`: false,
	} {
		_, err := cat.Invoke(t.Context(), "shelf", json.RawMessage(`{"id": "x", "set": `+set+`}`))
		require.Equal(t, ok, err == nil, set)
		if !ok {
			require.True(t, fault.Is(err, fault.InvalidValue))
			require.Contains(t, err.Error(), "where each text is name=value")
		}
	}
}

// TestFieldsKeepDigits checks that a number which float64 cannot represent keeps its digits.
func TestFieldsKeepDigits(t *testing.T) {
	n := func(digits string) any { return json.Number(digits) }
	for raw, want := range map[string]any{
		`1`: 1.0, `-0.5`: -0.5, `1e3`: 1000.0, `3.14159265358979323846`: math.Pi,
		`9007199254740992`: 9007199254740992.0, `9007199254740993`: n("9007199254740993"),
		`-1234567890123456789`: n("-1234567890123456789"), `12345678901234567890`: n("12345678901234567890"),
		`1e400`: n("1e400"), `[1, [9007199254740993]]`: []any{1.0, []any{n("9007199254740993")}},
		`{"a": 9007199254740993}`: map[string]any{"a": n("9007199254740993")}, `null`: nil,
	} {
		var got tool.Fields
		require.NoError(t, json.Unmarshal([]byte(`{"k": `+raw+`}`), &got), raw)
		require.Equal(t, tool.Fields{"k": want}, got, raw)
	}
}

// TestBoundsInWords checks that a value out of bounds is refused with both bounds.
func TestBoundsInWords(t *testing.T) {
	type in struct {
		Name  string `json:"name" max:"100" jsonschema:"what it is called"`
		Code  string `json:"code,omitempty" min:"4" max:"4" jsonschema:"a code"`
		Note  string `json:"note,omitempty" max:"9" jsonschema:"a note"`
		Words string `json:"words,omitempty" min:"3" jsonschema:"several letters"`
		Title string `json:"title,omitempty" min:"1" jsonschema:"a title"`
		Count int    `json:"count,omitempty" min:"2" jsonschema:"how many"`
		Size  int    `json:"size,omitempty" min:"0" jsonschema:"how large"`
		Depth int    `json:"depth,omitempty" max:"2" jsonschema:"how deep"`
		Limit int    `json:"limit,omitempty" min:"1" max:"200" jsonschema:"of a page"`
	}
	made := tool.New(tool.Spec{
		Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Malformed: fault.InvalidValue, Missing: fault.MissingRequired},
	}, func(context.Context, auth.Caller, in) (struct{}, error) { return struct{}{}, nil })
	cat, err := tool.NewCatalogue([]*tool.Tool{made}, tool.Options{})
	require.NoError(t, err)
	for args, want := range map[string]string{
		`"name": ""`:                           "a text of 1 to 100 characters",
		`"name": 7`:                            "a text of 1 to 100 characters",
		`"name": "x", "code": "abc"`:           "a text of 4 characters",
		`"name": "x", "note": "much too long"`: "a text of at most 9 characters",
		`"name": "x", "words": "ab"`:           "a text of at least 3 characters",
		`"name": "x", "title": ""`:             "a text that is not empty",
		`"name": "x", "count": 1`:              "a whole number of at least 2",
		`"name": "x", "size": -1`:              "a whole number of at least 0",
		`"name": "x", "depth": 3`:              "a whole number of at most 2",
		`"name": "x", "limit": 0`:              "a whole number from 1 to 200",
	} {
		_, err := cat.Invoke(t.Context(), "shelf", json.RawMessage(`{`+args+`}`))
		require.ErrorContains(t, err, "must be "+want)
		require.True(t, strings.HasSuffix(fault.Of(err).Message, want), fault.Of(err).Message)
	}
}

// TestSchemaIsMadeOnce checks that concurrent callers get the same schemas, and that tools share
// their common arguments.
func TestSchemaIsMadeOnce(t *testing.T) {
	shelf := func() *tool.Tool {
		return tool.New(tool.Spec{
			Name: "shelf", Title: "Shelf", Doc: "A shelf.", Role: auth.Reader,
			Family: &tool.Family{Name: "f", Malformed: fault.InvalidValue},
		}, func(context.Context, auth.Caller, shelfIn) (shelfOut, error) { return shelfOut{}, nil })
	}
	made, other := shelf(), shelf()
	var callers sync.WaitGroup
	schemas := make([]*jsonschema.Schema, 8)
	outputs := make([]*jsonschema.Schema, len(schemas))
	for i := range schemas {
		callers.Go(func() {
			id, _ := made.Arg("id")
			schemas[i], outputs[i] = id.Schema(), made.OutputSchema()
		})
	}
	callers.Wait()
	for i := range schemas {
		require.Same(t, schemas[0], schemas[i])
		require.Same(t, outputs[0], outputs[i])
	}
	for name, shared := range map[string]bool{"limit": true, "vault": true, "agent_id": true, "id": false} {
		one, _ := made.Arg(name)
		two, _ := other.Arg(name)
		require.Equal(t, shared, one.Schema() == two.Schema(), name)
		require.Equal(t, name == "limit", one.Common, name)
	}
}
