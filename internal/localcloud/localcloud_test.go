package localcloud_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/table"
)

func TestMain(m *testing.M) { os.Exit(cloudtest.Main(m)) }

// TestRun covers that calls can be made with what is printed, over routes, that a note gets its file, that a file which
// somebody puts into the bucket is found, that the janitor is invoked, and that everything ends with the context: also that it can be started again over the same emulators.
func TestRun(t *testing.T) {
	b := awstest.Start(t)
	o := localcloud.Options{Listen: "127.0.0.1:0", Issuer: "127.0.0.1:0", Deployment: localcloud.Deployment{
		Programs: cloudtest.Programs(t), AWS: aws.ToString(b.AWS(t, nil).BaseEndpoint),
		DynamoDB: aws.ToString(b.DynamoDB(nil).BaseEndpoint), Table: b.Table(t), Bucket: b.Bucket(t),
		Queue: b.QueueName(t), JanitorEvery: time.Second,
	}}
	said := &output{}
	o.Output = said
	b.Stream(t, o.Table)
	dust := table.Item{Key: table.Key{Part: "~tenants", Sort: "dust"}, Data: []byte("{")}
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
		issuer, err := lines.ReadString('\n')
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
		requirePersons(t, client.Base, strings.TrimSpace(strings.TrimPrefix(issuer, "ROOKERY_ISSUER=")))
		_, err = files.Put(t.Context(), "tenants/local-cloud/vaults/"+vault+"/notes/by hand/\u00c6 + b.md",
			[]byte("# By hand\n\nwritten outside\n"), blob.Always)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			found, err := client.Invoke(t.Context(), "raven_search", []byte(`{"vault":"`+vault+`","query":"written outside"}`))
			require.NoError(t, err)
			return bytes.Contains(found, []byte("by hand/\u00c6 + b"))
		}, 2*time.Minute, 100*time.Millisecond)
		items := dynamotable.New(b.DynamoDB(nil), o.Table, dynamotable.Options{})
		require.NoError(t, items.Commit(t.Context(), table.Set(dust)))
		require.Eventually(t, func() bool { return said.has("a tenant could not be looked up") }, 2*time.Minute,
			100*time.Millisecond, "the janitor looks at all tenants")
		require.NoError(t, items.Commit(t.Context(), table.Remove(dust.Key)))
		require.False(t, said.has("could not be looked at"), said)
		stop()
		require.NoError(t, <-ended)
		_, err = client.Invoke(t.Context(), "team_vault_list", []byte(`{}`))
		require.Error(t, err)
	}
}

// An output is what functions write, several at the same time.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Contains(o.text.Bytes(), []byte(text))
}

// requirePersons requires that persons with tokens of the issuer may do what the roles in these allow.
func requirePersons(t *testing.T, base, issuer string) {
	t.Helper()
	as := func(query string) *httptool.Client {
		status, token := get(t, issuer+localcloud.TokenPath+"?"+query)
		require.Equal(t, http.StatusOK, status, token)
		return &httptool.Client{Base: base, Token: strings.TrimSpace(token)}
	}
	reader := as("subject=ada")
	answer, err := reader.Invoke(t.Context(), "team_whoami", []byte(`{}`))
	require.NoError(t, err)
	require.Contains(t, string(answer), `"ada"`)
	_, err = reader.Invoke(t.Context(), "team_vault_create", []byte(`{"name":"persons"}`))
	require.Equal(t, fault.PermissionDenied, fault.Of(err).Code)
	admin := as("subject=bob&role=admin")
	_, err = admin.Invoke(t.Context(), "team_vault_create", []byte(`{"name":"persons"}`))
	if err != nil { // it is there from the start before
		require.Equal(t, fault.DuplicateID, fault.Of(err).Code)
	}
	answer, err = reader.Invoke(t.Context(), "team_vault_list", []byte(`{}`))
	require.NoError(t, err)
	require.Contains(t, string(answer), `"persons"`)
}

// get is the status and the body of the answer at a URL.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode, string(data)
}

// TestIssuer covers what an issuer refuses, without emulators: an unsound request, and one that a page of the web may
// have led there.
func TestIssuer(t *testing.T) {
	_, err := localcloud.NewIssuer(t.Context(), "0.0.0.0:0", "https://notes.example.test")
	require.ErrorContains(t, err, "loopback")
	i, err := localcloud.NewIssuer(t.Context(), "127.0.0.1:0", "https://notes.example.test")
	require.NoError(t, err)
	t.Cleanup(i.Close)
	for query, want := range map[string]int{
		"":                         http.StatusBadRequest,
		"?role=admin":              http.StatusBadRequest,
		"?subject=ada&role=owner":  http.StatusBadRequest,
		"?subject=ada":             http.StatusOK,
		"?subject=ada&role=editor": http.StatusOK,
	} {
		status, _ := get(t, i.URL+localcloud.TokenPath+query)
		require.Equal(t, want, status, query)
	}
	status, _ := get(t, strings.Replace(i.URL, "127.0.0.1", "localhost", 1)+localcloud.TokenPath+"?subject=ada")
	require.Equal(t, http.StatusMisdirectedRequest, status)
	_, keys := get(t, i.URL+localcloud.KeysPath)
	require.NotContains(t, keys, `"d"`, "the private key")
}
