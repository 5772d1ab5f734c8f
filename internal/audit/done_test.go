package audit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/table"
)

func TestDone(t *testing.T) {
	c := auth.LocalCaller()
	c.Agent, c.RequestID = "helper", "r-1"
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.Began = at.Add(-7 * time.Millisecond)
	op, err := audit.EntryOp(audit.Action{
		Caller: c, Operation: "tree_expand_node", Vault: "main", Targets: []string{"projects/", ""}, Version: "v7", At: at,
	})
	require.NoError(t, err)
	require.Equal(t, table.OpCreate, op.Kind)
	require.Contains(t, audit.Parts(), op.Item.Part)
	var e audit.Entry
	require.NoError(t, json.Unmarshal(op.Item.Data, &e))
	took := int64(7)
	require.Equal(t, audit.Entry{
		Time: at, Request: "r-1", Tenant: c.Tenant, Principal: c.Principal, Agent: "helper", Operation: "tree_expand_node",
		Vault: "main", Targets: []string{"projects/"}, Outcome: audit.OK, Before: "v7", After: "v7", Took: &took,
	}, e)
}
