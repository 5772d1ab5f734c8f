package s3blob_test

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
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/s3blob"
)

// A refusing is a store that answers every request with one error.
type refusing struct {
	status int
	code   string
}

// Do implements aws.HTTPClient.
func (s refusing) Do(r *http.Request) (*http.Response, error) {
	body := "<Error><Code>" + s.code + "</Code><Message>secret text</Message><Key>secret-key</Key></Error>"
	if r.Method == http.MethodHead {
		body = ""
	}
	return &http.Response{
		StatusCode: s.status, Request: r, Header: http.Header{"Content-Type": {"application/xml"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// TestDeployment checks stores with faulty configurations: the log says why, once a minute, and
// neither the log nor an error contains a key or a text of S3.
func TestDeployment(t *testing.T) {
	for _, c := range []struct {
		refusing
		want string
	}{
		{refusing{403, "AccessDenied"}, "403: is s3:ListBucket allowed?"},
		{refusing{404, "NoSuchBucket"}, "the bucket is not there"},
		{refusing{301, "PermanentRedirect"}, "the bucket is in another region"},
		{refusing{403, "InvalidAccessKeyId"}, "the credentials are not known"},
	} {
		now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
		var log bytes.Buffer
		b := s3blob.New(aws.Config{
			Region: "us-east-1", HTTPClient: c.refusing,
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		}, "bucket", s3blob.Options{
			Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		calls := []func() error{
			func() error { _, _, err := b.Get(t.Context(), "secret-key", 0, -1); return err },
			func() error { _, err := b.Put(t.Context(), "secret-key", []byte("x"), blob.Always); return err },
			func() error { return b.Delete(t.Context(), "secret-key") },
			func() error {
				for _, err := range b.List(t.Context(), "secret-key") {
					return err
				}
				return nil
			},
		}
		for range 2 {
			for _, call := range calls {
				err := call()
				require.ErrorContains(t, err, c.want)
				require.NotErrorIs(t, err, blob.ErrNotExist)
				require.NotErrorIs(t, err, blob.ErrCondition)
				require.NotContains(t, err.Error(), "secret")
			}
			now = now.Add(time.Minute)
		}
		require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
		require.Contains(t, log.String(), c.want)
		require.NotContains(t, log.String(), "secret")
	}
}

// A mute is a store that does not answer.
type mute struct{}

// Do implements aws.HTTPClient.
func (mute) Do(r *http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

func TestNoAnswer(t *testing.T) {
	b := s3blob.New(aws.Config{
		Region: "us-east-1", HTTPClient: mute{},
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, "bucket", s3blob.Options{})
	_, _, err := b.Get(t.Context(), "secret-key", 0, -1)
	require.EqualError(t, err, "get an object: no answer from S3")
	require.EqualError(t, b.Delete(t.Context(), "secret-key"), "delete an object: no answer from S3")
}
