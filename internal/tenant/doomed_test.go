package tenant_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// lifeVariable is the environment variable that makes the test binary run a life instead of tests.
// Its value is a life in JSON.
const lifeVariable = "ROOKERY_TEAM_LIFE"

// A life describes what a process does until it is killed or finished.
type life struct {
	Dir   string
	Ahead time.Duration // of its clock at the start
	Seed  uint64
	Round int
	Deeds int  // of each client; 0: the process only folds and deletes what is left over
	Long  bool // it runs until all commits have left the table
	Doom  doom `json:"Doom"`
}

func TestMain(m *testing.M) {
	var err error
	if text := os.Getenv(lifeVariable); text != "" {
		err = liveLife(text)
	} else if text = os.Getenv(servingVariable); text != "" {
		err = liveServing(text)
	} else if text = os.Getenv(endVariable); text != "" {
		err = liveEnd(text)
	} else {
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// liveLife runs the life that text describes in JSON.
func liveLife(text string) error {
	var l life
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	return (&living{life: &l}).live(context.Background())
}

// A living is a process that runs a life.
type living struct {
	*life
	teller
	ahead atomic.Int64 // of its clock, in nanoseconds
}

func (l *living) now() time.Time { return time.Now().Add(time.Duration(l.ahead.Load())) }

// pass advances the clock by d, and reports that to the parent.
func (l *living) pass(d time.Duration) { l.tell(fmt.Sprintf("clock %d", l.ahead.Add(int64(d)))) }

// live opens the deployment and runs the life.
func (l *living) live(ctx context.Context) error {
	l.ahead.Store(int64(l.Ahead))
	l.Doom.tell = func() { l.tell("dies") }
	tab, err := bolttable.Open(filepath.Join(l.Dir, "table.db"),
		bolttable.Options{Now: l.now, LockTimeout: time.Minute})
	if err != nil {
		return err
	}
	files, err := fileblob.Open(filepath.Join(l.Dir, "files"))
	if err != nil {
		return err
	}
	older := func() time.Duration { return time.Duration(l.ahead.Load()) }
	if l.Deeds == 0 {
		older = func() time.Duration { return 0 } // nothing writes, so existing objects may look old
	}
	teams := tenant.NewRegistry(tenant.Options{
		Table: doomedTable{tab, &l.Doom}, Bucket: doomedBucket{files, &l.Doom, older},
		Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler), Now: l.now,
		Background: true, Folders: true,
	})
	a, err := teams.Tenant(ctx, "a")
	if err != nil {
		return err
	}
	v, err := a.Vault(ctx, "v")
	if err != nil {
		return err
	}
	if err := l.work(ctx, v); err != nil {
		return err
	}
	teams.Close()
	return tab.Close()
}

// work runs the clients, and folds while they write.
func (l *living) work(ctx context.Context, v *repo.Vault) error {
	failures := make(chan error, 4)
	var clients sync.WaitGroup
	for id := range 3 {
		clients.Go(func() { failures <- l.client(ctx, v, id) })
	}
	over := make(chan struct{})
	go func() {
		clients.Wait()
		close(over)
	}()
	err := l.fold(ctx, v, over)
	<-over
	if err == nil && l.Long {
		err = l.settle(ctx, v)
	}
	failures <- err
	for range 4 {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}

// fold folds until the clients are done, and then three times more. Between two passes the clock
// may advance.
func (l *living) fold(ctx context.Context, v *repo.Vault, over <-chan struct{}) error {
	r := rand.New(rand.NewPCG(l.Seed, 100))
	for more := 3; more > 0; {
		select {
		case <-over:
			more--
		default:
		}
		err := v.Compact(ctx, eventlog.Compaction{Behind: checkout.Cursors(), All: true})
		if err != nil {
			return fmt.Errorf("a pass: %w", err)
		}
		if l.Deeds == 0 || r.IntN(4) == 0 && time.Duration(l.ahead.Load())-l.Ahead < mostAhead {
			l.pass(61 * time.Minute)
		}
	}
	return nil
}

// settle folds until an image covers the whole log, for which the folder must have processed all
// commits, and then once more an hour later, so that the commits leave the table.
func (l *living) settle(ctx context.Context, v *repo.Vault) error {
	for imaged := false; ; {
		if err := v.Compact(ctx, eventlog.Compaction{Behind: checkout.Cursors(), All: true}); err != nil || imaged {
			return err
		}
		c, err := v.Control(ctx)
		if err != nil {
			return err
		}
		if c.Image != nil && c.Image.Seq == v.Known().Version() {
			l.pass(61 * time.Minute)
			imaged = true
		}
		runtime.Gosched()
	}
}

// mostAhead is how far the clock advances in one life, at most by one step more.
const mostAhead = 2 * time.Hour

// A deed is one write that a doomed process is asked to make. Its word is unique.
type deed struct {
	Kind string // set, add, new, gone, batch
	Word string
	Key  string
	Note string

	acked bool
}

// standing are the notes that the clients of all lives write to.
var standing = []string{"items/a.md", "items/b.md", "items/c.md"}

// kinds are the kinds of deeds, each as often as its share. A deed "gone" makes its note first.
var kinds = []string{"set", "add", "add", "add", "new", "gone", "batch"}

// client makes its deeds one after the other, and reports each before and after.
func (l *living) client(ctx context.Context, v *repo.Vault, id int) error {
	r := rand.New(rand.NewPCG(l.Seed, uint64(id)))
	for i := range l.Deeds {
		d := deed{Kind: kinds[r.IntN(len(kinds))], Word: fmt.Sprintf("r%03d-c%d-%03d", l.Round, id, i)}
		d.Note = "own/" + d.Word + ".md"
		if d.Kind == "set" || d.Kind == "add" {
			d.Note = standing[r.IntN(len(standing))]
		}
		if r.IntN(2) == 0 {
			d.Key = "key of " + d.Word
		}
		if d.Kind == "gone" {
			made := d
			made.Kind, made.Word, made.Key = "new", d.Word+"-made", ""
			if err := l.do(ctx, v, made); err != nil {
				return err
			}
		}
		if err := l.do(ctx, v, d); err != nil {
			return err
		}
	}
	return nil
}

// do makes a deed and reports it before and after.
func (l *living) do(ctx context.Context, v *repo.Vault, d deed) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	l.tell("tries " + string(text))
	if _, err := d.do(ctx, v); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	l.tell("did " + d.Word)
	return nil
}

// do makes the call of a deed.
func (d deed) do(ctx context.Context, v *repo.Vault) (repo.Receipt, error) {
	call := eventlog.Call{
		Who: eventlog.Who{Principal: "p"}, Tool: d.Word, Key: d.Key, Request: []byte(d.Word),
	}
	return v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		before, _, err := tx.Text(ctx, vault.Path(d.Note))
		if err != nil {
			return nil, err
		}
		for path, text := range d.change(string(before)) {
			if text == "" {
				err = tx.Remove(ctx, vault.Path(path))
			} else {
				err = tx.Put(ctx, vault.Path(path), []byte(text))
			}
			if err != nil {
				return nil, err
			}
		}
		return d.Word, nil
	})
}

// change returns the new texts of the notes that the deed changes, by path, given the text of its
// note before. An empty text means that the note is removed.
func (d deed) change(before string) map[string]string {
	switch d.Kind {
	case "set":
		return map[string]string{d.Note: "# " + d.Word + "\n\n"}
	case "add":
		return map[string]string{d.Note: before + "- " + d.Word + "\n"}
	case "gone":
		return map[string]string{d.Note: ""}
	case "batch":
		files := map[string]string{}
		for i := range 3 {
			files[fmt.Sprintf("own/%s/%d.md", d.Word, i)] = "# " + d.Word + "\n\n" + long(d.Word, i)
		}
		return files
	}
	return map[string]string{d.Note: "# " + d.Word + "\n"}
}

// long returns a text that is too large for an item of the table even when compressed.
func long(word string, i int) string {
	r := rand.New(rand.NewPCG(uint64(len(word)), uint64(i)))
	b := bytes.NewBufferString(word + " ")
	for b.Len() < 10<<10 {
		b.WriteByte(byte('!' + r.IntN(90)))
	}
	return b.String() + "\n"
}
