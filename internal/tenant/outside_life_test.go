package tenant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/watch"
)

// servingVariable is the environment variable that makes the test binary run a serving instead of
// tests. Its value is a serving in JSON.
const servingVariable = "ROOKERY_TEAM_SERVING"

// A serving describes what a process does with the folder that it serves, until it is killed or
// finished.
type serving struct {
	Dir    string
	Seed   uint64
	Round  int
	Deeds  int              // of each client; 0: the process reads the changes once
	Answer checkout.Pending // the answer to a held batch, if Deeds is 0
	Doom   doom             `json:"Doom"`

	teller
	reindexing atomic.Bool  // set while changes are read and no client may write
	pause      sync.RWMutex // locked while no client may write
	haste      *haste       // nil: no saves between two steps
}

// The names in the directory of a serving.
const (
	servedFolder = "folder" // the folder that is served
	servedState  = "state"
	servedWork   = "work" // the process's own files for the folder
	servedTable  = "table.db"
	servedLock   = "lock" // locked shared to save in several steps, exclusively to read changes at once
)

// at returns a path in the directory of the serving.
func (l *serving) at(names ...string) string {
	return filepath.Join(append([]string{l.Dir}, names...)...)
}

// liveServing runs the serving that text describes in JSON.
func liveServing(text string) error {
	l := &serving{}
	if err := json.Unmarshal([]byte(text), l); err != nil {
		return err
	}
	l.Doom.tell = func() { l.tell("dies") }
	if l.Deeds > 0 {
		l.haste = newHaste(l)
	}
	ctx := context.Background()
	s, err := l.open(ctx)
	if err != nil {
		return err
	}
	l.tell("serves")
	if l.Deeds == 0 {
		l.reindexing.Store(true)
		_, err = s.folder.Reindex(ctx, checkout.IngestOptions{Pending: l.Answer})
	} else {
		err = l.work(ctx, s)
	}
	return errors.Join(err, s.close())
}

// A servedVault is a folder that is served, and its vault.
type servedVault struct {
	teams  *tenant.Registry
	vault  *repo.Vault
	folder *checkout.Checkout
	files  *fileblob.Bucket
	close  func() error
}

// open serves the folder, and makes the vault if there is none yet.
func (l *serving) open(ctx context.Context) (*servedVault, error) {
	tab, err := bolttable.Open(l.at(servedTable), bolttable.Options{LockTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	state, err := fileblob.Open(l.at(servedState))
	if err != nil {
		return nil, err
	}
	files, err := fileblob.OpenWith(l.at(servedFolder), fileblob.Options{
		Work: l.at(servedWork), Seam: l.seam,
	})
	if err != nil {
		return nil, err
	}
	none := func() time.Duration { return 0 }
	s := &servedVault{files: files, teams: tenant.NewRegistry(tenant.Options{
		Table:  servedItems{doomedTable{tab, &l.Doom}, l},
		Bucket: doomedBucket{state, &l.Doom, none},
		Texts:  repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Background: true, Folders: true,
		Served: &tenant.Served{
			Vault: "v", Files: files,
			Watch: func(enter func(string) bool) (blob.Watch, error) {
				return new(watch.Hub).Open(l.at(servedFolder), enter)
			},
		},
	})}
	s.close = func() error {
		s.teams.Close()
		return errors.Join(files.Close(), state.Close(), tab.Close())
	}
	return s, s.find(ctx)
}

// find opens the vault, and makes it if there is none.
func (s *servedVault) find(ctx context.Context) error {
	if err := s.teams.Make(ctx, auth.Local); err != nil {
		return err
	}
	a, err := s.teams.Tenant(ctx, auth.Local) // the tenant to which a served folder belongs
	if err != nil {
		return err
	}
	s.vault, err = a.Vault(ctx, "v")
	if fault.Is(err, fault.NotFound) {
		_, err = a.Create(ctx, callOf("create"), tenant.NewVault{Name: "v"}, told)
		if err == nil {
			s.vault, err = a.Vault(ctx, "v")
		}
	}
	if err == nil {
		s.folder, err = a.Folder(ctx, "v")
	}
	return err
}

// A servedItems is a table that gives the commits of edits a step of their own.
type servedItems struct {
	doomedTable
	l *serving
}

func (t servedItems) Commit(ctx context.Context, ops ...table.Op) (err error) {
	run := ops[0].Kind != table.OpRemove && ops[0].Kind != table.OpReplace
	if !run || !t.l.reindexing.Load() {
		return t.doomedTable.Commit(ctx, ops...)
	}
	t.doom.at(takesIn, func() { err = t.doomedTable.Commit(ctx, ops...) })
	return err
}

// seam makes a change to the folder. It lets the person save before and after it, and kills the
// process at one.
func (l *serving) seam(c fileblob.Change, do func() error) (err error) {
	l.haste.before(c)
	l.Doom.at(changeName(c), func() { err = do() })
	l.haste.after(c)
	return err
}

// takesIn is the step of a commit of edits while no client writes.
const takesIn = "Commit what was found"

var changeNames = map[fileblob.Op]string{
	fileblob.Create: "create", fileblob.Write: "write", fileblob.Truncate: "truncate",
	fileblob.SyncFile: "sync", fileblob.SyncFolder: "sync the folder of", fileblob.MakeFolder: "make folder",
	fileblob.RemoveFolder: "remove folder", fileblob.Remove: "remove", fileblob.Rename: "rename",
	fileblob.Swap: "swap",
}

// changeName returns the kind of a change to the folder: the operation and the regions of its
// paths.
func changeName(c fileblob.Change) string {
	name := changeNames[c.Op] + " " + regionOf(c.Path)
	if c.To != "" {
		name += " to " + regionOf(c.To)
	}
	return name
}

// regionOf returns the kind of file at a path of the folder: a note, a file of the audit log, a
// temporary file, another file of the process, or a displaced file with its stage.
func regionOf(path string) string {
	_, displaced, is := strings.Cut(path, "/displaced/")
	switch stage, _, _ := strings.Cut(displaced, "-"); {
	case is:
		return "displaced " + stage
	case strings.HasPrefix(path, ".rookery/elsewhere/tmp/"):
		return "tmp"
	case strings.HasPrefix(path, ".rookery"):
		return "our own"
	case strings.HasPrefix(path, ".raven"):
		return "audit"
	}
	return "note"
}

// work runs the clients, and reads the person's changes while they write.
func (l *serving) work(ctx context.Context, s *servedVault) error {
	failures := make(chan error, 2)
	var clients sync.WaitGroup
	for id := range 2 {
		clients.Go(func() { failures <- l.client(ctx, s, id) })
	}
	over := make(chan struct{})
	go func() {
		clients.Wait()
		close(over)
	}()
	err := l.reindex(ctx, s, over)
	<-over
	return errors.Join(err, <-failures, <-failures)
}

// reindex reads changes again and again until the clients are done, and then once more.
func (l *serving) reindex(ctx context.Context, s *servedVault, over <-chan struct{}) error {
	for more := true; more; {
		select {
		case <-over:
			more = false
		case <-time.After(2 * time.Millisecond):
		}
		if err := l.reindexOnce(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// reindexOnce reads the changes in the folder, about every other time while no client writes.
func (l *serving) reindexOnce(ctx context.Context, s *servedVault) error {
	lock, err := lockFile(l.at(servedLock), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer lock.Close()
	if l.haste.chance(2) {
		l.pause.Lock()
		defer l.pause.Unlock()
		l.reindexing.Store(true)
		defer l.reindexing.Store(false)
	}
	_, err = s.folder.Reindex(ctx, checkout.IngestOptions{})
	return err
}

// lockFile locks a file until it is closed or the process ends. how is an operation of flock(2).
func lockFile(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// The notes that the person edits at the same time as the clients.
const (
	fresh    = "items/fresh.md"    // the editor reads it before each save
	hasty    = "items/hasty.md"    // it is saved between two steps of an exchange
	stubborn = "items/stubborn.md" // the editor never reads it again
	fleeting = "items/fleeting.md" // the person makes and removes it
)

var shared = []string{fresh, hasty, stubborn}

// blank is the first text of a shared note. Each writer adds lines to its own part, and sometimes
// changes the first line.
const blank = "state: blank\n\n# begin\n\n## client 0\n\n## client 1\n\n## somebody\n"

// adding returns the text with one line more in the part of a writer.
func adding(text, whose, word string) string {
	head := "## " + whose + "\n"
	before, behind, ok := strings.Cut(text, head)
	if !ok {
		return text + head + "- " + word + "\n"
	}
	return before + head + "- " + word + "\n" + behind
}

// stating returns the text with another first line.
func stating(text, word string) string {
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(text, "state: ") {
		return "state: " + word + "\n" + rest
	}
	return text
}

// A stroke is one write of a client or the person. Its word is unique.
type stroke struct {
	Word, Note string
	By         string // a client's name, or "somebody" for the person
	Gone       bool   // the note is removed
	State      bool   // the first line is changed too

	acked bool
}

// client makes its strokes one after the other, and reports each before and after.
func (l *serving) client(ctx context.Context, s *servedVault, id int) error {
	r := rand.New(rand.NewPCG(l.Seed, uint64(id)))
	notes := append(shared, shared...)
	for i := range l.Deeds {
		k := stroke{Word: fmt.Sprintf("r%03d-c%d-%03d", l.Round, id, i), By: fmt.Sprintf("client %d", id)}
		switch n := r.IntN(len(notes) + 3); {
		case n < len(notes):
			k.Note, k.State = notes[n], r.IntN(6) == 0
		case n == len(notes):
			k.Note, k.Gone = fleeting, r.IntN(2) == 0
		default:
			k.Note = "theirs/" + k.Word + ".md"
		}
		if err := l.stroke(ctx, s, k); err != nil {
			return err
		}
		if strings.HasPrefix(k.Note, "theirs/") && r.IntN(2) == 0 {
			k.Word, k.Gone = k.Word+"-gone", true
			if err := l.stroke(ctx, s, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// stroke makes a stroke and reports it before and after. A conflict with a note that the person
// makes at the same time is not an error.
func (l *serving) stroke(ctx context.Context, s *servedVault, k stroke) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	l.pause.RLock()
	defer l.pause.RUnlock()
	l.tell("tries " + string(text))
	done, err := k.do(ctx, s.vault)
	switch {
	case k.Note == fleeting && fault.Is(err, fault.Conflict):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", text, err)
	case done:
		l.tell("did " + k.Word)
	}
	return nil
}

// do writes a stroke to the log. It reports whether that changed anything.
func (k stroke) do(ctx context.Context, v *repo.Vault) (bool, error) {
	call := eventlog.Call{Who: eventlog.Who{Principal: "p"}, Tool: k.Word}
	done, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		before, exists, err := tx.Text(ctx, vault.Path(k.Note))
		switch {
		case err != nil, k.Gone && !exists:
			return nil, err
		case k.Gone:
			return nil, tx.Remove(ctx, vault.Path(k.Note))
		}
		return nil, tx.Put(ctx, vault.Path(k.Note), []byte(k.change(string(before))))
	})
	return done.Changed, err
}

// change returns the text after the stroke.
func (k stroke) change(text string) string {
	if text = adding(text, k.By, k.Word); k.State {
		text = stating(text, k.Word)
	}
	return text
}
