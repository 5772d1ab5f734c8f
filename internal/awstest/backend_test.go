package awstest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	t.Setenv("LS_HOME", t.TempDir())
	for _, c := range []struct {
		aws, ddb, wantAWS, wantDDB string
	}{
		{"http://127.0.0.1:1", "", "http://127.0.0.1:1", "http://127.0.0.1:1"},
		{"http://localhost:1", "http://[::1]:2", "http://localhost:1", "http://[::1]:2"},
		{"", "http://127.0.0.1:2", "", "http://127.0.0.1:2"},
	} {
		b, err := find(func(name string) string {
			return map[string]string{awsEndpoint: c.aws, ddbEndpoint: c.ddb}[name]
		})
		require.NoError(t, err)
		require.Equal(t, &Backend{c.wantAWS, c.wantDDB}, b)
	}
	for _, outside := range []string{"http://192.0.2.1:4566", "http://store.example", "127.0.0.1:4566", ":"} {
		_, err := find(func(string) string { return outside })
		require.ErrorContains(t, err, "must be URLs of a loopback address")
	}
}

// TestFindWhatUpStarted holds that addresses count only while something listens there.
func TestFindWhatUpStarted(t *testing.T) {
	none := func(string) string { return "" }
	t.Setenv("LS_HOME", t.TempDir())
	_, err := find(none)
	require.ErrorIs(t, err, errNone)

	endpoints := filepath.Join(os.Getenv("LS_HOME"), "endpoints")
	write := func(first, second string) {
		text := awsEndpoint + "=" + first + "\n" + ddbEndpoint + "=" + second + "\n"
		require.NoError(t, os.WriteFile(endpoints, []byte(text), 0o600))
	}
	first, second := served(t), served(t)
	write(first, second)
	b, err := find(none)
	require.NoError(t, err)
	require.Equal(t, &Backend{first, second}, b)

	write(first, "http://127.0.0.1:1")
	_, err = find(none)
	require.ErrorIs(t, err, errNone)
}

func TestTablesAndBuckets(t *testing.T) {
	b := Start(t)
	require.NotEqual(t, b.Table(t), b.Table(t))
	require.NotEqual(t, b.Bucket(t), b.Bucket(t))
	list, err := dynamodb.NewFromConfig(b.DynamoDB(nil)).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list.TableNames), 2)
}
