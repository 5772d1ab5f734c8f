package tenant

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

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
