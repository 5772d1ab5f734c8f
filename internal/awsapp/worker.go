package awsapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/janitor"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/s3blob"
	"github.com/rookeryhq/rookery/internal/sqsqueue"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// lastMinute is the time before the end of an invocation at which its work must end. A job that is
// not done then continues with another message.
const lastMinute = time.Minute

// A failed message returns after firstRetry at first, and then after twice the time of before, up
// to lastRetry.
const (
	firstRetry = 10 * time.Second
	lastRetry  = 10 * time.Minute
)

// A Worker is the function that consumes the queue of jobs. It is safe for concurrent use. It is
// the only function that moves commits into segments, and the only one whose role may destroy
// versions of objects.
type Worker struct {
	opt    Options
	teams  *tenant.Registry
	queue  *sqsqueue.Queue
	worker job.Worker

	release *release
}

var _ lambda.Handler = (*Worker)(nil)

// NewWorker returns a Worker over a queue and the stores of the Options, whose Queue is ignored. It
// reads nothing from the stores. Each kind of message has a handler: jobs of tenants, the files and
// segments of vaults, the files of vaults that are gone, the ends and sweeps of ingests, and the
// upkeep of tenants.
func NewWorker(o Options, queue *sqsqueue.Queue) *Worker {
	o = o.withDefaults()
	o.Queue = queue
	w := &Worker{opt: o, queue: queue, release: &release{table: o.Table, now: o.Now, log: o.Log}}
	all := tenants(o, nil)
	all.KeepOldImages = w.release.keepsOldFormat
	all.Follow = func(ctx context.Context, own *tenant.Tenant, vault string) error {
		return followerOf(o, w.teams).Follow(ctx, own, vault)
	}
	all.Forget = func(ctx context.Context, own *tenant.Tenant, vault, path string) error {
		return ingesterOf(o, w.teams).Forget(ctx, own, vault, path)
	}
	w.teams = tenant.NewRegistry(all)
	w.worker = job.Worker{Handlers: map[string]job.Handler{}, Bury: queue.Bury}
	for _, kind := range w.teams.JobKinds() {
		w.worker.Handlers[kind] = w.jobs
	}
	follower := followerOf(o, w.teams)
	w.worker.Handlers[stream.FilesKind] = follower.Files
	w.worker.Handlers[stream.CompactKind] = func(ctx context.Context, m job.Message) error {
		return errors.Join(follower.CompactMessage(ctx, m), w.tenant(ctx, m.Tenant))
	}
	w.worker.Handlers[stream.ClearKind] = follower.Clear
	w.worker.Handlers[ingest.CloseKind] = ingesterOf(o, w.teams).Close
	w.worker.Handlers[ingest.SweepKind] = ingesterOf(o, w.teams).Sweep
	w.worker.Handlers[janitor.TenantKind] = func(ctx context.Context, m job.Message) error {
		return w.tenant(ctx, m.Tenant)
	}
	return w
}

// ServeJobs is the main function of the program that consumes the queue of jobs. It does not
// return.
func ServeJobs() {
	serveBackground(func(d *deployment) lambda.Handler {
		d.Bucket = s3blob.NewEraser(d.bucket) // only this function destroys versions of objects
		if d.own != nil {
			d.own.erases = true
		}
		return NewWorker(d.Options, d.queue)
	})
}

// Close closes the worker. No message may follow it.
func (w *Worker) Close() { w.teams.Close() }

// Invoke handles the messages of an event one after the other, and answers with those that must
// return. It also executes commands. Its work ends lastMinute before the invocation does, or a
// quarter of the time before if that is less, so that a job can be interrupted and its state be
// written.
func (w *Worker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	w.opt.Begin()
	if name, ok := commandOf(payload); ok {
		return w.command(ctx, name, payload)
	}
	var e events.SQSEvent
	if json.Unmarshal(payload, &e) != nil || len(e.Records) == 0 {
		return nil, errors.New("the event has no messages of a queue")
	}
	last := lastMinute
	if end, ok := ctx.Deadline(); ok {
		last = min(last, time.Until(end)/4)
	}
	ctx, cancel := beforeDeadline(ctx, last)
	defer cancel()
	again := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i := range e.Records {
		if err := w.message(ctx, &e.Records[i]); err != nil {
			w.opt.Log.ErrorContext(ctx, "a message could not be processed", slog.Any("cause", err))
			again.BatchItemFailures = append(again.BatchItemFailures,
				events.SQSBatchItemFailure{ItemIdentifier: e.Records[i].MessageId})
		}
	}
	answer, err := json.Marshal(again)
	if err != nil {
		return nil, fmt.Errorf("write which messages are to come again: %w", err)
	}
	return answer, nil
}

// message handles one message. After an error, it makes the message return sooner than the queue
// would by itself. If the time of the invocation is over, the message is not begun. After several
// receipts, the queue itself moves a message to the dead letters.
func (w *Worker) message(ctx context.Context, r *events.SQSMessage) error {
	err := ctx.Err()
	if err == nil {
		err = w.worker.Work(ctx, []byte(r.Body))
	}
	if err == nil {
		return nil
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, w.queue.Again(soon, r.ReceiptHandle, pauseAfter(r.Attributes["ApproximateReceiveCount"])))
}

// pauseAfter returns the time after which a message returns that was received that many times:
// firstRetry, then twice as long each time, up to lastRetry. received is a decimal number; anything
// else counts as 1.
func pauseAfter(received string) time.Duration {
	n, _ := strconv.Atoi(received)
	pause := firstRetry
	for range min(max(n, 1), 10) - 1 {
		pause *= 2
	}
	return min(pause, lastRetry)
}

// tenant archives the refused calls of a tenant, and compacts the log of the tenant if that is due.
// It does nothing for a tenant that does not exist.
func (w *Worker) tenant(ctx context.Context, name string) error {
	own, err := w.teams.Tenant(ctx, name)
	if fault.Is(err, fault.Unauthenticated) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = audit.RefusalsOf(own).Archive(ctx, w.opt.Now())
	if own.CompactDue() {
		err = errors.Join(err, own.CompactTenant(ctx))
	}
	return err
}

// jobs continues the job of a message, and queues the next message if the job is not done. An error
// of the job is stored with the job, which has its own retries; so the message itself fails only if
// the next one cannot be sent.
func (w *Worker) jobs(ctx context.Context, m job.Message) error {
	next, err := w.teams.WorkOn(ctx, m)
	if err != nil && !w.expected(ctx, err) {
		w.opt.Log.ErrorContext(ctx, "a job could not continue", slog.String("kind", m.Kind), slog.Any("cause", err))
	}
	if next.IsZero() {
		return nil
	}
	m.After = max(0, next.Sub(w.opt.Now()))
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return w.queue.Send(soon, m)
}

// expected reports whether an error only means that the time of the invocation is over.
func (w *Worker) expected(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}
