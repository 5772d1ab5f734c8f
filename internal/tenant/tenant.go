package tenant

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// A Tenant is one tenant, with the vaults that this process has open. It is safe for concurrent use.
//
// Access is decided on a State. A State that grants something may be a minute old, and one that
// refuses something must be the newest; see Current and Fresh. Changes are commits of the tenant's
// own log, which all go through update. That log is the only place where members, tokens, issuers
// and the list of vaults are stored.
//
// Of its mutexes, refreshing is held while the state is read, so that concurrent callers share the
// result. erasing is held during a step of an erasure, so that only one runs at a time. mu guards
// the fields below it and is never held during I/O.
type Tenant struct {
	opt Options
	log *eventlog.Log[*State]

	histories *eventlog.Histories // of the vaults

	mu     sync.Mutex
	open   map[string]*openVault // by partition
	closed bool
	used   time.Time // when the tenant was last used
	read   time.Time // when the state was last read from the log

	refusals time.Time // up to when reads for refusals are used up; see mayRead

	refreshing sync.Mutex // held while the state is read, so that concurrent callers share the result
	agents     *agents

	stop       context.CancelFunc // stops folding in the background; nil without Background
	background sync.WaitGroup

	jobs    *job.Jobs
	erasing sync.Mutex // held while a vault is destroyed

	gone atomic.Bool // the tenant is erased, or being erased
}

// Options configure a Tenant or Registry. Texts, Log and Now are required, and so are Table and Bucket
// unless Stores and Registry are set. The zero value of each other field is valid; its meaning is
// given with the field.
//
// There are two ways to run a deployment. A process that runs all the time sets Background, and
// perhaps Folders; it compacts logs, syncs folders and continues jobs by itself. Functions that run
// only during calls leave Background unset; then a worker calls CompactVault, CompactTenant and
// WorkOn when Queue, Followers or a schedule demand it.
//
// Stores and Registry are for deployments in which each tenant's data is reached with credentials
// of its own, so that a bug cannot mix tenants. Followers, Follow and Forget are for deployments
// whose notes are objects of a bucket, kept by other processes; Folders, Watch and Served are for
// those whose notes are files that people edit.
type Options struct {
	Table     table.Table // the tenant's own; for Registry the deployment's
	Bucket    blob.Bucket // the tenant's own; for Registry the deployment's
	Texts     *repo.Texts
	Snapshots *repo.SnapshotCache // nil: each vault has its own
	Memory    *Memory             // nil: vaults stay open
	Limits    repo.Limits         // of each vault
	MaxNamed  int                 // number of files of each kind that a control item names; 0: repo.MaxNamed
	Items     bool                // store images of small logs as items of Table; see eventlog.Options
	Log       *slog.Logger
	Now       func() time.Time

	// Stores returns the table and the bucket for one tenant, for example opened with its own
	// credentials. The tenant gets the parts of them that begin with its name. Nil: Table and
	// Bucket. Registry calls it each time it opens a tenant.
	Stores func(ctx context.Context, tenant string) (table.Table, blob.Bucket, error)

	// Registry is the table that lists the tenants. Nil: Table.
	Registry table.Table

	// CreateMissing says that Open creates a registered tenant that has no log yet. Otherwise Registry.Make
	// creates both, and a tenant without a log does not exist.
	CreateMissing bool

	// CheckClock begins a pass that destroys old data, such as folding. The returned function reports
	// whether Now is known to be right, which can change from false to true during the pass. Nil:
	// it always is.
	CheckClock func() (known func() bool)

	// KeepOldImages reports whether images of an earlier format stay in use; see eventlog.Compaction. Nil: they
	// do not.
	KeepOldImages func(ctx context.Context) bool

	// Later runs work that a call starts but does not wait for. Nil: a goroutine runs it with
	// Background, otherwise the call itself.
	Later func(func())

	// Background says that the process runs between calls: each open vault is folded by its own
	// goroutine, and jobs continue after the call that started them. Otherwise nothing runs outside
	// calls, and CompactVault, CompactTenant and Work must be called from time to time.
	Background bool

	// Compact purges deleted data from the database. Nil: the database keeps no deleted data.
	Compact func(context.Context) error

	// Folders says that Bucket is a folder of files in which people see the notes of each vault. It
	// requires Background, because folders are synced all the time.
	Folders bool

	// Followers are the names of the cursors of other processes that follow the logs of vaults and
	// write the notes as objects. A log is not trimmed before all of them have passed, and the
	// objects of erased notes are destroyed. With Folders the folders are the followers, and none
	// need be named.
	Followers []string

	// Follow brings the followers of a vault's log up to date and compacts the log. If another
	// process is doing so, it returns a job.Later with the time to try again. Nil: this process
	// cannot follow, and leaves jobs that need it to others.
	Follow func(ctx context.Context, t *Tenant, vault string) error

	// Forget deletes what another package stores about a file whose history is erased, after the
	// followers have passed the erasure. Nil: nothing is stored.
	Forget func(ctx context.Context, t *Tenant, vault, path string) error

	// Watch watches a folder of Bucket, which is named by its key; see package watch. Nil: folders
	// are compared with their vaults periodically.
	Watch func(folder string, enter func(folder string) bool) (blob.Watch, error)

	// Served is a folder elsewhere that is served in place: it is the only vault of the tenant
	// auth.Local. Nil: none.
	Served *Served

	// PublicURL is the public URL of the deployment; empty: tenants have no issuers of their own.
	PublicURL string

	// Issuers returns the URLs of the deployment's issuers whose tokens a tenant accepts. Nil:
	// none.
	Issuers func(tenant string) []string

	// Kinds returns the tenant's kinds of jobs other than erasures. Nil: none.
	Kinds func(*Tenant) []job.Kind

	// Queue receives the jobs that must continue and, with Background, each tenant that is opened,
	// because it may have jobs. Nil: jobs run in the calls that start them, and in Work.
	Queue job.Queue

	// SoleProcess says that no other process uses the table, so that jobs of an ended process can be
	// resumed at once.
	SoleProcess bool

	// RemainingCopies returns the copies of data erased at a time that remain elsewhere, such as backups,
	// until they expire. Nil: none.
	RemainingCopies func(time.Time) []eventlog.Rest

	// NoLocal says that the tenant auth.Local cannot exist: no caller is trusted because of its
	// address, and no claim may name that tenant.
	NoLocal bool

	// Parts are the partitions of a tenant that other packages use; they are erased with it.
	Parts []string

	// Tenant is the name of the tenant. Registry sets it.
	Tenant string

	life  string      // identifies the tenant among those that had its name
	notes blob.Bucket // bucket with the folders of notes
}

// begin reads the state of the tenant. If the tenant has no log and Options.CreateMissing is set, it
// creates it first. Otherwise a tenant without a log is errGone.
func (t *Tenant) begin(ctx context.Context) error {
	err := t.refresh(ctx)
	if !errors.Is(err, errGone) || !t.opt.CreateMissing {
		return err
	}
	if err := makeLog(ctx, t.log); err != nil {
		return err
	}
	t.gone.Store(false)
	return t.refresh(ctx)
}

// makeLog creates the log of a tenant if there is none. It discards segments left from a lost
// table: they may lack the revocation of a token.
func makeLog(ctx context.Context, l *eventlog.Log[*State]) error {
	err := l.Discard(ctx)
	if err == nil {
		err = l.Create(ctx)
	}
	if err != nil && !errors.Is(err, eventlog.ErrLogExists) {
		return fmt.Errorf("make a tenant: %w", err)
	}
	return nil
}

// later runs do without making the call wait, if possible; see Options.Later. Close waits for it.
// After Close has begun, and without Background, the call itself runs it.
func (t *Tenant) later(do func()) {
	if t.opt.Later != nil {
		t.opt.Later(do)
		return
	}
	t.mu.Lock()
	behind := t.opt.Background && !t.closed
	if behind {
		t.background.Go(do)
	}
	t.mu.Unlock()
	if !behind {
		do()
	}
}

// newLog returns the tenant's own log without reading it. Replay runs in bulk, because no follower
// needs each commit, and begins with the tail, because the logs of most tenants are short.
func newLog(o Options) (*eventlog.Log[*State], error) {
	return eventlog.New(eventlog.Options[*State]{
		Table: o.Table, Bucket: blob.Sub(o.Bucket, "tenant"), Apply: fold, Now: o.Now,
		Build: build, SilentUpTo: func() uint64 { return math.MaxInt64 }, TailFirst: true, Imaging: imageCodec(),
		ImageItems: o.Items,
	}, &State{})
}

// Open opens a tenant: it reads its state, and starts its background work. A tenant that does not
// exist is UNAUTHENTICATED, unless Options.CreateMissing is set. Close must be called when it is no longer
// used. Vaults are opened by the calls that use them.
func Open(ctx context.Context, o Options) (*Tenant, error) {
	if o.Folders && !o.Background {
		return nil, errors.New("open a tenant: folders are followed in the background")
	}
	l, err := newLog(o)
	if err != nil {
		return nil, err
	}
	if o.notes == nil {
		o.notes = o.Bucket
	}
	t := &Tenant{opt: o, log: l, open: map[string]*openVault{}, agents: newAgents(o.Table), used: o.Now()}
	if t.histories, err = eventlog.NewHistories(); err != nil {
		return nil, err
	}
	t.jobs = t.newJobs()
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	t.logDisabled(ctx)
	t.runCompaction()
	t.wake(ctx)
	return t, nil
}

// maxGrantAge is the maximum age of a state that grants access (log.md §6).
const maxGrantAge = time.Minute

// The rate at which the state is read because a request is refused: one read per refusalEvery in the
// long run, in bursts of up to refusalBurst. Between reads a refusal uses the last state.
const (
	refusalEvery = time.Second
	refusalBurst = 20
)

// Current returns a state of the tenant that is at most a minute old (maxGrantAge). Use it to grant
// access. Most calls cost no read: one call a minute reads the state, and concurrent callers share
// it. It returns UNAUTHENTICATED if the tenant is known to be erased.
func (t *Tenant) Current(ctx context.Context) (*State, error) {
	if t.Gone() {
		return nil, errGone
	}
	if t.age() < maxGrantAge {
		return t.log.Known().State, nil
	}
	t.refreshing.Lock() // one of the concurrent callers reads the state for all
	defer t.refreshing.Unlock()
	if t.age() >= maxGrantAge {
		if err := t.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return t.log.Known().State, nil
}

// Fresh returns the newest state of the tenant. Use it before access is refused, so that a token is
// valid everywhere as soon as it was created. If many refusals arrive, the state may be about a
// second old, which bounds their cost: a caller with invalid tokens cannot make the server read the
// table for each.
func (t *Tenant) Fresh(ctx context.Context) (*State, error) {
	may := t.mayRead()
	t.refreshing.Lock() // callers that are not allowed to read wait for a read in progress
	defer t.refreshing.Unlock()
	if may {
		if err := t.refresh(ctx); err != nil {
			return nil, err
		}
	}
	if t.Gone() {
		return nil, errGone
	}
	return t.log.Known().State, nil
}

// mayRead reports whether the state may be read for a refusal, and counts the read. refusals is the
// time up to which reads are used up: each read moves it on by refusalEvery, and it is never further
// back than a full burst.
func (t *Tenant) mayRead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.opt.Now()
	if full := now.Add(-refusalBurst * refusalEvery); t.refusals.Before(full) || t.refusals.After(now) {
		t.refusals = full
	}
	next := t.refusals.Add(refusalEvery)
	if next.After(now) {
		return false
	}
	t.refusals = next
	return true
}

// age returns the maximum age of the state that this process knows.
func (t *Tenant) age() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.opt.Now().Sub(t.read)
	if age < 0 { // the clock was set back
		return maxGrantAge
	}
	return age
}

// refresh reads the newest state.
func (t *Tenant) refresh(ctx context.Context) error {
	asked := t.opt.Now()
	if _, err := t.latest(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = asked
	return nil
}

// update makes a commit of the tenant; fn drafts it and returns the answer to store. It may run
// more than once, each time on the newest state. A caller restricted to a prefix is refused,
// because such a commit changes no note. A tenant that was erased is errGone.
func (t *Tenant) update(
	ctx context.Context, c eventlog.Call,
	fn func(context.Context, *eventlog.Draft[*State]) (any, error),
) (eventlog.Receipt, error) {
	if err := c.Whole(); err != nil {
		return eventlog.Receipt{}, err
	}
	r, err := t.log.Update(ctx, c, fn)
	return r, t.orGone(err)
}

// Refuse refuses a call with the error why because of the current state. A repetition of a call
// that was not refused gets the answer of that call instead: the state may have changed because of
// it.
func (t *Tenant) Refuse(ctx context.Context, c eventlog.Call, why error) (eventlog.Receipt, error) {
	return t.update(ctx, c, func(context.Context, *eventlog.Draft[*State]) (any, error) {
		return nil, why
	})
}

// Now returns the time of the tenant's clock.
func (t *Tenant) Now() time.Time { return t.opt.Now() }

// State reads the newest state of the tenant and returns it with its version.
func (t *Tenant) State(ctx context.Context) (*State, uint64, error) {
	s, err := t.latest(ctx)
	return s.State, s.Seq, err
}

// Vault returns a vault by its name, and opens it if necessary. A vault that does not exist or is
// in the trash is NOT_FOUND. The vault is in use until ctx ends and may be closed after that; see
// Memory. Opening may take long for a large vault, and continues if ctx ends, for the next caller.
func (t *Tenant) Vault(ctx context.Context, name string) (*repo.Vault, error) {
	o, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.vault, nil
}

// Folder returns the folder of a vault, or nil if there are no folders. It opens the vault like
// Vault.
func (t *Tenant) Folder(ctx context.Context, name string) (*checkout.Checkout, error) {
	o, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.folder, nil
}

// find returns an active vault, open until ctx ends. It is the way in which every call of a tool
// gets its vault.
func (t *Tenant) find(ctx context.Context, name string) (*openVault, error) {
	e, err := t.entry(ctx, name)
	if err != nil {
		return nil, err
	}
	return t.openVault(ctx, e)
}

// entry returns the entry of an active vault. It looks at a state that may be a minute old first,
// and then, before it returns NOT_FOUND, at the newest one: the vault may have been created by
// another process.
func (t *Tenant) entry(ctx context.Context, name string) (Entry, error) {
	for _, state := range []func(context.Context) (*State, error){t.Current, t.Fresh} {
		s, err := state(ctx)
		if err != nil {
			return Entry{}, err
		}
		if e, ok := s.Vault(name); ok && e.Status == eventlog.Active {
			return e, nil
		}
	}
	return Entry{}, fault.NoVault(name)
}

// partOf returns the partition of a vault's log, which is also the name of its folder in the
// bucket.
func partOf(name string, incarnation int) string {
	return fmt.Sprintf("%s/%d", name, incarnation)
}

// Close stops the background work of the tenant and its open vaults, and waits for it: compaction
// and work of later first, then the jobs, then the vaults, which these may use. No method may be
// called afterwards.
func (t *Tenant) Close() {
	t.mu.Lock()
	t.closed = true
	open := maps.Clone(t.open)
	t.mu.Unlock()
	if t.stop != nil {
		t.stop()
	}
	t.background.Wait()
	t.jobs.Close()
	for _, o := range open {
		o.once.Do(func() {}) // also close a vault that is being opened
		o.close()
	}
}
