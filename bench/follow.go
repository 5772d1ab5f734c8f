package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/rookeryhq/rookery/internal/awsapp"
	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/blob"
	settings "github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
)

// A following is the cost and the delay of the work that follows a commit in the cloud.
type following struct {
	Steps  []counted // of one write, in the order of execution
	Files  counted   // of manyCommits
	Synced []counted // of manyObjects: noticed, and ingested
	ToFile link      // from the answer of a write until its object exists
	Image  time.Duration
}

// A requests counts the requests of some work, by operation.
type requests = awstest.Count

// A counted is some work, with its requests and its duration.
type counted struct {
	Name string
	requests
	Took time.Duration
}

const (
	manyCommits = 1000
	manyObjects = 5000
	eventBatch  = 1000 // messages of one event
	lags        = 20   // number of writes whose objects are awaited
	imageAfter  = 500  // commits after which an image is due
	lagPatience = 5 * time.Minute
	putters     = 16
)

// A flow runs the functions behind the stream and the queues in this process, and counts their
// requests.
type flow struct {
	*instance
	meter  *awstest.Meter
	table  table.Table
	notes  blob.Bucket
	stream *awsapp.Stream
	ingest *awsapp.Ingest
	worker *awsapp.Worker
}

// newFlow returns a flow over new stores, with one vault.
func newFlow(ctx context.Context) (*flow, error) {
	d, err := emulatedWith(ctx, func(d *localcloud.Deployment) { d.Queue = d.Table })
	if err != nil {
		return nil, err
	}
	f := &flow{meter: &awstest.Meter{}}
	out, err := sqs.NewFromConfig(d.Config(d.AWS, nil)).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &d.Queue})
	if err != nil {
		return nil, fmt.Errorf("look for a queue: %w", err)
	}
	queue := sqsqueue.New(d.Config(d.AWS, f.meter), aws.ToString(out.QueueUrl), sqsqueue.Options{})
	f.table = dynamotable.New(d.Config(d.DynamoDB, f.meter), d.Table, dynamotable.Options{})
	bucket := s3blob.New(d.Config(d.AWS, f.meter), d.Bucket, s3blob.Options{})
	f.notes = blob.Sub(bucket, "tenants/acme/vaults/main/notes")
	o := awsapp.Options{
		Server: settings.Config{
			PublicURL: instanceURL, Limits: settings.Limits{MutationsPerMinute: 1 << 30, ReadsPerMinute: 1 << 30},
		},
		Table: f.table, Bucket: bucket, Queue: queue, Memory: 512 << 20, Version: "bench",
	}
	app, err := awsapp.New(o)
	if err != nil {
		return nil, err
	}
	f.instance = &instance{app: app, handler: app.Handler(), stores: func() error { return nil }}
	f.stream, f.ingest, f.worker = awsapp.NewStream(o), awsapp.NewIngest(o, nil), awsapp.NewWorker(o, queue)
	return f, f.furnish(ctx)
}

// end closes the functions.
func (f *flow) end() {
	f.stream.Close()
	f.ingest.Close()
	f.worker.Close()
	f.close()
}

// count runs do and returns its requests and its duration.
func (f *flow) count(name string, do func() error) (counted, error) {
	f.meter.Reset()
	begun := time.Now()
	err := do()
	return counted{name, f.meter.Count(), time.Since(begun)}, err
}

// An answered is the answer of a function to an event with records or messages.
type answered struct {
	Failures []json.RawMessage `json:"batchItemFailures"`
}

// invoked sends an event to a function. It returns an error if any item of the batch failed.
func invoked(ctx context.Context, f interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}, event in) error {
	payload, err := json.Marshal(event)
	if err != nil {
		return err
	}
	answer, err := f.Invoke(ctx, payload)
	if err != nil {
		return err
	}
	var a answered
	if err := json.Unmarshal(answer, &a); err != nil {
		return err
	}
	if len(a.Failures) > 0 {
		return errors.New("a function could not do its work")
	}
	return nil
}

// recorded returns the event of the stream for the run that begins with a commit.
func recorded(seq uint64) in {
	return in{"Records": []in{{"eventName": "INSERT", "dynamodb": in{
		"SequenceNumber": "1",
		"Keys":           in{"p": in{"S": "acme/main/1"}, "s": in{"S": fmt.Sprintf("log/%012d", seq)}},
	}}}}
}

// changedObjects returns the event of the bucket's queue for objects that were put.
func changedObjects(paths ...string) in {
	var all []in
	for i, path := range paths {
		body, _ := json.Marshal(in{"Records": []in{{ // maps of strings always marshal
			"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
			"eventTime": time.Now().UTC().Format(time.RFC3339Nano),
			"s3": in{"bucket": in{"name": "b"}, "object": in{
				"key": url.QueryEscape("tenants/acme/vaults/main/notes/" + path), "size": 1, "sequencer": "0A",
			}},
		}}})
		all = append(all, in{"messageId": fmt.Sprint(i), "body": string(body)})
	}
	return in{"Records": all}
}

// messaged returns the event of the job queue for one message.
func messaged(kind string) in {
	body, _ := json.Marshal(job.Message{V: 1, Kind: kind, Tenant: "acme", Vault: "main", Incarnation: 1})
	return in{"Records": []in{{"messageId": "1", "body": string(body)}}}
}

// head returns the sequence number of the last commit of the vault.
func (f *flow) head(ctx context.Context) (uint64, error) {
	last := uint64(0)
	for it, err := range f.table.Query(ctx, "acme/main/1", "log/0", "log/9") {
		if err != nil {
			return 0, err
		}
		if _, err := fmt.Sscanf(it.Sort, "log/%d", &last); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// follow measures the work that follows a commit.
func (c *clouded) follow(ctx context.Context, dir string) error {
	f, err := newFlow(ctx)
	if err != nil {
		return err
	}
	defer f.end()
	for _, step := range []func(context.Context, *flow) error{c.countWrite, c.countFiles, c.countSync} {
		if err := step(ctx, f); err != nil {
			return err
		}
	}
	return c.lag(ctx, dir)
}

// countWrite counts the requests of one write and of the work that follows it. It measures the
// third time, when all caches are warm.
func (c *clouded) countWrite(ctx context.Context, f *flow) error {
	progress("the requests of a write, and of what follows it")
	for i := range 3 {
		c.Follow.Steps = nil
		head, err := f.head(ctx)
		if err != nil {
			return err
		}
		for _, s := range []struct {
			name string
			do   func() error
		}{
			{"the call", func() error {
				_, err := f.timed(ctx, "raven_add", in{"vault": "main", "to": "inbox", "text": fmt.Sprint("line ", i)})
				return err
			}},
			{"`functions/stream` writes the file", func() error { return invoked(ctx, f.stream, recorded(head+1)) }},
			{"`functions/ingest` finds that the event of the file is ours",
				func() error { return invoked(ctx, f.ingest, changedObjects("inbox.md")) }},
			{"`functions/jobs` makes a pass, one a minute for all writes of a vault",
				func() error { return invoked(ctx, f.worker, messaged(stream.CompactKind)) }},
		} {
			spent, err := f.count(s.name, s.do)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			c.Follow.Steps = append(c.Follow.Steps, spent)
		}
	}
	return nil
}

// countFiles counts the requests that write the files of many commits after one event.
func (c *clouded) countFiles(ctx context.Context, f *flow) error {
	progress("%d commits into files", manyCommits)
	head, err := f.head(ctx)
	if err != nil {
		return err
	}
	for i := range manyCommits {
		_, err := f.timed(ctx, "raven_add",
			in{"vault": "main", "to": fmt.Sprintf("inbox-%d", i%64), "text": fmt.Sprint("line ", i)})
		if err != nil {
			return err
		}
	}
	c.Follow.Files, err = f.count("", func() error { return invoked(ctx, f.stream, recorded(head+1)) })
	return err
}

// countSync counts the requests that ingest many objects from outside.
func (c *clouded) countSync(ctx context.Context, f *flow) error {
	progress("%d objects synced from outside", manyObjects)
	var paths []string
	for i := range manyObjects {
		paths = append(paths, fmt.Sprintf("synced/%d/%d.md", i%50, i))
	}
	if err := f.putAll(ctx, paths); err != nil {
		return err
	}
	noticed, err := f.count("noticed", func() error {
		for batch := range slices.Chunk(paths, eventBatch) {
			if err := invoked(ctx, f.ingest, changedObjects(batch...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // the message would arrive after the debounce time
	taken, err := f.count("taken in", func() error { return invoked(ctx, f.worker, messaged("close")) })
	c.Follow.Synced = []counted{noticed, taken}
	return err
}

// putAll puts objects concurrently.
func (f *flow) putAll(ctx context.Context, paths []string) error {
	var wait sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, putters)
	for p := range putters {
		wait.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(paths)) && errs[p] == nil; i = next.Add(1) - 1 {
				_, errs[p] = f.notes.Put(ctx, paths[i], fmt.Appendf(nil, "# Synced %d\n\nby hand\n", i), blob.Always)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// lag measures the delays of files and images, with the functions as separate processes.
func (c *clouded) lag(ctx context.Context, dir string) error {
	progress("how late files and images are")
	programs, err := buildAll(ctx, dir)
	if err != nil {
		return err
	}
	d, err := emulatedWith(ctx, func(d *localcloud.Deployment) { d.Queue, d.Programs = d.Table, programs })
	if err != nil {
		return err
	}
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	functions, err := localcloud.Start(ctx, d, base)
	if err != nil {
		server.Close()
		return err
	}
	defer functions.Close()
	server.Config.Handler = functions
	server.Start()
	defer server.Close()
	token, err := functions.Token(ctx, "acme")
	if err != nil {
		return err
	}
	w := &waiting{
		client: &httptool.Client{Base: base, Token: token},
		table:  dynamotable.New(d.Config(d.DynamoDB, nil), d.Table, dynamotable.Options{}),
		bucket: blob.Sub(s3blob.New(d.Config(d.AWS, nil), d.Bucket, s3blob.Options{}), "tenants/acme/vaults/main"),
	}
	if err := w.invoke(ctx, "team_vault_create", in{"name": "main"}); err != nil {
		return err
	}
	for i := range lags + 1 {
		took, err := w.toFile(ctx, i)
		if err != nil {
			return err
		}
		if i > 0 { // the first starts the functions
			c.Follow.ToFile.Waits = append(c.Follow.ToFile.Waits, took)
		}
	}
	slices.Sort(c.Follow.ToFile.Waits)
	c.Follow.Image, err = w.toImage(ctx)
	return err
}

// A waiting is a vault whose files and images are awaited.
type waiting struct {
	client *httptool.Client
	table  table.Table
	bucket blob.Bucket
}

// invoke calls a tool and discards the answer.
func (w *waiting) invoke(ctx context.Context, name string, args in) error {
	body, err := json.Marshal(args)
	if err == nil {
		_, err = w.client.Invoke(ctx, name, body)
	}
	return err
}

// toFile creates a note, and returns the time until its object exists.
func (w *waiting) toFile(ctx context.Context, i int) (time.Duration, error) {
	name := fmt.Sprint("lag-", i)
	err := w.invoke(ctx, "raven_new", in{"vault": "main", "type": "page", "title": name, "path": name})
	if err != nil {
		return 0, err
	}
	return awaited(func() (bool, error) {
		_, _, err := w.bucket.Get(ctx, "notes/"+name+".md", 0, 0)
		if errors.Is(err, blob.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
}

// toImage writes until an image is due, and returns the time until there is one.
func (w *waiting) toImage(ctx context.Context) (time.Duration, error) {
	for i := range imageAfter {
		err := w.invoke(ctx, "raven_add", in{"vault": "main", "to": "lag-0", "text": fmt.Sprint("line ", i)})
		if err != nil {
			return 0, err
		}
	}
	return awaited(func() (bool, error) {
		for _, err := range w.table.Query(ctx, "acme/main/1", "image/", "image/~") {
			return err == nil, err
		}
		for _, err := range w.bucket.List(ctx, "1/image/") {
			return err == nil, err
		}
		return false, nil
	})
}

// awaited polls every 5 ms until so returns true, and returns how long that took. It returns an
// error after lagPatience.
func awaited(so func() (bool, error)) (time.Duration, error) {
	begun := time.Now()
	for time.Since(begun) < lagPatience {
		if is, err := so(); is || err != nil {
			return time.Since(begun), err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, errors.New("what follows a log did not come")
}

// buildAll builds all functions for this machine, each as NAME/bootstrap in a directory. It returns
// the path of the directory.
func buildAll(ctx context.Context, dir string) (string, error) {
	programs := filepath.Join(dir, "programs")
	entries, err := filepath.Glob("functions/*/main.go")
	if err != nil {
		return "", err
	}
	for _, main := range entries {
		name := filepath.Base(filepath.Dir(main))
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w",
			"-tags", "lambda.norpc,nethttpomithttp2",
			"-o", filepath.Join(programs, name, "bootstrap"), "./functions/"+name)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build functions/%s: %w: %s", name, err, out)
		}
	}
	return programs, nil
}
