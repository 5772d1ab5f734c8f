package awsapp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestTenantStores checks that each tenant has its own credentials, that they are requested once
// while they are valid, however many requests run concurrently, and that requests are signed with
// them.
func TestTenantStores(t *testing.T) {
	var mu sync.Mutex
	assumed := map[string]int{}
	life := time.Hour
	signers := map[string]int{}
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("X-Amz-Target") != "" {
			_, key, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
			key, _, _ = strings.Cut(key, "/")
			signers[key]++
			_, _ = w.Write([]byte(`{}`))
			return
		}
		require.Equal(t, "AssumeRole", r.FormValue("Action"))
		require.Equal(t, "arn:aws:iam::000000000000:role/tenant", r.FormValue("RoleArn"))
		require.Equal(t, "tenant", r.FormValue("Tags.member.1.Key"))
		require.Equal(t, "3600", r.FormValue("DurationSeconds"))
		tenant := r.FormValue("Tags.member.1.Value")
		assumed[tenant]++
		fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>KEY%s</AccessKeyId>`+
			`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration>`+
			`</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
			tenant, time.Now().Add(life).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(store.Close)
	cfg := aws.Config{
		Region: "us-east-1", BaseEndpoint: &store.URL,
		Credentials: credentials.NewStaticCredentialsProvider("OWN", "s", ""),
	}
	s := newTenantStores(cfg, Environment{
		Table: "t", Bucket: "b", Role: "arn:aws:iam::000000000000:role/tenant",
	}, dynamotable.Options{}, s3blob.Options{})
	get := func(tenant string) {
		items, _, err := s.open(t.Context(), tenant)
		require.NoError(t, err)
		_, err = items.Get(t.Context(), table.Key{Part: tenant, Sort: "~"})
		require.ErrorIs(t, err, table.ErrNotFound)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { get("acme") })
	}
	all.Wait()
	get("heron")
	require.Equal(t, map[string]int{"acme": 1, "heron": 1}, assumed)
	require.Equal(t, map[string]int{"KEYacme": 8, "KEYheron": 1}, signers)

	life = roleRest - time.Second // too little time is left: they are renewed with each request
	get("wren")
	get("wren")
	require.Equal(t, 2, assumed["wren"])

	for n := range maxTenants {
		_, _, err := s.open(t.Context(), fmt.Sprintf("t%d", n))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(s.providers), maxTenants)
	_, bucket, err := s.open(t.Context(), "acme")
	require.NoError(t, err)
	require.IsType(t, &s3blob.Bucket{}, bucket)
	s.erases = true
	_, bucket, err = s.open(t.Context(), "acme")
	require.NoError(t, err)
	require.IsType(t, s3blob.Eraser{}, bucket)
	_, _, err = s.open(t.Context(), strings.Repeat("x", 80))
	require.NoError(t, err)
}
