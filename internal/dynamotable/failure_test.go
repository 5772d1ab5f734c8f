package dynamotable_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/table"
)

// A refusing is a store that refuses every request with this body.
type refusing string

// Do implements aws.HTTPClient.
func (r refusing) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader(string(r))),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// refused returns a table over such a store, and its log output.
func refused(body string, now func() time.Time) (*dynamotable.Table, *bytes.Buffer) {
	var log bytes.Buffer
	cfg := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: refusing(body),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
	return dynamotable.New(cfg, "t", dynamotable.Options{
		Now: now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}), &log
}

// TestDeploymentFaults checks that an error says what is wrong with the deployment without quoting
// AWS, and that it is logged once a minute.
func TestDeploymentFaults(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for code, want := range map[string]string{
		"AccessDeniedException":       "the role may not use the table",
		"ResourceNotFoundException":   "the table is not there",
		"UnrecognizedClientException": "the credentials are not known",
		"ValidationException":         "its keys must be p and s",
	} {
		tab, log := refused(`{"__type":"x#`+code+`","message":"canary secret"}`, func() time.Time { return now })
		fail := func() {
			t.Helper()
			_, err := tab.Get(t.Context(), item("a", "").Key)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "canary")
		}
		fail()
		require.ErrorContains(t, tab.Commit(t.Context(), table.Set(item("a", "x"))), want)
		require.ErrorContains(t, tab.Commit(t.Context(), table.Set(item("a", "x")), table.Set(item("b", "x"))), want)
		for _, err := range tab.Query(t.Context(), "part", "a", "b") {
			require.ErrorContains(t, err, want)
		}
		require.Equal(t, 1, strings.Count(log.String(), "level=ERROR"))
		require.Contains(t, log.String(), want)
		require.NotContains(t, log.String(), "canary")
		now = now.Add(time.Minute)
		fail()
		require.Equal(t, 2, strings.Count(log.String(), "level=ERROR"))
	}
}

// TestTooLargeAnItem checks that an item that DynamoDB finds too large is ErrLimit, alone and in a
// transaction.
func TestTooLargeAnItem(t *testing.T) {
	alone, _ := refused(
		`{"__type":"x#ValidationException","message":"Item size has exceeded the maximum allowed size"}`, nil)
	require.ErrorIs(t, alone.Commit(t.Context(), table.Set(item("a", "x"))), table.ErrLimit)
	several, _ := refused(`{"__type":"x#TransactionCanceledException","message":"m","CancellationReasons":[`+
		`{"Code":"None"},{"Code":"ValidationError","Message":"Item size has exceeded the maximum allowed size"}]}`, nil)
	err := several.Commit(t.Context(), table.Set(item("a", "x")), table.Set(item("b", "x")))
	require.ErrorIs(t, err, table.ErrLimit)
}

func TestATableThatIsNotThere(t *testing.T) {
	b := awstest.Start(t)
	tab := dynamotable.New(b.DynamoDB(nil), "rookery-none", dynamotable.Options{Log: slog.New(slog.DiscardHandler)})
	_, err := tab.Get(t.Context(), item("a", "").Key)
	require.ErrorContains(t, err, "the table is not there")
	require.NotErrorIs(t, err, table.ErrNotFound)
}

// TestForeignItems reads items that another program wrote to the table: without data they are
// empty, and with attributes of other types damaged.
func TestForeignItems(t *testing.T) {
	b := awstest.Start(t)
	name := b.Table(t)
	tab := dynamotable.New(b.DynamoDB(nil), name, dynamotable.Options{})
	client := dynamodb.NewFromConfig(b.DynamoDB(nil))
	put := func(attribute string, v types.AttributeValue) {
		t.Helper()
		all := map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "part"}, "s": &types.AttributeValueMemberS{Value: "a"},
		}
		if attribute != "" {
			all[attribute] = v
		}
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: all})
		require.NoError(t, err)
	}
	put("", nil)
	got, err := tab.Get(t.Context(), item("a", "").Key)
	require.NoError(t, err)
	require.Equal(t, item("a", ""), got)
	require.NoError(t, tab.Commit(t.Context(), table.Replace(got, item("a", "x"))))

	for attribute, v := range map[string]types.AttributeValue{
		"d": &types.AttributeValueMemberS{Value: "text"},
		"n": &types.AttributeValueMemberN{Value: "0.5"},
		"x": &types.AttributeValueMemberS{Value: "tomorrow"},
	} {
		put(attribute, v)
		_, err := tab.Get(t.Context(), item("a", "").Key)
		require.ErrorIs(t, err, table.ErrDamaged)
		require.ErrorIs(t, tab.Commit(t.Context(), table.Create(item("a", "x"))), table.ErrDamaged)
		for _, err := range tab.Query(t.Context(), "part", "a", "b") {
			require.ErrorIs(t, err, table.ErrDamaged)
		}
	}
}

// TestSchema checks the attributes of an item, on which other programs that read the table depend.
func TestSchema(t *testing.T) {
	b := awstest.Start(t)
	name := b.Table(t)
	tab := dynamotable.New(b.DynamoDB(nil), name, dynamotable.Options{})
	full := table.Item{
		Key: table.Key{Part: "part", Sort: "full"}, Data: []byte("x"), Count: 7,
		Expires: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	require.NoError(t, tab.Commit(t.Context(), table.Create(full)))
	require.NoError(t, tab.Commit(t.Context(), table.Create(item("empty", ""))))
	client := dynamodb.NewFromConfig(b.DynamoDB(nil))
	for sort, want := range map[string]map[string]types.AttributeValue{
		"full": {
			"d": &types.AttributeValueMemberB{Value: []byte("x")}, "n": &types.AttributeValueMemberN{Value: "7"},
			"x": &types.AttributeValueMemberN{Value: "2082758400"},
		},
		"empty": {"d": &types.AttributeValueMemberB{Value: []byte{}}},
	} {
		want["p"] = &types.AttributeValueMemberS{Value: "part"}
		want["s"] = &types.AttributeValueMemberS{Value: sort}
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
			"p": want["p"], "s": want["s"],
		}})
		require.NoError(t, err)
		require.Equal(t, want, out.Item)
	}
}

// TestRequests checks the cost of the calls in requests.
func TestRequests(t *testing.T) {
	x := newBench(t, func(awstest.Request) awstest.Fault { return awstest.None })
	expired := item("expired", "x")
	expired.Expires = time.Unix(1, 0)
	require.NoError(t, x.plain.Commit(t.Context(), table.Set(item("a", "x")), table.Set(expired)))
	tab := x.faulty
	for _, c := range []struct {
		name string
		call func() error
		want int
	}{
		{"get", func() error { _, err := tab.Get(t.Context(), item("a", "").Key); return err }, 1},
		{"query", func() error { return drain(tab.Query(t.Context(), "part", "a", "b")) }, 1},
		{"a query of nothing", func() error { return drain(tab.Query(t.Context(), "part", "b", "a")) }, 0},
		{"create", func() error { return tab.Commit(t.Context(), table.Create(item("b", "x"))) }, 1},
		{"check", func() error { return tab.Commit(t.Context(), table.Check(item("b", "x"))) }, 1},
		{"replace", func() error { return tab.Commit(t.Context(), table.Replace(item("b", "x"), item("b", "y"))) }, 1},
		{"add", func() error { return tab.Commit(t.Context(), table.Add(item("n", ""), 1, 1)) }, 1},
		{"add to an expired item", func() error { return tab.Commit(t.Context(), table.Add(item("expired", ""), 1, 1)) }, 2},
		{"several", func() error {
			return tab.Commit(t.Context(), table.Set(item("c", "x")), table.Remove(item("b", "").Key))
		}, 1},
	} {
		before := x.faults.Requests()
		require.NoError(t, c.call(), c.name)
		require.Equal(t, c.want, x.faults.Requests()-before, c.name)
	}
}

func drain(items func(func(table.Item, error) bool)) error {
	for _, err := range items {
		if err != nil {
			return err
		}
	}
	return nil
}
