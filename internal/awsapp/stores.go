package awsapp

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/table"
)

const (
	// tenantTag is the session tag with the name of the tenant. The policies of the role refer to
	// it.
	tenantTag = "tenant"

	// roleTime is how long credentials of a role are valid: the maximum for a role that another
	// role assumes. They are renewed when less than roleRest is left.
	roleTime = time.Hour
	roleRest = 10 * time.Minute

	maxSessionName = 64   // length of the name of a session in bytes
	maxTenants     = 1000 // number of tenants whose credentials a process keeps
)

// A tenantStores opens the table and the bucket of a deployment with the credentials of a role
// whose session has the tag of one tenant. It is safe for concurrent use. The policies of the role
// allow a session only the keys that begin with the name in its tag, so AWS itself prevents access
// to another tenant, whatever the program does.
type tenantStores struct {
	cfg    aws.Config // of the function
	e      Environment
	table  dynamotable.Options
	bucket s3blob.Options
	erases bool // the buckets can destroy versions of objects
	roles  *sts.Client

	mu        sync.Mutex
	providers map[string]aws.CredentialsProvider // by tenant
}

// newTenantStores returns the stores of the tenants. It sends no request.
func newTenantStores(
	cfg aws.Config, e Environment, t dynamotable.Options, b s3blob.Options,
) *tenantStores {
	return &tenantStores{
		cfg: cfg, e: e, table: t, bucket: b, providers: map[string]aws.CredentialsProvider{},
		roles: sts.NewFromConfig(cfg, func(o *sts.Options) {
			o.Retryer = awsclient.Reads()
			o.APIOptions = append(o.APIOptions, awsclient.Within(roleAttempt))
		}),
	}
}

// roleAttempt is the timeout of one attempt to assume a role.
const roleAttempt = 3 * time.Second

// open returns the stores of one tenant; see Options.Stores. The role is assumed at the first
// request to them, so opening costs nothing and does not fail. The stores of one tenant share their
// credentials.
func (s *tenantStores) open(_ context.Context, tenant string) (table.Table, blob.Bucket, error) {
	cfg := s.cfg
	cfg.Credentials = s.credentials(tenant)
	bucket := s3blob.New(cfg, s.e.Bucket, s.bucket)
	if s.erases {
		return dynamotable.New(cfg, s.e.Table, s.table), s3blob.NewEraser(bucket), nil
	}
	return dynamotable.New(cfg, s.e.Table, s.table), bucket, nil
}

// credentials returns the credentials of a tenant. Concurrent requests share one call of STS. At
// maxTenants all are dropped, and assumed again when they are needed.
func (s *tenantStores) credentials(tenant string) aws.CredentialsProvider {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.providers[tenant]; held != nil {
		return held
	}
	if len(s.providers) >= maxTenants {
		clear(s.providers)
	}
	role := stscreds.NewAssumeRoleProvider(s.roles, s.e.Role, func(o *stscreds.AssumeRoleOptions) {
		name := "rookery-" + tenant
		o.RoleSessionName, o.Duration = name[:min(len(name), maxSessionName)], roleTime
		o.Tags = []ststypes.Tag{{Key: aws.String(tenantTag), Value: aws.String(tenant)}}
	})
	held := aws.NewCredentialsCache(role, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = roleRest })
	s.providers[tenant] = held
	return held
}
