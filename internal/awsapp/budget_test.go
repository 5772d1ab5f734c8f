package awsapp_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/awsapp"
	"rookery/internal/awstest"
	"rookery/internal/dynamotable"
	"rookery/internal/s3blob"
)

// A meter is an HTTP client of AWS that counts requests, by operation: of DynamoDB by its name, of S3 by the method.
type meter struct {
	mu   sync.Mutex
	seen map[string]int
}

// Do implements aws.HTTPClient.
func (m *meter) Do(r *http.Request) (*http.Response, error) {
	_, operation, ok := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if !ok {
		if operation = r.Method; r.URL.Query().Has("list-type") {
			operation = "LIST"
		}
	}
	m.mu.Lock()
	m.seen[operation]++
	m.mu.Unlock()
	return http.DefaultClient.Do(r)
}

// reset begins a new count.
func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = map[string]int{}
}

// String is the count, such as "1 PutItem, 1 Query".
func (m *meter) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, operation := range slices.Sorted(maps.Keys(m.seen)) {
		all = append(all, fmt.Sprintf("%d %s", m.seen[operation], operation))
	}
	return strings.Join(all, ", ")
}

// metered is a deployment over emulators whose requests are counted, with the tenant acme. Its vault main has left the
// table but for its newest change.
func metered(t *testing.T) (d *deployment, m *meter, secret string) {
	t.Helper()
	b := awstest.Start(t)
	d, m = &deployment{clock: newClock(), logs: &buffer{}}, &meter{seen: map[string]int{}}
	d.table = dynamotable.New(b.DynamoDB(m), b.Table(t), dynamotable.Options{Now: d.clock.time})
	d.bucket = s3blob.New(b.AWS(t, m), b.Bucket(t), s3blob.Options{Now: d.clock.time})
	a := d.function(t)
	h := through(t, a)
	secret = token(t, a, "acme")
	furnish(t, h, secret)
	call(t, h, secret, "team_vault_import", args{"vault": "main", "notes": []args{
		{"path": "people/freya.md", "text": "# Freya\n\nShe knows the [[inbox]]. @due(2026-12-01)\n"},
		{"path": "schema.yaml", "text": "traits:\n  due:\n    type: date\n"},
	}})
	for range 3 {
		a.Fold(t, "acme", "main")
		d.clock.pass(2 * time.Hour)
	}
	call(t, h, secret, "raven_add", args{"vault": "main", "to": "inbox", "text": "behind the image"})
	d.clock.pass(24 * time.Hour)
	call(t, h, secret, "raven_stats", args{"vault": "main"}) // the rates of its caller are written first
	return d, m, secret
}

// A budget is a call, and the requests that it may make: in a process that is warm, and as the first of one. The first
// also notes that the token is used, which its answer does not wait for, and takes a lease of the rate.
type budget struct {
	tool       string
	args       args
	key        string // the idempotency key
	warm, cold string
}

// start is what the first call of a process reads: of the registry, the tenant, the rate and the vault.
const start = "1 GET, 3 GetItem, 1 PutItem, 2 Query, 1 UpdateItem"

// budgets are calls of each cost that a tool of the product can have (DESIGN §8).
func budgets() []budget {
	random := rand.New(rand.NewPCG(1, 1))
	var large strings.Builder // it does not compress well
	for range 6000 {
		fmt.Fprintf(&large, "%016x ", random.Uint64())
	}
	main := func(more args) args {
		more["vault"] = "main"
		return more
	}
	return []budget{
		{tool: "raven_stats", args: main(args{}), warm: "1 Query", cold: start},
		{tool: "raven_stats", args: args{}, warm: "1 Query", cold: start},
		{tool: "raven_schema", args: main(args{}), warm: "1 Query", cold: start},
		{tool: "vault_overview", args: main(args{}), warm: "1 Query", cold: start},
		{tool: "raven_object_get", args: main(args{"id": "people/freya"}), warm: "1 Query", cold: start},
		{tool: "raven_object_list", args: main(args{"type": "page"}), warm: "1 Query", cold: start},
		{tool: "raven_trait_list", args: main(args{"trait_type": "due"}), warm: "1 Query", cold: start},
		{
			tool: "raven_search", args: main(args{"query": "knows"}),
			warm: "1 Query", cold: "4 GET, 3 GetItem, 1 PutItem, 2 Query, 1 UpdateItem",
		},
		{
			tool: "raven_read", args: main(args{"path": "people/freya.md"}),
			warm: "1 Query", cold: "3 GET, 3 GetItem, 1 PutItem, 2 Query, 1 UpdateItem",
		},
		{
			tool: "raven_add", args: main(args{"to": "inbox", "text": "one more"}),
			warm: "1 PutItem, 1 Query", cold: "1 GET, 3 GetItem, 2 PutItem, 2 Query, 1 UpdateItem",
		},
		{
			tool: "raven_add", args: main(args{"to": "inbox", "text": "keyed"}), key: "k",
			warm: "1 PutItem, 1 Query", cold: "2 GET, 3 GetItem, 2 PutItem, 2 Query, 1 UpdateItem",
		},
		{
			tool: "raven_add", args: main(args{"to": "inbox", "text": large.String()}),
			warm: "1 PUT, 1 PutItem, 1 Query",
		},
		{tool: "team_whoami", args: args{}, warm: "", cold: "2 GetItem, 1 PutItem, 1 Query, 1 UpdateItem"},
		{tool: "team_vault_list", args: args{}, warm: "2 Query"},
	}
}

// spent is what a call costs that must succeed.
func (b budget) spent(t *testing.T, m *meter, a *awsapp.App, secret string) string {
	t.Helper()
	m.reset()
	r := asked(http.MethodPost, "/v1/tools/"+b.tool, secret, string(marshalled(t, b.args)))
	if b.key != "" {
		r.Header.Set("Idempotency-Key", b.key)
	}
	w := awsapp.Recorded(through(t, a), r)
	require.Equal(t, http.StatusOK, w.Code, "%s: %s", b.tool, w.Body)
	require.True(t, a.Waits(10*time.Second))
	return m.String()
}

// TestBudgets covers what calls of a warm process cost, counted where the SDK sends them.
func TestBudgets(t *testing.T) {
	d, m, secret := metered(t)
	for i, b := range budgets() {
		a := d.function(t)
		h := through(t, a)
		inMain := args{"vault": "main"}
		for _, warm := range []budget{
			{tool: "raven_stats", args: inMain}, {tool: "team_vault_export", args: inMain},
			{tool: "raven_search", args: args{"vault": "main", "query": "knows"}},
			{tool: "raven_add", args: args{
				"vault": "main", "to": "inbox", "text": "warm", "idempotency_key": fmt.Sprint("warm", i),
			}},
		} {
			call(t, h, secret, warm.tool, warm.args)
		}
		require.Equal(t, b.warm, b.spent(t, m, a, secret), "%s %.100v", b.tool, b.args)
	}
}

// TestColdBudgets covers what the first call of a process costs: seven requests of the reads of a vault, and the note
// of the token's use.
func TestColdBudgets(t *testing.T) {
	d, m, secret := metered(t)
	for _, b := range budgets() {
		if b.cold != "" {
			require.Equal(t, b.cold, b.spent(t, m, d.function(t), secret), "%s %.100v", b.tool, b.args)
		}
	}
}
