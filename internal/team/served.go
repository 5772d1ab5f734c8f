package team

import (
	"context"
	"slices"
	"strings"

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/checkout"
	"rookery/internal/fault"
	"rookery/internal/repo"
)

// A Served is a folder that is served in place. Vault and Files are required.
type Served struct {
	Vault    string // the name of its vault
	Files    checkout.Files
	Watch    func(enter func(folder string) bool) (blob.Watch, error) // nil: it is not watched
	Away     func() bool                                              // see checkout.Options
	ReadOnly bool                                                     // nothing can be written to it

	// Progress is told how many of the files are taken in, where that takes long; see
	// checkout.Options.
	Progress func(done, total int)
}

// served is what the checkout of the folder that is served is made with.
func (t *Team) served() checkout.Options {
	s := t.opt.Served
	return checkout.Options{
		Files: s.Files, Log: t.opt.Log, Now: t.opt.Now, Who: repo.Who{Principal: auth.Local},
		Watch: s.Watch, Away: s.Away, ReadOnly: s.ReadOnly, Progress: s.Progress,
	}
}

// A BeingRead is a vault whose folder is being read for the first time by this process.
type BeingRead struct {
	Vault  string
	Folder *checkout.Checkout
}

// BeingRead returns the open vaults whose folders are being read for the first time, by name.
func (t *Team) BeingRead() []BeingRead {
	var all []BeingRead
	t.mu.Lock()
	for _, o := range t.open {
		if folder := o.reading.Load(); folder != nil {
			all = append(all, BeingRead{o.name, folder})
		}
	}
	t.mu.Unlock()
	all = slices.DeleteFunc(all, func(b BeingRead) bool {
		_, under := b.Folder.Reading()
		return !under
	})
	slices.SortFunc(all, func(a, b BeingRead) int { return strings.Compare(a.Vault, b.Vault) })
	return all
}

// adoptAudit takes in the audit log that lies in a folder which is served for the first time.
func (t *Team) adoptAudit(ctx context.Context, e Entry) error {
	if t.opt.Served == nil {
		return nil
	}
	v, err := t.vaultOf(e.Name, e.Incarnation) // not the one that is to be followed
	if err != nil {
		return err
	}
	return checkout.AdoptAudit(ctx, v, t.served())
}

// oneFolder is the fault of a call that would make another vault than the folder that is served, or
// take this one away: its files are somebody's own.
func oneFolder() error {
	return fault.New(fault.InvalidParameter, "this server serves one folder, which is its only vault").
		OnServer("serve --data DIR")
}
