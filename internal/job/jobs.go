package job

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Jobs are the jobs of one tenant. Jobs is safe for concurrent use.
type Jobs struct {
	opt Options

	ctx        context.Context // of attempts that outlive their calls
	end        context.CancelFunc
	background sync.WaitGroup
	name       string // prefix of this process's lease holders

	mu       sync.Mutex
	closed   bool
	attempts map[string][]*attempt // of this process, by job id
}

// Options are the options of New. Table and Now are required.
type Options struct {
	Table  table.Table // of the tenant
	Tenant string
	Kinds  []Kind
	Queue  Queue // nil: jobs run only in calls and in Work
	Now    func() time.Time

	// After returns a channel that receives a value after a duration; nil: time.After.
	After func(time.Duration) <-chan time.Time

	// Alone says that no other process uses the table, so that leases of other holders belong to
	// processes that no longer exist.
	Alone bool

	// Background says that this process may continue a job after the call that started it has
	// returned.
	Background bool
}

// New returns the Jobs of a tenant. It reads and starts nothing.
func New(o Options) *Jobs {
	if o.After == nil {
		o.After = time.After
	}
	j := &Jobs{opt: o, name: rand.Text() + "-", attempts: map[string][]*attempt{}}
	j.ctx, j.end = context.WithCancel(context.Background())
	return j
}

// Close ends the attempts that outlived their calls, and waits for them. Their jobs are queued
// again. Calls after it return UNAVAILABLE.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.end()
	j.background.Wait()
}

// Part is the partition of the jobs in the table.
const Part = "~jobs"

// A job is stored under its id. Until it ends, a second item, with a key derived from its kind and
// target, contains its id.
const (
	jobPrefix  = "job/"
	openPrefix = "open/"
	last       = "\U0010FFFF" // sorts after every key with a prefix
)

// Retention is how long an ended job is kept.
const Retention = 30 * 24 * time.Hour

// A Request describes a job to be created.
type Request struct {
	ID     string // empty: a new id
	Kind   string
	Target Target
	By     By
	Input  any // encoded as JSON; nil: none
}

// Add creates a job. It returns IN_PROGRESS, with details about the other job, if there is an open
// job of the same kind and target, and DUPLICATE_ID if the id exists.
func (j *Jobs) Add(ctx context.Context, n Request) (Item, error) {
	it, err := j.newItem(n)
	if err != nil {
		return it, err
	}
	return it, j.create(ctx, it)
}

// newItem returns the item of a new job.
func (j *Jobs) newItem(n Request) (Item, error) {
	k, err := j.kind(n.Kind)
	if err != nil {
		return Item{}, err
	}
	now := j.opt.Now().UTC()
	it := Item{
		ID: cmp.Or(n.ID, NewID(now)), Kind: n.Kind, State: Queued, Target: n.Target, Created: now, By: n.By,
		Progress: k.progress(0), Open: openKey(n.Kind, n.Target),
	}
	if n.Input != nil {
		if it.Input, err = json.Marshal(n.Input); err != nil {
			return it, fmt.Errorf("write the input of a job: %w", err)
		}
	}
	return it, nil
}

// create writes the items of a new job.
func (j *Jobs) create(ctx context.Context, it Item) error {
	row, err := rowOf(it)
	if err != nil {
		return err
	}
	open := table.Item{Key: table.Key{Part: Part, Sort: it.Open}, Data: []byte(it.ID)}
	err = j.opt.Table.Commit(ctx, table.Create(open), table.Create(row))
	conflict := asConflict(err)
	if conflict == nil {
		return unknown(err)
	}
	if conflict.Key.Sort != open.Sort {
		return fault.New(fault.DuplicateID, "there is a job %q already", it.ID).With("id", it.ID)
	}
	return j.inProgress(ctx, string(conflict.Item.Data))
}

// inProgress returns the IN_PROGRESS error of a call whose work another job does already. The fault
// has the Brief of that job, or only its id if it cannot be read.
func (j *Jobs) inProgress(ctx context.Context, id string) error {
	f := fault.New(fault.InProgress, "the job %s does that already", id).
		Try("team_job_get", fault.Args{"id": id})
	it, err := j.Get(ctx, id)
	if err != nil {
		return f.With("job", map[string]any{"id": id})
	}
	return f.With("job", BriefOf(it))
}

// A Brief is the summary of a job in an answer.
type Brief struct {
	ID string `json:"id"`
	// queued, running, waiting, done, failed or cancelled
	State State `json:"state"`
	// steps that are done; until the job has ended
	Progress *Progress `json:"progress,omitempty"`
	// when a waiting job continues
	RetryAt time.Time `json:"retry_at,omitzero"`
}

// BriefOf returns the Brief of a job.
func BriefOf(it Item) *Brief {
	b := &Brief{ID: it.ID, State: it.State, RetryAt: it.RetryAt}
	if !it.State.Ended() {
		b.Progress = &it.Progress
	}
	return b
}

// Get returns a job. It returns NOT_FOUND if there is no such job.
func (j *Jobs) Get(ctx context.Context, id string) (Item, error) {
	it, _, err := j.get(ctx, id)
	return it, err
}

// get returns a job and its table item. An invalid id is NOT_FOUND.
func (j *Jobs) get(ctx context.Context, id string) (Item, table.Item, error) {
	if _, ok := timeOf(id); !ok {
		return Item{}, table.Item{}, NoJob()
	}
	row, err := j.opt.Table.Get(ctx, jobKey(id))
	if errors.Is(err, table.ErrNotFound) {
		return Item{}, row, NoJob()
	}
	if err != nil {
		return Item{}, row, unknown(err)
	}
	it, err := read(row)
	return it, row, err
}

// NoJob returns the NOT_FOUND error of a job that does not exist, or that the caller cannot see.
func NoJob() error {
	return fault.New(fault.NotFound, "there is no such job").Try("team_job_list", nil)
}

// Open returns the open jobs, oldest first. It reads the items that reserve targets, and one item
// for each job, so ended jobs cost nothing.
func (j *Jobs) Open(ctx context.Context) ([]Item, error) {
	var all []Item
	for row, err := range j.opt.Table.Query(ctx, Part, openPrefix, openPrefix+last) {
		if err != nil {
			return nil, unknown(err)
		}
		it, err := j.Get(ctx, string(row.Data))
		if fault.Is(err, fault.NotFound) {
			continue // it ended and was deleted
		}
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	slices.SortFunc(all, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// kind returns the kind with a name, and INDEX_INCOMPATIBLE if this release does not have it.
func (j *Jobs) kind(name string) (*Kind, error) {
	i := slices.IndexFunc(j.opt.Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return nil, fault.New(fault.IndexIncompatible, "this release has no jobs of the kind %q", name).
			Fix("run the release that made the job, or a newer one")
	}
	return &j.opt.Kinds[i], nil
}

// jobKey returns the key of the item of a job.
func jobKey(id string) table.Key { return table.Key{Part: Part, Sort: jobPrefix + id} }

// openKey returns the sort key of the item that reserves a kind and target. It is a hash, so it
// does not reveal a path or an item, which the job may have to forget.
func openKey(kind string, t Target) string {
	of := kind + "\x00" + t.Vault + "\x00" + t.Path
	if t.Item != "" {
		of += "\x00" + t.Item
	}
	sum := sha256.Sum256([]byte(of))
	return openPrefix + hex.EncodeToString(sum[:16])
}

// rowOf returns the table item of a job. A result larger than MaxResult is omitted.
func rowOf(it Item) (table.Item, error) {
	if len(it.Result) > MaxResult {
		it.Result = nil
	}
	data, err := json.Marshal(it)
	if err != nil {
		return table.Item{}, fmt.Errorf("write a job: %w", err)
	}
	row := table.Item{Key: jobKey(it.ID), Data: data}
	if it.State.Ended() {
		row.Expires = it.Ended.Add(Retention)
	}
	return row, nil
}

// read decodes the table item of a job.
func read(row table.Item) (Item, error) {
	var it Item
	if err := json.Unmarshal(row.Data, &it); err != nil {
		return it, fmt.Errorf("read a job: %w", err)
	}
	return it, nil
}

// unknown returns the STORAGE_ERROR of a table that failed. It returns nil, context errors and
// faults unchanged.
func unknown(err error) error {
	if err == nil || isContextError(err) || fault.Of(err).Code != fault.Internal {
		return err
	}
	return fault.New(fault.StorageError, "the jobs cannot be read or written").Because(err)
}

// Owns reports whether a table item belongs to the job with this id: whether it is the job, or the
// item that reserves its target.
func (j *Jobs) Owns(row table.Item, id string) bool {
	return row.Sort == jobPrefix+id || strings.HasPrefix(row.Sort, openPrefix) && string(row.Data) == id
}

// A Queue delivers messages to the processes that run jobs.
type Queue interface {
	// Send requests that any process handles a message soon, at least once. If it fails, the work
	// is only delayed: processes also look for jobs on their own.
	Send(ctx context.Context, m Message) error
}

// A Message identifies work. The work to do follows from the state of the identified object, never
// from the message, so a message may be lost, late, or delivered twice. Which fields are set
// depends on the kind.
type Message struct {
	V           int    `json:"v"` // 1
	Kind        string `json:"kind"`
	Tenant      string `json:"tenant"`
	Vault       string `json:"vault,omitempty"`
	Incarnation int    `json:"incarnation,omitempty"`
	Job         string `json:"job,omitempty"`
	N           int    `json:"n,omitempty"`

	// After is the delay before the message is delivered. A queue may deliver it earlier.
	After time.Duration `json:"-"`
}

// messageFormat is the version of messages.
const messageFormat = 1

// ErrMessage is the error of a message that this release cannot handle, because it is malformed, or
// has another version or an unknown kind.
var ErrMessage = errors.New("the message cannot be worked on by this release")

// ParseMessage decodes a message from JSON. It returns ErrMessage if it is malformed, has another
// version, or has no kind or tenant.
func ParseMessage(data []byte) (Message, error) {
	var m Message
	if json.Unmarshal(data, &m) != nil || m.V != messageFormat || m.Kind == "" || m.Tenant == "" {
		return Message{}, ErrMessage
	}
	return m, nil
}

// message returns the message for a job, to be delivered when the job is due.
func (j *Jobs) message(it Item) Message {
	return Message{
		V: messageFormat, Kind: it.Kind, Tenant: j.opt.Tenant, Vault: it.Target.Vault, Job: it.ID,
		After: max(0, it.next().Sub(j.opt.Now())),
	}
}

// send sends the message for a job. It returns an untold error if that fails.
func (j *Jobs) send(ctx context.Context, it Item) error {
	if j.opt.Queue == nil {
		return nil
	}
	if err := j.opt.Queue.Send(ctx, j.message(it)); err != nil {
		return sendError{err}
	}
	return nil
}

// A sendError is the error of a message that could not be sent.
type sendError struct{ error }

// Unwrap returns the cause.
func (u sendError) Unwrap() error { return u.error }
