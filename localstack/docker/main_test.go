package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/testcontainers/testcontainers-go"
)

// TestRun covers that a command has the address of LocalStack, which answers, and that its exit code is
// returned. It is skipped where Docker does not answer.
func TestRun(t *testing.T) {
	testcontainers.SkipIfProviderIsNotHealthy(t)
	const script = `curl --fail --silent "$ROOKERY_TEST_AWS_ENDPOINT/_localstack/health"; exit 3`
	code, err := run(t.Context(), []string{"sh", "-c", script})
	require.NoError(t, err)
	require.Equal(t, 3, code)
	url, end, err := start(t.Context())
	require.NoError(t, err)
	answer, err := http.Get(url + "/_localstack/health")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, end())
}

// TestNoCommand needs no Docker.
func TestNoCommand(t *testing.T) {
	_, err := run(t.Context(), nil)
	require.ErrorContains(t, err, "name a command")
}
