package rookery_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery"
)

// An envelope is an answer, as far as the tests look into it.
type envelope struct {
	OK    bool
	Data  map[string]any
	Error *struct{ Code, Message string }
}

// invoke calls a tool and decodes its answer.
func invoke(t *testing.T, r *rookery.Rookery, name, args string) (envelope, error) {
	t.Helper()
	data, err := r.Invoke(t.Context(), name, json.RawMessage(args))
	var e envelope
	require.NoError(t, json.Unmarshal(data, &e), string(data))
	require.Equal(t, err == nil, e.OK)
	require.Equal(t, err != nil, e.Error != nil)
	return e, err
}

func TestInProcess(t *testing.T) {
	cfg := rookery.Config{Data: t.TempDir()}
	r, err := rookery.Open(t.Context(), cfg)
	require.NoError(t, err)
	_, err = invoke(t, r, "team_vault_create", `{"name":"v"}`)
	require.NoError(t, err)
	made, err := invoke(t, r, "raven_new", `{"vault":"v","type":"page","title":"First"}`)
	require.NoError(t, err)
	require.Equal(t, "first", made.Data["id"])

	refused, err := invoke(t, r, "raven_read", `{"vault":"v","path":"second"}`)
	require.Error(t, err)
	require.Equal(t, "NOT_FOUND", refused.Error.Code)
	require.Contains(t, err.Error(), refused.Error.Message)
	refused, err = invoke(t, r, "raven_raed", `{}`)
	require.Error(t, err)
	require.Equal(t, "NOT_FOUND", refused.Error.Code)
	refused, err = invoke(t, r, "raven_read", `{"vault":`)
	require.Error(t, err)
	require.NotEqual(t, "INTERNAL", refused.Error.Code)

	_, err = rookery.Open(t.Context(), cfg)
	require.ErrorContains(t, err, "another process is using the data directory")
	require.NoError(t, r.Close())

	cfg.ReadOnly = true
	r, err = rookery.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	read, err := invoke(t, r, "raven_read", `{"vault":"v","path":"first"}`)
	require.NoError(t, err)
	require.Contains(t, read.Data["content"], "# First")
	refused, err = invoke(t, r, "raven_add", `{"vault":"v","to":"first","text":"x"}`)
	require.Error(t, err)
	require.Equal(t, "READ_ONLY", refused.Error.Code)
}

func TestTools(t *testing.T) {
	r, err := rookery.Open(t.Context(), rookery.Config{Data: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	var names []string
	readOnly := map[string]bool{}
	for tool := range r.Tools() {
		names = append(names, tool.Name)
		readOnly[tool.Name] = tool.ReadOnly
		require.NotEmpty(t, tool.Title, tool.Name)
		require.NotEmpty(t, strings.TrimSpace(tool.Doc), tool.Name)
		var schema struct {
			Type       string
			Properties map[string]any
		}
		require.NoError(t, json.Unmarshal(tool.Input, &schema), tool.Name)
		require.Equal(t, "object", schema.Type, tool.Name)
	}
	require.True(t, slices.IsSorted(names))
	require.Len(t, names, len(readOnly), "each once")
	require.True(t, readOnly["raven_read"])
	require.False(t, readOnly["raven_set"])
	for range r.Tools() {
		break // a loop may end early
	}
}

// TestNoDirectory holds that a data directory that cannot be made is an error, and no panic.
func TestNoDirectory(t *testing.T) {
	_, err := rookery.Open(t.Context(), rookery.Config{Data: "rookery.go/data"})
	require.Error(t, err)
	require.NotNil(t, errors.Unwrap(err))
}
