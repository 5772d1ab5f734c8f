package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awsclient"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	settings "github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// instanceURL is the public URL of an instance. It is never resolved, because the instance is
// called in this process.
const instanceURL = "https://notes.example.test"

// An instance is a function in this process.
type instance struct {
	app     *awsapp.App
	handler http.Handler
	token   string
	stores  func() error // closes them
}

// newInstance returns an instance over stores, which closing closes.
func newInstance(t table.Table, b blob.Bucket, closing func() error) (*instance, error) {
	const rate = 1 << 30
	app, err := awsapp.New(awsapp.Options{
		Server: settings.Config{
			PublicURL: instanceURL, Limits: settings.Limits{MutationsPerMinute: rate, ReadsPerMinute: rate},
		},
		Table: t, Bucket: b, Memory: 512 << 20, Version: "bench",
	})
	if err != nil {
		return nil, errors.Join(err, closing())
	}
	return &instance{app: app, handler: app.Handler(), stores: closing}, nil
}

// overFiles returns an instance over file-based stores in a folder.
func overFiles(dir string) (*instance, error) {
	db, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{})
	if err != nil {
		return nil, err
	}
	files, err := fileblob.Open(filepath.Join(dir, "files"))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return newInstance(db, files, func() error { return errors.Join(files.Close(), db.Close()) })
}

// overCloud returns an instance over emulators. Each DynamoDB call is delayed by longer.
func overCloud(d localcloud.Deployment, longer time.Duration) (*instance, error) {
	client := awsclient.NewHTTP(nil)
	slow := aws.HTTPClient(client)
	if longer > 0 {
		slow = delayed{client, longer}
	}
	t := dynamotable.New(d.Config(d.DynamoDB, slow), d.Table, dynamotable.Options{})
	b := s3blob.New(d.Config(d.AWS, client), d.Bucket, s3blob.Options{})
	return newInstance(t, b, func() error { return nil })
}

// A delayed is an HTTP client that waits before each request, to simulate the network of AWS.
type delayed struct {
	next aws.HTTPClient
	wait time.Duration
}

// Do waits, and then sends the request. It implements aws.HTTPClient.
func (d delayed) Do(r *http.Request) (*http.Response, error) {
	time.Sleep(d.wait)
	return d.next.Do(r)
}

// close closes the instance and its stores.
func (a *instance) close() {
	a.app.Close()
	_ = a.stores() // the data is discarded anyway
}

// send sends a request with the token, and returns the status and body of the answer.
func (a *instance) send(ctx context.Context, method, path string, body []byte) (status int, answer string) {
	r := httptest.NewRequestWithContext(ctx, method, instanceURL+path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+a.token)
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// furnish creates the tenant acme with a token, and a vault with some notes.
func (a *instance) furnish(ctx context.Context) error {
	answer, err := a.app.Invoke(ctx,
		[]byte(`{"rookery":"token-create","tenant":"acme","name":"first","role":"admin"}`))
	if err != nil {
		return err
	}
	var made struct{ Token string }
	if err := json.Unmarshal(answer, &made); err != nil {
		return err
	}
	a.token = made.Token
	notes := []in{
		{"path": "inbox.md", "text": "# Inbox\n"},
		{"path": "people/freya.md", "text": "# Freya\n\nShe knows the [[inbox]].\n"},
	}
	for i := range 64 {
		notes = append(notes, in{"path": fmt.Sprintf("inbox-%d.md", i), "text": "# Inbox\n"})
	}
	_, err = a.timed(ctx, "team_vault_create", in{"name": "main"})
	if err == nil {
		_, err = a.timed(ctx, "team_vault_import", in{"vault": "main", "notes": notes})
	}
	return err
}
