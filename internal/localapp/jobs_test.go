package localapp_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestJobsGoOn checks that a process that opens a data directory continues the jobs of the one
// before in the background, even a job whose lease has not ended: no other process can have it.
func TestJobsGoOn(t *testing.T) {
	app, dir := openVault(t)
	require.NoError(t, app.Close())
	id := job.NewID(time.Now())
	app, err := openApp(t.Context(), localapp.Between(localapp.Config{
		Data: dir, Log: leaktest.Logger(t, nil),
	}, func(tables table.Table, files blob.Folder) (table.Table, blob.Folder) {
		leaveJob(t, table.Sub(tables, auth.Local), id)
		return tables, files
	}))
	require.NoError(t, err)
	defer func() { require.NoError(t, app.Close()) }()
	type told struct {
		Job struct {
			State    job.State
			Attempts int
			Result   struct{ Verified bool }
		}
	}
	var now told
	require.Eventually(t, func() bool {
		now = into[told](t, must(t, local{app}, "team_job_get", args{"id": id}))
		return now.Job.State.Ended()
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, job.Done, now.Job.State)
	require.Equal(t, 2, now.Job.Attempts)
	require.True(t, now.Job.Result.Verified)
}

// leaveJob adds a job to a tenant as a process that has ended left it.
func leaveJob(t testing.TB, tables table.Table, id string) {
	t.Helper()
	it := job.Item{
		ID: id, Kind: "audit_verify", State: job.Running, Target: job.Target{Vault: "v"},
		Created: time.Now().UTC(), Progress: job.Progress{Step: "vault", Total: 2}, Attempts: 1,
		Lease: &job.Lease{Holder: "gone", Until: time.Now().Add(time.Minute)}, Open: "open/v",
		Input: json.RawMessage(`{"tenant":true}`),
	}
	data, err := json.Marshal(it)
	require.NoError(t, err)
	require.NoError(t, tables.Commit(context.WithoutCancel(t.Context()),
		table.Set(table.Item{Key: table.Key{Part: job.Part, Sort: "job/" + id}, Data: data}),
		table.Set(table.Item{Key: table.Key{Part: job.Part, Sort: it.Open}, Data: []byte(id)})))
}
