package crashdisk_test

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A machine has a disk that forgets. Its life is what runs on it between two power cuts.
type machine interface {
	// folder is where the data of this life is.
	folder() string
	// open opens the data.
	open() (*store, error)
	// cutAfter lets the power go after so many changes of the disk. Who uses it does not notice.
	cutAfter(changes int, seed uint64)
	// wait waits until the power is gone.
	wait()
	// reboot begins the next life, with what was found on the disk. The last one must be closed.
	reboot()
	// stop ends the machine, which must be closed.
	stop()
}

// A store is the data of a machine, open.
type store struct {
	table  table.Table
	bucket *fileblob.Bucket
	close  func() error // of the database
}

// A life is an open vault with its folder.
type life struct {
	*store
	teams  *tenant.Registry
	vault  *repo.Vault
	folder *checkout.Checkout
}

// live opens what the machine has, and makes the vault if there is none yet. What it returns is to
// be closed, also beside an error.
func live(ctx context.Context, m machine) (*life, error) {
	s, err := m.open()
	if err != nil {
		return &life{store: s}, err
	}
	l := &life{store: s, teams: tenant.NewRegistry(tenant.Options{
		Table: s.table, Bucket: s.bucket, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Background: true, Folders: true,
	})}
	if err := l.teams.Make(ctx, "a"); err != nil {
		return l, err
	}
	a, err := l.teams.Tenant(ctx, "a")
	if err != nil {
		return l, err
	}
	l.vault, err = a.Vault(ctx, "v")
	if fault.Is(err, fault.NotFound) {
		if _, err = a.Create(ctx, eventlog.Call{}, tenant.NewVault{Name: "v", Files: first}, nothing); err == nil {
			l.vault, err = a.Vault(ctx, "v")
		}
	}
	if err == nil {
		l.folder, err = a.Folder(ctx, "v")
	}
	return l, err
}

// first are the notes that a vault begins with.
var first = []eventlog.Note{{Path: "start.md", Text: []byte("The first note.\n")}}

func nothing(tenant.Entry) any { return nil }

// end closes everything. After a power cut that is nothing that the next life could see.
func (l *life) end() error {
	if l.store == nil {
		return nil
	}
	if l.teams != nil {
		l.teams.Close()
	}
	var err error
	if l.bucket != nil {
		err = l.bucket.Close()
	}
	return errors.Join(err, l.close())
}

// files are the notes in the folder of the vault, by path, with everything else that lies there.
func (l *life) files(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	notes := blob.Sub(l.bucket, "tenants/a/vaults/v/notes")
	for o, err := range notes.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		data, _, err := notes.Get(ctx, o.Key, 0, -1)
		if err != nil {
			return nil, err
		}
		all[o.Key] = string(data)
	}
	return all, nil
}
