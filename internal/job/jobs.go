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

	"rookery/internal/fault"
	"rookery/internal/table"
)

// Jobs are the jobs of a tenant. It is safe for concurrent use.
type Jobs struct {
	opt Options

	ctx        context.Context // of the attempts that calls leave behind
	end        context.CancelFunc
	background sync.WaitGroup
	name       string // begins the holders of its leases

	mu       sync.Mutex
	closed   bool
	attempts map[string][]*attempt // of this process, by the id of the job
}

// Options are what Jobs are made with. Table and Now are required.
type Options struct {
	Table  table.Table // the tenant's own
	Tenant string
	Kinds  []Kind
	Queue  Queue // nil: only calls, and those that look for jobs, run them
	Now    func() time.Time

	// After is a channel on which something comes after so long; nil: time.After.
	After func(time.Duration) <-chan time.Time

	// Alone says that no other process has the table: a lease of one is that of a process which is gone.
	Alone bool

	// Background says that this process may go on with a job when the call that began it is answered.
	Background bool
}

// New makes the Jobs of a tenant. Nothing is read yet, and nothing runs.
func New(o Options) *Jobs {
	if o.After == nil {
		o.After = time.After
	}
	j := &Jobs{opt: o, name: rand.Text() + "-", attempts: map[string][]*attempt{}}
	j.ctx, j.end = context.WithCancel(context.Background())
	return j
}

// Close ends the attempts that calls have left behind, and waits for them. Their jobs are queued again.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.end()
	j.background.Wait()
}

// Part is the partition of the jobs.
const Part = "~jobs"

// The keys in it: a job is under its id, and as long as it has not ended a second item, under what names its
// kind and target, says which job that is.
const (
	jobPrefix  = "job/"
	openPrefix = "open/"
	last       = "\U0010FFFF" // behind every key of a prefix
)

// Kept is how long a job is kept that has ended.
const Kept = 30 * 24 * time.Hour

// A Request is for a job that is to be made.
type Request struct {
	ID     string // empty: a new one
	Kind   string
	Target Target
	By     By
	Input  any // nil: none
}

// Add makes a job. While another one of the kind and target has not ended it is IN_PROGRESS, whose details
// name that job.
func (j *Jobs) Add(ctx context.Context, n Request) (Item, error) {
	it, err := j.made(n)
	if err != nil {
		return it, err
	}
	return it, j.create(ctx, it)
}

// made is the item of a new job.
func (j *Jobs) made(n Request) (Item, error) {
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

// create puts the items of a new job.
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

// inProgress is the fault of a call for what a job does already.
func (j *Jobs) inProgress(ctx context.Context, id string) error {
	f := fault.New(fault.InProgress, "the job %s does that already", id).
		Try("team_job_get", fault.Args{"id": id})
	it, err := j.Get(ctx, id)
	if err != nil {
		return f.With("job", map[string]any{"id": id})
	}
	return f.With("job", BriefOf(it))
}

// A Brief is what an answer says of a job.
type Brief struct {
	ID       string    `json:"id"`
	State    State     `json:"state" jsonschema:"queued, running, waiting, done, failed or cancelled"`
	Progress *Progress `json:"progress,omitempty" jsonschema:"steps that are done; until the job has ended"`
	RetryAt  time.Time `json:"retry_at,omitzero" jsonschema:"when a job that waits goes on"`
}

// BriefOf is the Brief of a job.
func BriefOf(it Item) *Brief {
	b := &Brief{ID: it.ID, State: it.State, RetryAt: it.RetryAt}
	if !it.State.Ended() {
		b.Progress = &it.Progress
	}
	return b
}

// Get returns a job; one that does not exist is NOT_FOUND.
func (j *Jobs) Get(ctx context.Context, id string) (Item, error) {
	it, _, err := j.get(ctx, id)
	return it, err
}

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

// NoJob is the fault of a job that does not exist, and of one that the caller may not see.
func NoJob() error {
	return fault.New(fault.NotFound, "there is no such job").Try("team_job_list", nil)
}

// Open returns the jobs that have not ended, oldest first.
func (j *Jobs) Open(ctx context.Context) ([]Item, error) {
	var all []Item
	for row, err := range j.opt.Table.Query(ctx, Part, openPrefix, openPrefix+last) {
		if err != nil {
			return nil, unknown(err)
		}
		it, err := j.Get(ctx, string(row.Data))
		if fault.Is(err, fault.NotFound) {
			continue // it ended, and its time is over
		}
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	slices.SortFunc(all, func(a, b Item) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// kind finds a kind by its name.
func (j *Jobs) kind(name string) (*Kind, error) {
	i := slices.IndexFunc(j.opt.Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return nil, fault.New(fault.IndexIncompatible, "this release has no jobs of the kind %q", name).
			Fix("run the release that made the job, or a newer one")
	}
	return &j.opt.Kinds[i], nil
}

func jobKey(id string) table.Key { return table.Key{Part: Part, Sort: jobPrefix + id} }

// openKey is the key that the open job of a kind and target has. It does not show a path or an item, which a
// job may forget before it ends.
func openKey(kind string, t Target) string {
	of := kind + "\x00" + t.Vault + "\x00" + t.Path
	if t.Item != "" {
		of += "\x00" + t.Item
	}
	sum := sha256.Sum256([]byte(of))
	return openPrefix + hex.EncodeToString(sum[:16])
}

// rowOf is the item of the table that keeps a job.
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
		row.Expires = it.Ended.Add(Kept)
	}
	return row, nil
}

func read(row table.Item) (Item, error) {
	var it Item
	if err := json.Unmarshal(row.Data, &it); err != nil {
		return it, fmt.Errorf("read a job: %w", err)
	}
	return it, nil
}

// unknown is the fault of a table that does not answer; nil stays nil, and the end of a context what it is.
func unknown(err error) error {
	if err == nil || ended(err) || fault.Of(err).Code != fault.Internal {
		return err
	}
	return fault.New(fault.StorageError, "the jobs cannot be read or written").Because(err)
}

// Keeps reports whether a row of the table is that of a job, or of what keeps its target for it.
func (j *Jobs) Keeps(row table.Item, id string) bool {
	return row.Sort == jobPrefix+id || strings.HasPrefix(row.Sort, openPrefix) && string(row.Data) == id
}
