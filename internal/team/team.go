package team

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

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/checkout"
	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/table"
)

// A Team is one tenant, and the vaults of it that this process has open.
type Team struct {
	opt Options
	log *repo.Log[*State]

	histories *repo.Histories // of the vaults

	mu     sync.Mutex
	open   map[string]*opened // by partition
	closed bool
	used   time.Time // when it was last asked for
	read   time.Time // when the state was last read from the log

	refusals time.Time // up to when readings for refusals are used up; see mayRead

	refreshing sync.Mutex // held by who reads the state, for all who wait for that
	agents     *agents

	stop       context.CancelFunc // ends what keeps the log; nil without Background
	background sync.WaitGroup

	jobs    *job.Jobs
	erasing sync.Mutex // held by who destroys a vault

	gone atomic.Bool // the tenant is erased, or being erased
}

// Options are what a Team is made with. All are required but Pasts, Memory, Limits, Named, Items, Clocked, Stores,
// Registry, Background, Makes, Later, Compact, Folders, Followers, Follow, Forget, Watch, Served, PublicURL, Issuers,
// and those of jobs, receipts and other packages. Table and Bucket are not, where there are Stores and Registry.
type Options struct {
	Table  table.Table // the tenant's own
	Bucket blob.Bucket // the tenant's own
	Texts  *repo.Texts
	Pasts  *repo.Pasts // nil: each vault has its own
	Memory *Memory     // nil: vaults stay open
	Limits repo.Limits // of each vault
	Named  int         // files of each kind that a control item names; 0: repo.MaxNamed
	Items  bool        // images of logs that are small are items of Table; see repo.LogOptions
	Log    *slog.Logger
	Now    func() time.Time

	// Stores are the table and the bucket of one tenant, such as those that its own credentials open. The tenant
	// gets the parts of them that begin with its name. Nil: Table and Bucket. Teams asks once each time that it
	// opens a tenant.
	Stores func(ctx context.Context, tenant string) (table.Table, blob.Bucket, error)

	// Registry is the table that names the tenants. Nil: Table.
	Registry table.Table

	// Makes says that Open makes a tenant that is registered and has no log yet. Else Teams.Make makes both,
	// and one without a log does not exist.
	Makes bool

	// Clocked begins a pass that destroys what is old, such as one of folding. The function that it returns reports
	// whether Now is known to be right, which may become so during the pass. Nil: it always is.
	Clocked func() (known func() bool)

	// Hold reports whether images of an earlier format stay in force; see repo.Folding. Nil: they do not.
	Hold func(ctx context.Context) bool

	// Later runs what a call leaves to be done and does not wait for. Nil: with Background a goroutine does,
	// and else the call itself.
	Later func(func())

	// Background says that the process lives between calls: each open vault is folded by a goroutine of its
	// own, and a job goes on when the call that began it is answered. Else nothing runs that no call waits for,
	// and FoldVault, FoldTenant and Work are called from time to time.
	Background bool

	// Compact makes the database forget what was removed from it. Nil: it keeps nothing of that.
	Compact func(context.Context) error

	// Folders says that Bucket is a folder in which people see the notes of each vault. It needs
	// Background: a folder is followed all the time.
	Folders bool

	// Followers are the cursors of those who follow the logs of vaults from other processes, and write the notes as
	// objects: no log is trimmed before they have passed, and what is erased has its objects destroyed. With Folders
	// the folders are that, and none need be named.
	Followers []string

	// Follow brings what follows the log of a vault in step with it, and folds it, at once. It is an error that says
	// when to try again (job.Later) if another process does that just then. Nil: this process cannot, and a job that
	// needs it is left to one that can.
	Follow func(ctx context.Context, t *Team, vault string) error

	// Forget forgets what another package keeps of a file of a vault whose note's history is erased, when those who
	// follow the log have passed that. Nil: nothing is kept.
	Forget func(ctx context.Context, t *Team, vault, path string) error

	// Watch watches a folder of Bucket, which is named as a key is; see package watch. Nil: folders are
	// compared with their vaults from time to time.
	Watch func(folder string, enter func(folder string) bool) (blob.Watch, error)

	// Served is a folder that somebody edits, and that lies elsewhere: the tenant auth.Local has one vault,
	// whose notes are there. Nil: there is none.
	Served *Served

	// PublicURL is what the deployment is called by; empty: tenants have no issuers of their own.
	PublicURL string

	// Issuers are those of the deployment whose tokens may lead to a tenant, by URL. Nil: it has none.
	Issuers func(tenant string) []string

	// Kinds are the kinds of jobs that the tenant has beside erasing. Nil: there are none.
	Kinds func(*Team) []job.Kind

	// Queue is told of jobs that are to go on, and with Background of each tenant that is opened, which may have
	// some. Nil: jobs run in the calls that begin them, and in Work.
	Queue job.Queue

	// Alone says that no other process has the table, so that the jobs of one that is gone need not be waited for.
	Alone bool

	// Rests are kept elsewhere of what is erased at a time, and go by themselves. Nil: there are none.
	Rests func(time.Time) []repo.Rest

	// NoLocal says that there can be no tenant auth.Local: nobody is a caller because of where a request comes
	// from, and no claim may name that tenant.
	NoLocal bool

	// Parts are the partitions of a tenant that other packages keep beside the logs, and are erased with it.
	Parts []string

	// Tenant is the name of the tenant. Teams sets it.
	Tenant string

	life  string      // names the tenant among those that had its name
	notes blob.Bucket // in which the folders of notes are
}

// opened is a vault that is open, or being opened.
type opened struct {
	once   sync.Once
	vault  *repo.Vault
	folder *checkout.Checkout // nil where there are no folders
	keeper *repo.Keeper       // nil without Background
	err    error

	ready   atomic.Bool // vault and folder are there to be read by others than who opens them
	use     use         // guarded by Options.Memory
	name    string
	reading atomic.Pointer[checkout.Checkout] // the folder, for who does not wait for once; nil: not open
}

// begin reads the state of the tenant, which is made first where there is none and Options.Makes says so.
func (t *Team) begin(ctx context.Context) error {
	err := t.refresh(ctx)
	if !errors.Is(err, errGone) || !t.opt.Makes {
		return err
	}
	if err := makeLog(ctx, t.log); err != nil {
		return err
	}
	t.gone.Store(false)
	return t.refresh(ctx)
}

// makeLog makes the log of a tenant, if there is none. Segments of one whose table is lost are not taken up: they
// may lack that a token was revoked.
func makeLog(ctx context.Context, l *repo.Log[*State]) error {
	err := l.Discard(ctx)
	if err == nil {
		err = l.Create(ctx)
	}
	if err != nil && !errors.Is(err, repo.ErrLogExists) {
		return fmt.Errorf("make a tenant: %w", err)
	}
	return nil
}

// later runs what no call waits for.
func (t *Team) later(do func()) {
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

// newLog is the tenant's own log. Nothing is read yet.
func newLog(o Options) (*repo.Log[*State], error) {
	return repo.NewLog(repo.LogOptions[*State]{
		Table: o.Table, Bucket: blob.Sub(o.Bucket, "tenant"), Fold: fold, Now: o.Now,
		Build: build, Untold: func() uint64 { return math.MaxInt64 }, TailFirst: true, Imaging: imaging(),
		ImageItems: o.Items,
	}, &State{})
}

// Open opens a tenant. One that does not exist is UNAUTHENTICATED, unless Options.Makes says that it is made.
func Open(ctx context.Context, o Options) (*Team, error) {
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
	t := &Team{opt: o, log: l, open: map[string]*opened{}, agents: newAgents(o.Table), used: o.Now()}
	if t.histories, err = repo.NewHistories(); err != nil {
		return nil, err
	}
	t.jobs = t.newJobs()
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	t.logDisabled(ctx)
	t.keep()
	t.wake(ctx)
	return t, nil
}

// yesLife is how old the state may be that allows something (log.md §6).
const yesLife = time.Minute

// How often the state is read because something is refused: once a second in the long run, and so often
// at once. Between that a refusal is as old as the last reading.
const (
	noEvery = time.Second
	noBurst = 20
)

// Current is the state of the tenant as it was at most a minute ago: what it allows is allowed. Of a tenant that
// is known to be erased it is UNAUTHENTICATED.
func (t *Team) Current(ctx context.Context) (*State, error) {
	if t.Gone() {
		return nil, errGone
	}
	if t.age() < yesLife {
		return t.log.Known().State, nil
	}
	t.refreshing.Lock() // of those who ask at once one reads it
	defer t.refreshing.Unlock()
	if t.age() >= yesLife {
		if err := t.refresh(ctx); err != nil {
			return nil, err
		}
	}
	return t.log.Known().State, nil
}

// Fresh is the newest state of the tenant: what it refuses is refused. So that refusals cost little,
// however many there are, it may be a second old where many are asked for.
func (t *Team) Fresh(ctx context.Context) (*State, error) {
	may := t.mayRead()
	t.refreshing.Lock() // who may not read waits for what is being read
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

// mayRead reports whether the state is to be read for a refusal, and counts that it is.
func (t *Team) mayRead() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.opt.Now()
	if full := now.Add(-noBurst * noEvery); t.refusals.Before(full) || t.refusals.After(now) {
		t.refusals = full
	}
	next := t.refusals.Add(noEvery)
	if next.After(now) {
		return false
	}
	t.refusals = next
	return true
}

// age is how old the state may be that this process knows.
func (t *Team) age() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := t.opt.Now().Sub(t.read)
	if age < 0 { // somebody has set the clock back
		return yesLife
	}
	return age
}

// refresh reads the newest state.
func (t *Team) refresh(ctx context.Context) error {
	asked := t.opt.Now()
	if _, err := t.latest(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = asked
	return nil
}

// update makes a commit of the tenant. What it changes is no note, so who may only write under a prefix
// must not make it.
func (t *Team) update(
	ctx context.Context, c repo.Call,
	fn func(context.Context, *repo.Draft[*State]) (any, error),
) (repo.Receipt, error) {
	if err := c.Whole(); err != nil {
		return repo.Receipt{}, err
	}
	r, err := t.log.Update(ctx, c, fn)
	return r, t.orGone(err)
}

// Refuse is a call that is refused because of what there is now, unless it is the repetition of one that
// was not: that gets its first answer.
func (t *Team) Refuse(ctx context.Context, c repo.Call, why error) (repo.Receipt, error) {
	return t.update(ctx, c, func(context.Context, *repo.Draft[*State]) (any, error) {
		return nil, why
	})
}

// Now is the time by the clock of the tenant.
func (t *Team) Now() time.Time { return t.opt.Now() }

// State is the newest state of the tenant, and its version.
func (t *Team) State(ctx context.Context) (*State, uint64, error) {
	s, err := t.latest(ctx)
	return s.State, s.Seq, err
}

// Vault opens a vault by its name. One that does not exist, or is in the trash, is NOT_FOUND. It is in use
// until the context ends, and may be closed then; see Memory.
func (t *Team) Vault(ctx context.Context, name string) (*repo.Vault, error) {
	o, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.vault, nil
}

// Folder is the folder of a vault; nil where there are no folders.
func (t *Team) Folder(ctx context.Context, name string) (*checkout.Checkout, error) {
	o, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return o.folder, nil
}

func (t *Team) find(ctx context.Context, name string) (*opened, error) {
	e, err := t.entry(ctx, name)
	if err != nil {
		return nil, err
	}
	return t.opened(ctx, e)
}

// entry is the entry of an active vault.
func (t *Team) entry(ctx context.Context, name string) (Entry, error) {
	for _, state := range []func(context.Context) (*State, error){t.Current, t.Fresh} {
		s, err := state(ctx)
		if err != nil {
			return Entry{}, err
		}
		if e, ok := s.Vault(name); ok && e.Status == repo.Active {
			return e, nil
		}
	}
	return Entry{}, fault.NoVault(name)
}

// partOf is the partition of a vault's log, and where under the bucket its payloads lie.
func partOf(name string, incarnation int) string {
	return fmt.Sprintf("%s/%d", name, incarnation)
}

// opened is the vault of an entry, open, until the context ends. It is opened once, however many ask.
func (t *Team) opened(ctx context.Context, e Entry) (*opened, error) {
	o, err := t.usedBy(ctx, e)
	if err != nil {
		return nil, err
	}
	o.once.Do(func() { // which goes on when ctx ends
		defer t.opt.Memory.opening(o)()
		o.err = t.start(context.WithoutCancel(ctx), e, o)
	})
	if o.err != nil {
		t.opt.Memory.forget(o)
		t.drop(e, o) // the next one tries again
	}
	return o, o.err
}

// usedBy is the vault of an entry, which is in use until the context ends, and may still have to be opened.
// One that is being closed is waited for.
func (t *Team) usedBy(ctx context.Context, e Entry) (*opened, error) {
	part := partOf(e.Name, e.Incarnation)
	for {
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return nil, t.over()
		}
		t.used = t.opt.Now()
		o := t.open[part]
		if o == nil {
			o = &opened{name: e.Name}
			o.use.key = t.opt.life + "/" + part
			o.use.leave = func() {
				o.close()
				t.drop(e, o)
			}
			t.open[part] = o
		}
		left := t.opt.Memory.begin(ctx, o)
		t.mu.Unlock()
		if left == nil {
			return o, nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// drop no longer has a vault among those that are open.
func (t *Team) drop(e Entry, o *opened) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if part := partOf(e.Name, e.Incarnation); t.open[part] == o {
		delete(t.open, part)
	}
}

// over is the fault of a Team that is closed.
func (t *Team) over() error {
	if t.Gone() {
		return errGone
	}
	return stopping()
}

func stopping() error {
	return fault.New(fault.Unavailable, "the server is stopping").After(time.Second)
}

// start opens the vault of an entry, and its folder.
func (t *Team) start(ctx context.Context, e Entry, o *opened) error {
	if err := t.adoptAudit(ctx, e); err != nil {
		return err
	}
	v, err := t.vaultOf(e.Name, e.Incarnation)
	if err != nil {
		return err
	}
	if err := t.admit(ctx, v, o); err != nil {
		return err
	}
	o.vault = v
	if t.opt.Folders {
		if o.folder, err = t.checkOut(ctx, e, v); err != nil {
			return err
		}
		o.reading.Store(o.folder)
	}
	if t.opt.Background {
		o.keeper = v.Keep(repo.KeeperOptions{Log: t.opt.Log, Folding: func() repo.Folding {
			f := t.folding(context.Background())
			f.Later = f.Later || o.isReading() // an image of a part of the folder is of use to nobody
			return f
		}})
	}
	o.ready.Store(true)
	return nil
}

// isReading reports whether the folder of the vault is being read for the first time by this process.
func (o *opened) isReading() bool {
	folder := o.reading.Load()
	if folder == nil {
		return false
	}
	_, under := folder.Reading()
	return under
}

// admit makes room in memory for a vault that is to be opened. Nothing of it has been read yet.
func (t *Team) admit(ctx context.Context, v *repo.Vault, o *opened) error {
	if t.opt.Memory == nil {
		return nil
	}
	size, err := v.Foreseen(ctx)
	if err != nil {
		return err
	}
	return t.opt.Memory.admit(o, size)
}

// checkOut opens the folder of a vault.
func (t *Team) checkOut(
	ctx context.Context, e Entry, v *repo.Vault,
) (*checkout.Checkout, error) {
	o, err := t.folderOf(e.Name)
	if err != nil {
		return nil, err
	}
	o.Memory = t.bucketOf(e.Name, e.Incarnation)
	return checkout.Open(ctx, v, o)
}

// folderOf is what the checkout of a vault's folder is made with.
func (t *Team) folderOf(name string) (checkout.Options, error) {
	if t.opt.Served != nil {
		return t.served(), nil
	}
	o := checkout.Options{
		Log: t.opt.Log, Now: t.opt.Now, Who: repo.Who{Principal: auth.Local},
	}
	if t.opt.Watch != nil {
		o.Watch = func(enter func(string) bool) (blob.Watch, error) {
			return t.opt.Watch(notesOf(name), enter)
		}
	}
	var err error
	o.Files, err = t.files(name)
	return o, err
}

// close finishes what the vault does in the background: the folder first, for what is folded lies
// behind it.
func (o *opened) close() {
	if o.folder != nil {
		o.folder.Close()
	}
	if o.keeper != nil {
		o.keeper.Close()
	}
}

func (t *Team) vaultOf(name string, incarnation int) (*repo.Vault, error) {
	part := partOf(name, incarnation)
	return repo.NewVault(repo.VaultOptions{
		Name: name, Part: part, Table: t.opt.Table, Texts: t.opt.Texts, Pasts: t.opt.Pasts,
		Listed: table.Key{Part: listed, Sort: part},
		Now:    t.opt.Now, Limits: t.opt.Limits, MaxNamed: t.opt.Named, ImageItems: t.opt.Items,
		Bucket: t.bucketOf(name, incarnation),
	})
}

// bucketOf is where what belongs to one incarnation of a vault lies, its notes excepted.
func (t *Team) bucketOf(name string, incarnation int) blob.Bucket {
	return blob.Sub(t.opt.Bucket, "vaults/"+partOf(name, incarnation))
}

// Close finishes what the open vaults do in the background. Nothing may be called after it.
func (t *Team) Close() {
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
		o.once.Do(func() {}) // one that is just being opened is closed as well
		o.close()
	}
}
