package infra_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

var update = flag.Bool("update", false, "write what is generated")

func TestMain(m *testing.M) { os.Exit(cloudtest.Main(m)) }

const callsFile = "testdata/calls.json"

// TestCalls deploys all functions over emulators with the roles of the template, tells them a story, and requires
// that every call of AWS is allowed. With -update it adds them to testdata/calls.json, from which TestPolicies and
// TestNarrow prove more without emulators.
func TestCalls(t *testing.T) {
	b := awstest.Start(t)
	tpl := template(t)
	r := newRecorder(t)
	d := localcloud.Deployment{
		Programs: cloudtest.Programs(t), AWS: aws.ToString(b.AWS(t, nil).BaseEndpoint),
		DynamoDB: aws.ToString(b.DynamoDB(nil).BaseEndpoint), Table: b.Table(t), Bucket: b.Bucket(t),
		Queue: b.QueueName(t), JanitorEvery: 5 * time.Second,
		Own: func(function string) []string {
			role := tpl.Resources[functionOf(function)].Properties["Environment"]
			arn := role.(map[string]any)["Variables"].(map[string]any)["ROOKERY_TENANT_ROLE"]
			return []string{"ROOKERY_TENANT_ROLE=" + fmt.Sprint(arn)}
		},
	}
	b.Stream(t, d.Table)
	require.NoError(t, localcloud.MakeStores(t.Context(), d))
	real := d
	own := d.Own
	d.Own = func(function string) []string {
		return append(own(function), "AWS_ENDPOINT_URL="+r.serve(function, real.AWS),
			"AWS_ENDPOINT_URL_DYNAMODB="+r.serve(function, real.DynamoDB))
	}
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	issuer, err := localcloud.NewIssuer(t.Context(), "127.0.0.1:0", base)
	require.NoError(t, err)
	t.Cleanup(issuer.Close)
	d.Env = []string{"ROOKERY_ISSUERS=" + issuers(t, issuer)}
	functions, err := localcloud.Start(t.Context(), d, base)
	require.NoError(t, err)
	end := sync.OnceFunc(functions.Close)
	t.Cleanup(end)
	server.Config.Handler = functions
	server.Start()
	t.Cleanup(server.Close)

	s := &story{
		t: t, base: base, issuer: issuer, functions: functions,
		files: s3blob.New(b.AWS(t, nil), d.Bucket, s3blob.Options{}),
	}
	s.tell(s.token("acme"))
	s.erase()
	end()
	(&later{t: t, r: r, d: real}).tell()

	known := recorded(t)
	if *update {
		known = append(known, r.all()...)
		slices.SortFunc(known, compareCalls)
		write(t, slices.Compact(known))
		return
	}
	for _, c := range r.all() { // what functions meet by chance, such as a conflict, differs between runs
		require.True(t, allows(t, tpl, c), "%+v", c)
		if !slices.Contains(known, c) {
			t.Logf("not recorded: %+v; go test ./infra -run TestCalls -update adds it", c)
		}
	}
}

// functionOf is the logical id of a function.
func functionOf(name string) string { return strings.ToUpper(name[:1]) + name[1:] + "Function" }

// families are the functions that answer requests, with a tool that each has a route for.
var families = map[string]string{
	"notes": "notes_list", "raven": "raven_stats", "orient": "vault_overview", "memory": "memory_list",
	"team": "team_whoami", "tree": "tree_list_children",
}

// issuers are the issuers of the functions: for each, one whose tenant is made with the first token.
func issuers(t *testing.T, i *localcloud.Issuer) string {
	var all []map[string]any
	for family := range families {
		all = append(all, map[string]any{
			"issuer": i.URL, "jwks_url": i.URL + localcloud.KeysPath, "algorithms": []string{"RS256"},
			"tenant": "acme-" + family, "roles_claim": "roles", "claims": map[string]string{"family": family},
		})
	}
	data, err := json.Marshal(all)
	require.NoError(t, err)
	return string(data)
}

// A story is what the functions are told while their calls are recorded.
type story struct {
	t      *testing.T
	base   string
	issuer *localcloud.Issuer
	files  *s3blob.Bucket
	client *httptool.Client

	functions *localcloud.Functions
}

// token makes a token of an administrator, and the tenant.
func (s *story) token(tenant string) string {
	s.t.Helper()
	token, err := s.functions.Token(s.t.Context(), tenant)
	require.NoError(s.t, err)
	return token
}

// signed makes a token of the issuer for the administrator of the tenant of a family.
func (s *story) signed(family string) string {
	s.t.Helper()
	token, err := s.issuer.Token(map[string]any{"sub": "ada", "family": family, "roles": map[string]any{"*": "admin"}})
	require.NoError(s.t, err)
	return token
}

func (s *story) call(name, args string) string {
	s.t.Helper()
	answer, err := s.client.Invoke(s.t.Context(), name, json.RawMessage(args))
	require.NoError(s.t, err, "%s: %s", name, answer)
	return string(answer)
}

// try makes a call that may be refused.
func (s *story) try(name, args string) {
	_, err := s.client.Invoke(s.t.Context(), name, json.RawMessage(args))
	s.t.Logf("%s: %v", name, err)
}

// routes makes calls over the routes of all families with a token.
func (s *story) routes(token string, calls [][2]string) {
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{})
	require.NoError(s.t, err)
	way := tooltest.RoutesOver(&http.Client{Transport: cloudtest.Bearer(token)}, cat, s.base)
	for _, c := range calls {
		answer, ok := way.Call(s.t, tooltest.NewCall(s.t, c[0], c[1]))
		s.t.Logf("%s over its route: %v %.120s", c[0], ok, answer)
	}
}

// until waits until a file of the tenant is there.
func (s *story) until(key string, there bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		_, _, err := s.files.Get(s.t.Context(), "tenants/acme/"+key, 0, 0)
		return (err == nil) == there
	}, 4*time.Minute, 200*time.Millisecond, key)
}

// memoryLine is a line of a file of memories, as a value of JSON.
const memoryLine = `"{\"id\":\"mem_a\",\"created_at\":1705363200,\"intent\":{\"goal\":\"again\",` +
	`\"task_type\":\"other\"},\"outcome\":{\"success\":true,\"summary\":\"it is\"}}"`

// tell tells the story to a tenant whose administrator has a token.
func (s *story) tell(token string) {
	ctx := context.Background()
	s.client = &httptool.Client{Base: s.base, Token: token}
	s.call("team_vault_create", `{"name":"main"}`)
	s.call("team_vault_create", `{"name":"spare"}`)
	long := make([]byte, 300<<10) // what it makes is too much for an item, also if it is compressed
	_, _ = rand.Read(long)
	text, err := json.Marshal(hex.EncodeToString(long))
	require.NoError(s.t, err)
	for _, vault := range []string{"main", "spare"} {
		s.call("raven_new", `{"vault":"`+vault+`","type":"page","title":"One","path":"one"}`)
		s.call("raven_new", `{"vault":"`+vault+`","type":"page","title":"Two","path":"two"}`)
	}
	s.routes(token, [][2]string{
		{"notes_list", `{"vault":"main"}`},
		{"notes_write", `{"vault":"main","path":"notes/long.md","content":` + string(text) + `}`},
		{"raven_add", `{"vault":"main","to":"one","text":` + string(text) + `}`},
		{"raven_add", `{"vault":"main","to":"one","text":"again"}`},
		{"raven_read", `{"vault":"main","path":"one"}`},
		{"raven_history", `{"vault":"main","id":"one"}`},
		{"raven_search", `{"vault":"main","query":"again"}`},
		{"raven_stats", `{"vault":"main"}`},
		{"raven_delete", `{"vault":"main","id":"nowhere"}`},
		{"memory_store", `{"vault":"main","intent":{"goal":"again","task_type":"other"},"outcome":` +
			`{"success":true,"summary":` + string(text)[:len(text)/10] + `"},"key":"one"}`},
		{"memory_recall", `{"vault":"main","query":"again","depth":"complete"}`},
		{"memory_import", `{"vault":"main","files":[{"path":"m.jsonl","content":` + memoryLine + `}]}`},
		{"memory_update_memory", `{"vault":"main","memory_id":"mem_a","tags":["changed"]}`},
		{"memory_check_file", `{"vault":"main","file":"a.ts"}`},
		{"memory_export", `{"vault":"main"}`},
		{"memory_history", `{"vault":"main","memory_id":"mem_a"}`},
		{"memory_delete_memory", `{"vault":"main","memory_id":"mem_a","erase":true}`},
		{"notes_import", `{"vault":"main","type":"markdown","files":[{"path":"plan.md","content":"# Plan"}]}`},
		{"notes_export", `{"vault":"main"}`},
		{"raven_query", `{"vault":"main","query":"object:page"}`},
		{"raven_query_save", `{"vault":"main","name":"pages","query":"object:page"}`},
		{"raven_query_list", `{"vault":"main"}`},
		{"raven_move", `{"vault":"main","source":"two","destination":"moved/two"}`},
		{"raven_move", `{"vault":"main","source":"moved/two","destination":"two"}`},
		{"raven_batch", `{"vault":"main","operations":[{"op":"create","entity":"object",` +
			`"data":{"type":"page","path":"batched"}}],"options":{"atomic":true}}`},
		{"tree_get_subtree", `{"vault":"main","nodeId":"/"}`},
		{"tree_tag_node", `{"vault":"main","nodeId":"nowhere","tags":["x"],"versionToken":"v1"}`},
		{"tree_expand_node", `{"vault":"main","nodeId":"nowhere","versionToken":"v1"}`},
		{"vault_overview", `{"vault":"main"}`},
		{"vault_status", `{"vault":"main"}`},
		{"team_audit", `{}`},
		{"team_audit_verify", `{"vault":"main"}`},
		{"team_usage", `{}`},
		{"team_token_create", `{"name":"second","role":"reader"}`},
		{"team_vault_create", `{"name":"third"}`},
		{"team_vault_export", `{"vault":"main"}`},
		{"team_vault_delete", `{"name":"third"}`},
		{"raven_reindex", `{"vault":"main","full":true}`},
	})
	for family, name := range families { // each makes a tenant
		s.routes(s.signed(family), [][2]string{{name, `{"vault":"main"}`}, {name, `{}`}})
	}
	s.try("raven_delete", `{"vault":"main","id":"nowhere"}`)
	s.until("vaults/main/notes/one.md", true)
	_, err = s.files.Put(ctx, "tenants/acme/vaults/main/notes/by hand.md", []byte("# By hand\n\noutside\n"), blob.Always)
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool {
		return strings.Contains(s.call("raven_search", `{"vault":"main","query":"outside"}`), "by hand")
	}, 3*time.Minute, 500*time.Millisecond)
	s.call("raven_delete", `{"vault":"main","id":"two"}`)
	s.until("vaults/main/notes/two.md", false)
	s.until("vaults/main/notes/.raven/audit.log", true)
	s.try("raven_delete", `{"vault":"main","id":"one","erase":true}`)
	s.try("team_vault_delete", `{"name":"spare"}`)
	s.try("team_vault_erase", `{"name":"spare","confirm":"spare"}`)
	s.until("vaults/spare/notes/one.md", false)
	s.until("vaults/main/notes/one.md", false)
}

// erase erases tenants, and makes each again by its next call, over the routes of its family or as an operator.
func (s *story) erase() {
	for family, name := range families {
		tenant := "acme-" + family
		s.routes(s.signed(family), [][2]string{{"team_tenant_erase", `{"confirm":"` + tenant + `"}`}})
		again := [2]string{name, `{"vault":"main"}`}
		s.routes(s.signed(family), [][2]string{again, again, {name, `{}`}}) // the first finds it erased
	}
	s.client = &httptool.Client{Base: s.base, Token: s.token("acme-mcp")}
	s.call("team_tenant_erase", `{"confirm":"acme-mcp"}`)
	s.token("acme-mcp")
}

// write writes the calls.
func write(t *testing.T, all []call) {
	t.Helper()
	var out strings.Builder
	out.WriteString("[")
	for n, c := range all {
		line, err := json.Marshal(c)
		require.NoError(t, err)
		if n > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n" + string(line))
	}
	out.WriteString("\n]\n")
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(callsFile, []byte(out.String()), 0o644))
}

// recorded are the calls of the golden file.
func recorded(t *testing.T) []call {
	t.Helper()
	data, err := os.ReadFile(callsFile)
	if *update && os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var all []call
	require.NoError(t, json.Unmarshal(data, &all))
	return all
}

// template is the template of this tree.
func template(t *testing.T) *Template {
	t.Helper()
	return templateWith(t, nil)
}

// templateWith is the template with these parameters in the place of their defaults.
func templateWith(t *testing.T, parameters map[string]string) *Template {
	t.Helper()
	text, err := os.ReadFile("../template.yaml")
	require.NoError(t, err)
	made, err := Parse(text, parameters)
	require.NoError(t, err)
	return made
}
