package fault_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestTable checks some rows of the table in CONTRACT §2, and that it contains every code once.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		code   fault.Code
		status fault.Status
		http   int
		exit   int
	}{
		{fault.InvalidValue, fault.StatusInvalidArgument, 400, 2},
		{fault.KeyReused, fault.StatusInvalidArgument, 400, 2},
		{fault.TokenExpired, fault.StatusUnauthenticated, 401, 3},
		{fault.ReadOnly, fault.StatusForbidden, 403, 3},
		{fault.NotFound, fault.StatusNotFound, 404, 4},
		{fault.Conflict, fault.StatusConflict, 409, 5},
		{fault.IndexNotFound, fault.StatusConflict, 409, 4},
		{fault.IndexIncompatible, fault.StatusConflict, 409, 7},
		{fault.QuotaExceeded, fault.StatusRateLimited, 429, 8},
		{fault.SchemaError, fault.StatusInternal, 500, 2},
		{fault.StorageError, fault.StatusUnavailable, 503, 6},
		{"NO_SUCH_CODE", fault.StatusInternal, 500, 2},
	} {
		require.Equal(t, c.status, c.code.Status(), c.code)
		require.Equal(t, c.http, fault.New(c.code, "").HTTP(), c.code)
		require.Equal(t, c.exit, c.code.Exit(), c.code)
	}
	seen := map[fault.Code]bool{}
	for _, code := range fault.Codes() {
		require.False(t, seen[code], code)
		seen[code] = true
	}
	large := fault.New(fault.BatchTooLarge, "")
	require.Equal(t, 400, large.HTTP())
	large.BodyTooLarge = true
	require.Equal(t, 413, large.HTTP())
}

// TestCopies checks that the methods that extend a fault do not change the original.
func TestCopies(t *testing.T) {
	base := fault.New(fault.Conflict, "it changed").With("a", 1).Fix("one")
	more := base.With("b", 2).Fix("two").At("x.md", 3).After(1500 * time.Millisecond)
	require.Equal(t, map[string]any{"a": 1}, base.Details)
	require.Equal(t, []string{"one"}, base.Fixes)
	require.Nil(t, base.Location)
	data, err := json.Marshal(more)
	require.NoError(t, err)
	require.JSONEq(t, `{"code":"CONFLICT","status":"conflict","message":"it changed",
		"details":{"a":1,"b":2},"location":{"file":"x.md","line":3},"fixes":["one","two"],
		"retry_after":2}`, string(data))
	var back fault.Fault
	require.NoError(t, json.Unmarshal(data, &back))
	again, err := json.Marshal(&back)
	require.NoError(t, err)
	require.JSONEq(t, string(data), string(again))
}

// TestOf checks that a fault is found within a wrapping error, and that other errors reveal
// nothing.
func TestOf(t *testing.T) {
	f := fault.New(fault.NotFound, "no note")
	require.Same(t, f, fault.Of(fmt.Errorf("read: %w", f)))
	require.True(t, fault.Is(fmt.Errorf("read: %w", f), fault.NotFound))
	cause := errors.New("secret of the house")
	hidden := fault.Of(cause)
	require.Equal(t, fault.Internal, hidden.Code)
	require.NotContains(t, hidden.Error(), "secret")
	require.ErrorIs(t, hidden, cause)
	data, err := json.Marshal(hidden)
	require.NoError(t, err)
	require.NotContains(t, string(data), "secret")
}

// TestJoin checks that a single problem is returned unchanged, and that several are combined.
func TestJoin(t *testing.T) {
	require.Nil(t, fault.Join(fault.ValidationFailed, nil))
	one := fault.New(fault.MissingRequired, "a name")
	require.Same(t, one, fault.Join(fault.ValidationFailed, []*fault.Fault{one}))
	two := fault.Join(fault.ValidationFailed, []*fault.Fault{one, one})
	require.Equal(t, "2 validation errors found", two.Message)
	require.Equal(t, "2 validation errors found; first: "+one.Message, two.Summary())
	require.Equal(t, one.Message, one.Summary())
	of := fault.Join(fault.InvalidParameter, []*fault.Fault{one, one})
	require.Equal(t, "2 problems found; first: "+one.Message, of.Message)
	require.Equal(t, of.Message, of.Summary())
	require.Len(t, two.Errors, 2)
}

func TestNearest(t *testing.T) {
	options := []string{"raven_add", "raven_read", "raven_set"}
	require.Equal(t, "raven_read", fault.Nearest("raven_raed", options))
	require.Equal(t, "raven_set", fault.Nearest("RAVEN_SET", options))
	require.Empty(t, fault.Nearest("whatever else", options))
	require.Empty(t, fault.Nearest("", options))
}

func TestNoVaultEchoesNoLongName(t *testing.T) {
	require.Contains(t, fault.NoVault("demo").Message, `"demo"`)
	long := string(make([]byte, 64))
	require.Equal(t, "no vault of that name", fault.NoVault(long).Message)
}
