package awsapp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/sqsqueue"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestOperatorCommands checks the commands that operators invoke directly, without the API: their
// answers and their errors.
func TestOperatorCommands(t *testing.T) {
	d := newDeployment(t)
	app := d.function(t)
	_, err := app.Invoke(t.Context(), []byte(`{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`))
	require.NoError(t, err)
	worker := awsapp.NewWorker(d.options(t), sqsqueue.New(aws.Config{}, "", sqsqueue.Options{}))
	t.Cleanup(worker.Close)
	answer, err := worker.Invoke(t.Context(), []byte(`{"rookery":"health"}`))
	require.NoError(t, err)
	var health awsapp.Health
	require.NoError(t, json.Unmarshal(answer, &health))
	require.Equal(t, "test", health.Version)
	require.Positive(t, health.Format)
	for _, event := range []string{
		`{"rookery":""}`, `{"rookery":"other"}`, `{"rookery":"rollback"}`, `{"rookery":"rollback","tenant":7}`,
		`{"rookery":"rollback","tenant":"none"}`,
	} {
		_, err := worker.Invoke(t.Context(), []byte(event))
		require.Error(t, err, event)
	}
	_, err = worker.Invoke(t.Context(), []byte(`{"rookery":"rollback","tenant":"acme"}`))
	require.NoError(t, err)

	janitor := awsapp.NewJanitor(d.options(t))
	t.Cleanup(janitor.Close)
	answer, err = janitor.Invoke(t.Context(), []byte(`{"rookery":"vaults"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"tenants":[{"tenant":"acme","vaults":[]}]}`, string(answer))
	_, err = janitor.Invoke(t.Context(), []byte(`{"rookery":"other"}`))
	require.ErrorContains(t, err, "it must be vaults")
}
