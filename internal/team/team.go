package team

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/checkout"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/table"
	"rookery/internal/vault"
	"rookery/internal/watch"
)

// A Team is one tenant, and the vaults of it that this process has open.
type Team struct {
	opt Options
	log *repo.Log[*State]

	mu     sync.Mutex
	open   map[string]*opened // by partition
	closed bool
	read   time.Time // when the state was last read from the log

	watching bool   // erasures are finished in the background
	unwatch  func() // ends that; nil: it never began

	background sync.WaitGroup
	erasing    sync.Mutex // held by who destroys a vault
}

// Options are what a Team is made with. All are required but Pasts, Compact, Folders, Watch and Served.
type Options struct {
	Table  table.Table // the tenant's own
	Bucket blob.Bucket // the tenant's own
	Texts  *repo.Texts
	Pasts  *repo.Pasts // nil: each vault has its own
	Log    *slog.Logger
	Now    func() time.Time

	// Compact makes the database forget what was removed from it. Nil: it keeps nothing of that.
	Compact func(context.Context) error

	// Folders says that Bucket is a folder in which people see the notes of each vault.
	Folders bool

	// Watch watches a folder of Bucket, which is named as a key is; see watch.Open. Nil: folders are
	// compared with their vaults from time to time.
	Watch func(folder string, enter func(folder string) bool) (*watch.Tree, error)

	// Served is a folder that somebody edits, and that lies elsewhere: the tenant has one vault, whose
	// notes are there. Nil: there is none.
	Served *Served
}

// opened is a vault that is open, or being opened.
type opened struct {
	once   sync.Once
	vault  *repo.Vault
	folder *checkout.Checkout // nil where there are no folders
	keeper *repo.Keeper
	err    error
}

// yesLife is how long a yes may be old. A no is always decided on the newest state (log.md §6).
const yesLife = time.Minute

// Open opens a tenant, and makes it where there is none.
func Open(ctx context.Context, o Options) (*Team, error) {
	t := &Team{opt: o, open: map[string]*opened{}}
	var err error
	t.log, err = repo.NewLog(repo.LogOptions[*State]{
		Table: o.Table, Bucket: blob.Sub(o.Bucket, "tenant"), Fold: fold, Now: o.Now,
	}, &State{vaults: map[string]Entry{}})
	if err != nil {
		return nil, err
	}
	if err := t.log.Create(ctx); err != nil && !errors.Is(err, repo.ErrLogExists) {
		return nil, fmt.Errorf("make the tenant: %w", err)
	}
	if err := t.refresh(ctx); err != nil {
		return nil, err
	}
	t.watch()
	return t, nil
}

// refresh reads the newest state.
func (t *Team) refresh(ctx context.Context) error {
	asked := t.opt.Now()
	if _, err := t.log.Read(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read = asked
	return nil
}

// State is the newest state of the tenant, and its version.
func (t *Team) State(ctx context.Context) (*State, uint64, error) {
	s, err := t.log.Read(ctx)
	return s.State, s.Seq, err
}

// Vault opens a vault by its name. One that does not exist, or is in the trash, is NOT_FOUND.
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
	e, ok := t.log.Known().State.Vault(name)
	t.mu.Lock()
	fresh := t.opt.Now().Sub(t.read) < yesLife
	t.mu.Unlock()
	if !fresh || !ok || e.Status != repo.Active {
		if err := t.refresh(ctx); err != nil {
			return Entry{}, err
		}
		e, ok = t.log.Known().State.Vault(name)
	}
	if !ok || e.Status != repo.Active {
		return Entry{}, fault.NoVault(name)
	}
	return e, nil
}

// partOf is the partition of a vault's log, and where under the bucket its payloads lie.
func partOf(name string, incarnation int) string {
	return fmt.Sprintf("%s/%d", name, incarnation)
}

// opened is the vault of an entry, open. It is opened once, however many ask.
func (t *Team) opened(ctx context.Context, e Entry) (*opened, error) {
	part := partOf(e.Name, e.Incarnation)
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, fault.New(fault.Unavailable, "the server is stopping").After(time.Second)
	}
	o := t.open[part]
	if o == nil {
		o = &opened{}
		t.open[part] = o
	}
	t.mu.Unlock()
	o.once.Do(func() { o.err = t.start(context.WithoutCancel(ctx), e, o) })
	if o.err != nil {
		t.mu.Lock()
		if t.open[part] == o {
			delete(t.open, part) // the next one tries again
		}
		t.mu.Unlock()
	}
	return o, o.err
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
	o.vault = v
	keep := repo.KeeperOptions{Log: t.opt.Log}
	if t.opt.Folders {
		keep.Behind = checkout.Cursors()
		if o.folder, err = t.checkOut(ctx, e, v); err != nil {
			return err
		}
	}
	o.keeper = v.Keep(keep)
	return nil
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
		o.Watch = func(enter func(string) bool) (*watch.Tree, error) {
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
		Now:    t.opt.Now,
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
	open, unwatch := maps.Clone(t.open), t.unwatch
	t.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	t.background.Wait()
	for _, o := range open {
		o.once.Do(func() {}) // one that is just being opened is closed as well
		o.close()
	}
}

// Create makes a vault. The name must be free; answer is what the call is answered.
//
// First comes the vault's own log, then the tenant's commit that names it; a call that is repeated
// after a crash between the two finds what there is and goes on (log.md §6).
func (t *Team) Create(
	ctx context.Context, c repo.Call, v NewVault, answer func(Entry) any,
) (repo.Receipt, error) {
	if err := vault.CheckName(v.Name); err != nil {
		return repo.Receipt{}, err
	}
	if t.opt.Served != nil && v.Name != t.opt.Served.Vault {
		return repo.Receipt{}, oneFolder()
	}
	return t.log.Update(ctx, c, func(ctx context.Context, d *repo.Draft[*State]) (any, error) {
		old, taken := d.State().Vault(v.Name)
		if taken && !old.Gone(d.Now()) {
			return nil, nameTaken(old, d.Now())
		}
		if (!taken || old.free()) && d.State().names() >= MaxVaults {
			return nil, fault.New(fault.QuotaExceeded, "a tenant has at most %d vaults", MaxVaults)
		}
		if err := d.Touch(old.Changed); err != nil {
			return nil, err
		}
		e := Entry{
			Name: v.Name, Incarnation: old.Incarnation + 1, Status: repo.Active, Created: d.Now(),
		}
		if !d.DryRun() {
			var err error
			if e.Left, err = t.clear(ctx, old); err != nil {
				return nil, err
			}
			if e.Incarnation, err = t.make(ctx, c, v, e.Incarnation); err != nil {
				return nil, err
			}
		}
		return answer(e), d.Record(kindVault, v.Name, e)
	})
}

// NewVault is what a vault is made with.
type NewVault struct {
	Name  string
	Files []repo.Note // its first files
}

// MaxVaults is how many vaults a tenant has at most (CONTRACT §9).
const MaxVaults = 100

func nameTaken(old Entry, now time.Time) error {
	if old.Erasure != nil {
		return beingErased(old, now)
	}
	f := fault.New(fault.DuplicateID, "there is a vault %q already", old.Name).
		With("id", old.Name)
	if old.Status == repo.Trashed {
		return f.Fix("rookery vault restore %s", old.Name)
	}
	return f
}

// clear takes away the files of the vault that had a name before, if one had: they are not those of
// the next one. Its log says which they are. What somebody changed in them stays, and is told.
func (t *Team) clear(ctx context.Context, old Entry) ([]string, error) {
	if old.Name == "" || old.Erasure != nil || !t.opt.Folders {
		return nil, nil
	}
	o, err := t.opened(ctx, old)
	if err != nil {
		return nil, err
	}
	o.close()
	left, err := o.folder.Clear(ctx)
	t.mu.Lock()
	delete(t.open, partOf(old.Name, old.Incarnation))
	t.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("clear the folder of the vault before: %w", err)
	}
	return left, nil
}

// make makes the log of a vault, at the incarnation or the next one whose log nobody else began.
func (t *Team) make(ctx context.Context, c repo.Call, v NewVault, incarnation int) (int, error) {
	for ; ; incarnation++ {
		made, err := t.vaultOf(v.Name, incarnation)
		if err != nil {
			return 0, err
		}
		err = made.Create(ctx, c, v.Files)
		if !errors.Is(err, repo.ErrLogExists) {
			return incarnation, err
		}
	}
}

// Trash puts a vault in the trash: nothing reads or writes it until it is restored.
func (t *Team) Trash(
	ctx context.Context, c repo.Call, name string, answer func(Entry) any,
) (repo.Receipt, error) {
	if t.opt.Served != nil {
		return repo.Receipt{}, oneFolder()
	}
	return t.turn(ctx, c, name, repo.Trashed, answer)
}

// Restore takes a vault out of the trash.
func (t *Team) Restore(
	ctx context.Context, c repo.Call, name string, answer func(Entry) any,
) (repo.Receipt, error) {
	return t.turn(ctx, c, name, repo.Active, answer)
}

// turn changes the status of a vault: of its own log first, so that no write can come after it.
func (t *Team) turn(
	ctx context.Context, c repo.Call, name string, to repo.Status, answer func(Entry) any,
) (repo.Receipt, error) {
	return t.log.Update(ctx, c, func(ctx context.Context, d *repo.Draft[*State]) (any, error) {
		e, ok := d.State().Vault(name)
		gone := e.Gone(d.Now()) || e.Erasure != nil
		if !ok || gone || e.Status == repo.Trashed && to == repo.Trashed {
			return nil, fault.NoVault(name)
		}
		if err := d.Touch(e.Changed); err != nil {
			return nil, err
		}
		if !d.DryRun() {
			o, err := t.opened(ctx, e)
			if err != nil {
				return nil, err
			}
			if err := o.vault.SetStatus(ctx, c, to); err != nil {
				return nil, err
			}
		}
		if e.Status == to {
			return answer(e), nil // its own log may not have been, after a crash
		}
		e.Status, e.Trashed = to, time.Time{}
		if to == repo.Trashed {
			e.Trashed = d.Now()
		}
		return answer(e), d.Record(kindVault, name, e)
	})
}
