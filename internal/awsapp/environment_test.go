package awsapp_test

import (
	"log/slog"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsapp"
)

// sound returns a valid environment of a function.
func sound() map[string]string {
	return map[string]string{
		"ROOKERY_TABLE": "t", "ROOKERY_BUCKET": "b", "ROOKERY_PUBLIC_URL": base,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
	}
}

func TestEnvironment(t *testing.T) {
	env := sound()
	env["ROOKERY_LOG_LEVEL"], env["ROOKERY_READONLY"], env["ROOKERY_LIMITS_READS_PER_MINUTE"] = "debug", "true", "7"
	e, err := awsapp.ReadEnvironment(func(name string) string { return env[name] })
	require.NoError(t, err)
	require.Equal(t, "t", e.Table)
	require.Equal(t, "b", e.Bucket)
	require.Equal(t, int64(1769<<20), e.Memory)
	require.Equal(t, slog.LevelDebug, e.Level)
	require.True(t, e.Server.ReadOnly)
	require.Equal(t, 7, e.Server.Limits.ReadsPerMinute)
	require.Equal(t, base, e.Server.PublicURL)
}

// TestUnsoundEnvironments checks that the error for an invalid environment names the variable, and
// does not contain its value.
func TestUnsoundEnvironments(t *testing.T) {
	for _, c := range []struct{ name, value, says string }{
		{"ROOKERY_TABLE", "", "ROOKERY_TABLE"},
		{"ROOKERY_BUCKET", "", "ROOKERY_BUCKET"},
		{"ROOKERY_PUBLIC_URL", "", "ROOKERY_PUBLIC_URL"},
		{"ROOKERY_PUBLIC_URL", "http://notes.example.test", "ROOKERY_PUBLIC_URL"},
		{"ROOKERY_LISTEN", "0.0.0.0:80", "ROOKERY_LISTEN"},
		{"ROOKERY_DATA", "/quokka", "ROOKERY_DATA"},
		{"ROOKERY_TLS_CERT", "quokka.pem", "tls"},
		{"ROOKERY_TRUSTED_PROXIES", "10.0.0.5", "ROOKERY_TRUSTED_PROXIES"},
		{"ROOKERY_METRICS_LISTEN", "127.0.0.1:1", "ROOKERY_METRICS_LISTEN"},
		{"ROOKERY_LOG_LEVEL", "quokka", "ROOKERY_LOG_LEVEL"},
		{"ROOKERY_READONLY", "quokka", "readonly"},
		{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "much", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"},
		{"ROOKERY_ISSUERS", `[{issuer: "https://i.example.test", tenant: local, role: reader}]`, `"local"`},
	} {
		env := maps.Clone(sound())
		env[c.name] = c.value
		_, err := awsapp.ReadEnvironment(func(name string) string { return env[name] })
		require.ErrorContains(t, err, c.says, c.name)
		require.NotContains(t, err.Error(), "quokka")
	}
	for _, url := range []string{"http://127.0.0.1:7790", "http://localhost:7790"} {
		env := maps.Clone(sound())
		env["ROOKERY_PUBLIC_URL"] = url
		_, err := awsapp.ReadEnvironment(func(name string) string { return env[name] })
		require.NoError(t, err, url)
	}
}
