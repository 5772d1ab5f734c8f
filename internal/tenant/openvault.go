package tenant

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
)

// An openVault is a vault that is open or being opened. once opens it; the first caller of Do does the
// work, and the others wait. Until ready is set, only the goroutine in once may read the other
// fields, except name, use and reading.
type openVault struct {
	once   sync.Once
	vault  *repo.Vault
	folder *checkout.Checkout // nil where there are no folders
	keeper *repo.Compactor    // nil without Background
	err    error

	ready   atomic.Bool // vault and folder are set and may be read by other goroutines
	use     use         // guarded by Options.Memory
	name    string
	reading atomic.Pointer[checkout.Checkout] // the folder, readable without waiting for once; nil: not open
}

// openVault returns the vault of an entry, open until ctx ends. Concurrent callers open it only once.
// An error is returned to all that waited, and then forgotten, so that the next caller tries again.
func (t *Tenant) openVault(ctx context.Context, e Entry) (*openVault, error) {
	o, err := t.acquireVault(ctx, e)
	if err != nil {
		return nil, err
	}
	o.once.Do(func() { // continues if ctx ends
		defer t.opt.Memory.opening(o)()
		o.err = t.start(context.WithoutCancel(ctx), e, o)
	})
	if o.err != nil {
		t.opt.Memory.forget(o)
		t.drop(e, o) // the next caller tries again
	}
	return o, o.err
}

// acquireVault returns the vault of an entry, in use until ctx ends. It may not be open yet. If the vault
// is being closed, acquireVault waits for that, and then returns a new value; it returns the cause of ctx
// if that ends first. After Close it returns the fault of over.
func (t *Tenant) acquireVault(ctx context.Context, e Entry) (*openVault, error) {
	part := partOf(e.Name, e.Incarnation)
	for {
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return nil, t.closedError()
		}
		t.used = t.opt.Now()
		o := t.open[part]
		if o == nil {
			o = &openVault{name: e.Name}
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

// drop removes a vault from the open ones, unless another value has taken its place: a failed
// opening may be dropped by several callers.
func (t *Tenant) drop(e Entry, o *openVault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if part := partOf(e.Name, e.Incarnation); t.open[part] == o {
		delete(t.open, part)
	}
}

// closedError returns the fault of a closed Tenant.
func (t *Tenant) closedError() error {
	if t.Gone() {
		return errGone
	}
	return stopping()
}

// stopping returns the fault of a call during shutdown.
func stopping() error {
	return fault.New(fault.Unavailable, "the server is stopping").After(time.Second)
}

// start opens the vault of an entry, with its folder and its compactor. The memory is reserved
// before anything of the vault is read.
func (t *Tenant) start(ctx context.Context, e Entry, o *openVault) error {
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
		o.keeper = v.StartCompactor(repo.CompactorOptions{Log: t.opt.Log, Folding: func() eventlog.Compaction {
			f := t.compaction(context.Background())
			f.Later = f.Later || o.isReading() // an image of a part of the folder has no use
			return f
		}})
	}
	o.ready.Store(true)
	return nil
}

// isReading reports whether the folder of the vault is being read for the first time by this
// process. Images are not due then: they would contain a part of the folder.
func (o *openVault) isReading() bool {
	folder := o.reading.Load()
	if folder == nil {
		return false
	}
	_, under := folder.Reading()
	return under
}

// admit reserves memory for a vault that is about to be opened. The vault has not been read yet.
func (t *Tenant) admit(ctx context.Context, v *repo.Vault, o *openVault) error {
	if t.opt.Memory == nil {
		return nil
	}
	size, err := v.Foreseen(ctx)
	if err != nil {
		return err
	}
	return t.opt.Memory.admit(o, size)
}

// checkOut opens the folder of a vault. The marks of its files are kept in the vault's bucket for
// the next process.
func (t *Tenant) checkOut(
	ctx context.Context, e Entry, v *repo.Vault,
) (*checkout.Checkout, error) {
	o, err := t.folderOf(e.Name)
	if err != nil {
		return nil, err
	}
	o.Memory = t.bucketOf(e.Name, e.Incarnation)
	return checkout.Open(ctx, v, o)
}

// folderOf returns the options of the checkout of a vault's folder.
func (t *Tenant) folderOf(name string) (checkout.Options, error) {
	if t.opt.Served != nil {
		return t.served(), nil
	}
	o := checkout.Options{
		Log: t.opt.Log, Now: t.opt.Now, Who: eventlog.Who{Principal: auth.Local},
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

// close stops the background work of the vault and waits for it: first the folder, because the
// compactor must not trim commits that the folder has not written yet. The vault itself has nothing
// to close.
func (o *openVault) close() {
	if o.folder != nil {
		o.folder.Close()
	}
	if o.keeper != nil {
		o.keeper.Close()
	}
}

// vaultOf returns an incarnation of a vault without reading it. Each call returns another instance,
// which knows nothing of the others; the one that calls use is in t.open.
func (t *Tenant) vaultOf(name string, incarnation int) (*repo.Vault, error) {
	part := partOf(name, incarnation)
	return repo.NewVault(repo.VaultOptions{
		Name: name, Part: part, Table: t.opt.Table, Texts: t.opt.Texts, Pasts: t.opt.Snapshots,
		Listed: table.Key{Part: listed, Sort: part},
		Now:    t.opt.Now, Limits: t.opt.Limits, MaxNamed: t.opt.MaxNamed, ImageItems: t.opt.Items,
		Bucket: t.bucketOf(name, incarnation),
	})
}

// bucketOf returns the bucket of one incarnation of a vault. It does not contain the notes.
func (t *Tenant) bucketOf(name string, incarnation int) blob.Bucket {
	return blob.Sub(t.opt.Bucket, "vaults/"+partOf(name, incarnation))
}

// A Served is a folder that is served in place as a vault. Vault and Files are required. The folder
// belongs to a person, so the server never creates, trashes or erases its vault; see singleFolder.
type Served struct {
	Vault    string // name of the vault
	Files    checkout.Files
	Watch    func(enter func(folder string) bool) (blob.Watch, error) // nil: the folder is not watched
	Away     func() bool                                              // see checkout.Options
	ReadOnly bool                                                     // the folder cannot be written

	// Progress receives the number of files imported so far if an import takes long; see
	// checkout.Options.
	Progress func(done, total int)
}

// served returns the options of the checkout of the served folder.
func (t *Tenant) served() checkout.Options {
	s := t.opt.Served
	return checkout.Options{
		Files: s.Files, Log: t.opt.Log, Now: t.opt.Now, Who: eventlog.Who{Principal: auth.Local},
		Watch: s.Watch, Away: s.Away, ReadOnly: s.ReadOnly, Progress: s.Progress,
	}
}

// A FirstReading is a vault whose folder this process is reading for the first time.
type FirstReading struct {
	Vault  string
	Folder *checkout.Checkout
}

// FirstReadings returns the open vaults whose folders are being read for the first time, sorted by
// name. It does not wait for vaults that are being opened, so that a start can report its progress.
func (t *Tenant) FirstReadings() []FirstReading {
	var all []FirstReading
	t.mu.Lock()
	for _, o := range t.open {
		if folder := o.reading.Load(); folder != nil {
			all = append(all, FirstReading{o.name, folder})
		}
	}
	t.mu.Unlock()
	all = slices.DeleteFunc(all, func(b FirstReading) bool {
		_, under := b.Folder.Reading()
		return !under
	})
	slices.SortFunc(all, func(a, b FirstReading) int { return strings.Compare(a.Vault, b.Vault) })
	return all
}

// adoptAudit imports the audit log in a folder that is served for the first time. It uses a
// separate instance of the vault, because the log must have these lines before the first Follower
// begins.
func (t *Tenant) adoptAudit(ctx context.Context, e Entry) error {
	if t.opt.Served == nil {
		return nil
	}
	v, err := t.vaultOf(e.Name, e.Incarnation) // a separate instance, not the one that is opened
	if err != nil {
		return err
	}
	return checkout.AdoptAudit(ctx, v, t.served())
}

// singleFolder returns the fault of a call that would create another vault than the served folder, or
// remove this one: its files belong to a person.
func singleFolder() error {
	return fault.New(fault.InvalidParameter, "this server serves one folder, which is its only vault").
		OnServer("serve --data DIR")
}
