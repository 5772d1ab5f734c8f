package localcloud_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"rookery/internal/awstest"
	"rookery/internal/blob"
	"rookery/internal/cloudtest"
	"rookery/internal/httptool"
	"rookery/internal/localcloud"
	"rookery/internal/s3blob"
)

func TestMain(m *testing.M) { os.Exit(cloudtest.Main(m)) }

// TestRun covers that calls can be made with what is printed, over routes, that a note gets its file, that a file which
// somebody puts into the bucket is found, and that everything ends with the context: also that it can be started again over the same emulators.
func TestRun(t *testing.T) {
	b := awstest.Start(t)
	o := localcloud.Options{Listen: "127.0.0.1:0", Deployment: localcloud.Deployment{
		Programs: cloudtest.Programs(t), AWS: aws.ToString(b.AWS(t, nil).BaseEndpoint),
		DynamoDB: aws.ToString(b.DynamoDB(nil).BaseEndpoint), Table: b.Table(t), Bucket: b.Bucket(t),
		Queue: b.QueueName(t),
	}}
	b.Stream(t, o.Table)
	files := s3blob.New(b.AWS(t, nil), o.Bucket, s3blob.Options{})
	for _, vault := range []string{"one", "two"} {
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- localcloud.Run(ctx, o, in) }()
		lines := bufio.NewReader(out)
		server, err := lines.ReadString('\n')
		require.NoError(t, err)
		token, err := lines.ReadString('\n')
		require.NoError(t, err)
		client := &httptool.Client{
			Base:  strings.TrimSpace(strings.TrimPrefix(server, "ROOKERY_SERVER=")),
			Token: strings.TrimSpace(strings.TrimPrefix(token, "ROOKERY_TOKEN=")),
		}
		_, err = client.Invoke(t.Context(), "team_vault_list", []byte(`{}`))
		require.NoError(t, err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, client.Base+"/v1/vaults", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+client.Token)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		_, err = client.Invoke(t.Context(), "team_vault_create", []byte(`{"name":"`+vault+`"}`))
		require.NoError(t, err)
		_, err = client.Invoke(t.Context(), "raven_new", []byte(`{"vault":"`+vault+`","type":"page","title":"One","path":"one"}`))
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			_, _, err := files.Get(t.Context(), "tenants/local-cloud/vaults/"+vault+"/notes/one.md", 0, 0)
			return err == nil
		}, 2*time.Minute, 100*time.Millisecond)
		_, err = files.Put(t.Context(), "tenants/local-cloud/vaults/"+vault+"/notes/by hand/\u00c6 + b.md",
			[]byte("# By hand\n\nwritten outside\n"), blob.Always)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			found, err := client.Invoke(t.Context(), "raven_search", []byte(`{"vault":"`+vault+`","query":"written outside"}`))
			require.NoError(t, err)
			return bytes.Contains(found, []byte("by hand/\u00c6 + b"))
		}, 2*time.Minute, 100*time.Millisecond)
		stop()
		require.NoError(t, <-ended)
		_, err = client.Invoke(t.Context(), "team_vault_list", []byte(`{}`))
		require.Error(t, err)
	}
}
