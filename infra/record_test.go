package infra_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call is a call of AWS that a function made, as policies see it.
type call struct {
	function string // that made it
	Role     string `json:"role"`             // that signed it
	Tenant   string `json:"tenant,omitempty"` // the tag of its session
	Action   string `json:"action"`
	Resource string `json:"resource"` // below the resource of the template it is a name, such as Bucket/tenants/acme/x
	Key      string `json:"key,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
}

// request is the call as the evaluator takes it.
func (c call) request() Request {
	r := Request{Action: c.Action, Resource: "arn:" + c.Resource, Context: map[string][]string{}}
	if c.Tenant != "" {
		r.Tags = map[string]string{"tenant": c.Tenant}
	}
	if c.Key != "" {
		r.Context["dynamodb:LeadingKeys"] = []string{c.Key}
	}
	if c.Prefix != "" {
		r.Context["s3:prefix"] = []string{c.Prefix}
	}
	return r
}

func compareCalls(a, b call) int {
	return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Tenant, b.Tenant),
		cmp.Compare(a.Action, b.Action), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.Prefix, b.Prefix))
}

// A recorder is between functions and their emulators. It stands in for STS, so that each request tells by its
// signature which role made it.
type recorder struct {
	t *testing.T

	mu       sync.Mutex
	calls    map[call]bool
	sessions map[string]session // by the id of a key
}

// A session is that of a role for a tenant.
type session struct{ role, tenant string }

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, calls: map[call]bool{}, sessions: map[string]session{}}
}

// serve starts a proxy to a store for one function, and returns its URL.
func (r *recorder) serve(function, store string) string {
	to, err := url.Parse(store)
	require.NoError(r.t, err)
	forward := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		if err != nil {
			return // it was cut off
		}
		in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		id := signer(in)
		by := call{function: function, Role: roleOf(function)}
		if s, ok := r.session(id); ok {
			by.Role, by.Tenant = s.role, s.tenant
		}
		if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") == "AssumeRole" {
			r.assume(w, by, form)
			return
		}
		r.record(by, in, body)
		in.Header.Set("Authorization", strings.Replace(in.Header.Get("Authorization"), "="+id+"/", "=test/", 1))
		in.Header.Del("X-Amz-Security-Token")
		forward.ServeHTTP(w, in)
	}))
	r.t.Cleanup(server.Close)
	return server.URL
}

// roleOf is the role of a function in the template.
func roleOf(function string) string { return strings.ToUpper(function[:1]) + function[1:] + "Role" }

var credential = regexp.MustCompile(`Credential=([^/]+)/`)

// signer is the id of the key that signed a request.
func signer(r *http.Request) string {
	found := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if found == nil {
		return ""
	}
	return found[1]
}

// know makes a key that of a session.
func (r *recorder) know(id string, s session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions[id] = s
}

func (r *recorder) session(id string) (session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sessions[id]
	return s, ok
}

// assume answers as STS does.
func (r *recorder) assume(w http.ResponseWriter, by call, form url.Values) {
	role := strings.TrimPrefix(form.Get("RoleArn"), "arn:")
	s := session{role, form.Get("Tags.member.1.Value")}
	for _, action := range []string{"sts:AssumeRole", "sts:TagSession"} {
		c := by
		c.Action, c.Resource = action, role
		r.add(c)
	}
	r.mu.Lock()
	id := fmt.Sprintf("ASSUMED%d", len(r.sessions))
	r.sessions[id] = s
	r.mu.Unlock()
	fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>%s</AccessKeyId>`+
		`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration>`+
		`</Credentials></AssumeRoleResult></AssumeRoleResponse>`,
		id, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// add notes a call. What differs between calls of one kind is taken out of its names: which function it was, which tenant,
// and which vault.
func (r *recorder) add(c call) {
	c.Key, c.Prefix, c.Resource = plain(c.Key, 1), plain(c.Prefix, 2), plain(c.Resource, 3)
	c = c.ofAcme()
	c.function = ""
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[c] = true
}

// ofAcme is the call of a tenant as that of the tenant acme. What it says of others stays.
func (c call) ofAcme() call {
	of := func(name, before string) string {
		rest, ok := strings.CutPrefix(name, before+c.Tenant)
		if !ok || rest != "" && rest[0] != '/' {
			return name
		}
		return before + "acme" + rest
	}
	if c.Tenant != "" {
		c.Key, c.Prefix, c.Resource = of(c.Key, ""), of(c.Prefix, "tenants/"), of(c.Resource, "Bucket/tenants/")
		c.Tenant = "acme"
	}
	return c
}

// plain is a name whose parts behind the first n are one x.
func plain(name string, n int) string {
	parts := strings.SplitN(name, "/", n+1)
	if len(parts) > n {
		parts[n] = "x"
	}
	return strings.Join(parts, "/")
}

// all are the calls, in order.
func (r *recorder) all() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []call
	for c := range r.calls {
		all = append(all, c)
	}
	slices.SortFunc(all, compareCalls)
	return all
}

// record notes the calls that a request makes.
func (r *recorder) record(by call, in *http.Request, body []byte) {
	service, operation, _ := strings.Cut(in.Header.Get("X-Amz-Target"), ".")
	switch {
	case strings.HasPrefix(service, "DynamoDB"):
		by.Resource = "Table"
		r.dynamodb(by, operation, body)
	case service == "AmazonSQS":
		by.Action, by.Resource = "sqs:"+operation, r.queue(by.function, body)
		r.add(by)
	default:
		r.s3(by, in, body)
	}
}

// queue is the logical id of the queue of a request.
func (r *recorder) queue(function string, body []byte) string {
	var in struct{ QueueUrl string }
	require.NoError(r.t, json.Unmarshal(body, &in))
	switch {
	case strings.HasSuffix(in.QueueUrl, "-events"):
		return "EventsQueue"
	case strings.HasSuffix(in.QueueUrl, "-dead-letters") && function == "ingest":
		return "EventsDeadLetters"
	case strings.HasSuffix(in.QueueUrl, "-dead-letters"):
		return "JobsDeadLetters"
	}
	return "JobsQueue"
}

// An operation is one of DynamoDB, or of a transaction.
type operation struct {
	Key, Item, ExpressionAttributeValues map[string]json.RawMessage
}

// part is the partition key of an operation.
func (o operation) part() string {
	for _, raw := range []json.RawMessage{o.Key["p"], o.Item["p"], o.ExpressionAttributeValues[":p"]} {
		var a struct{ S string }
		if json.Unmarshal(raw, &a) == nil && a.S != "" {
			return a.S
		}
	}
	return ""
}

func (r *recorder) dynamodb(by call, name string, body []byte) {
	var in struct {
		operation
		TransactItems []map[string]operation
	}
	require.NoError(r.t, json.Unmarshal(body, &in))
	add := func(action string, o operation) {
		by.Action, by.Key = "dynamodb:"+action, o.part()
		require.NotEmpty(r.t, by.Key, name)
		r.add(by)
	}
	if name != "TransactWriteItems" {
		add(name, in.operation)
		return
	}
	actions := map[string]string{
		"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
	}
	for _, item := range in.TransactItems {
		for kind, o := range item {
			add(actions[kind], o)
		}
	}
}

func (r *recorder) s3(by call, in *http.Request, body []byte) {
	_, key, _ := strings.Cut(strings.TrimPrefix(in.URL.Path, "/"), "/")
	query := in.URL.Query()
	on := func(action, key string) {
		by.Action, by.Resource = "s3:"+action, "Bucket"
		if key != "" {
			by.Resource += "/" + key
		}
		r.add(by)
	}
	version := ""
	if query.Has("versionId") {
		version = "Version"
	}
	switch {
	case key == "" && in.Method == http.MethodGet:
		by.Prefix = query.Get("prefix")
		if query.Has("versions") {
			on("ListBucketVersions", "")
		} else {
			on("ListBucket", "")
		}
	case key == "" && in.Method == http.MethodPost && query.Has("delete"):
		var in struct {
			Object []struct{ Key, VersionId string }
		}
		require.NoError(r.t, xml.Unmarshal(body, &in))
		for _, o := range in.Object {
			if o.VersionId != "" {
				on("DeleteObjectVersion", o.Key)
			} else {
				on("DeleteObject", o.Key)
			}
		}
	case in.Method == http.MethodGet || in.Method == http.MethodHead:
		on("GetObject"+version, key)
	case in.Method == http.MethodDelete && query.Has("uploadId"):
		on("AbortMultipartUpload", key)
	case in.Method == http.MethodDelete:
		on("DeleteObject"+version, key)
	case in.Method == http.MethodPut || in.Method == http.MethodPost:
		on("PutObject", key)
		if in.Header.Get("X-Amz-Copy-Source") != "" || in.Header.Get("If-Match") != "" { // it tells of the object
			on("GetObject", key)
		}
	default:
		r.t.Errorf("%s %s is not known", in.Method, in.URL.RawQuery)
	}
}
