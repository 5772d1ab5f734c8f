package checkout_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// in moves the clock of a place into a month.
func (p *place) in(t *testing.T, month string) {
	t.Helper()
	at, err := time.Parse("2006-01", month)
	require.NoError(t, err)
	p.clock.Store(&at)
}

// auditFiles returns the existing files of the audit log.
func (p *place) auditFiles(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, path := range p.paths(t) {
		if name, ok := strings.CutPrefix(path, ".raven/"); ok {
			found[name] = p.file(t, path)
		}
	}
	return found
}

// auditByMonths returns the files that follow from the log: the commits of the newest month that
// has any lines are in the open file.
func auditByMonths(t *testing.T, v *repo.Vault) map[string]string {
	t.Helper()
	want, newest := map[string]string{}, ""
	for c, err := range v.Commits(t.Context(), 1) {
		require.NoError(t, err)
		if lines := repo.AuditLines(c); len(lines) > 0 {
			newest = c.Time.UTC().Format("audit.2006-01.log")
			want[newest] += string(lines)
		}
	}
	if newest != "" {
		want["audit.log"] = want[newest]
		delete(want, newest)
	}
	return want
}

// verified requires that the audit log verifies, for a reader that looks at the folder while
// another process writes it.
func (p *place) verified(t *testing.T) {
	t.Helper()
	v := p.vault(t)
	file, err := auditlog.Read(t.Context(), v, p.files)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), file)
	require.NoError(t, err)
}

// audited requires that the files are those that follow from the log, and that they verify.
func (p *place) audited(t *testing.T, v *repo.Vault) {
	t.Helper()
	require.Equal(t, auditByMonths(t, v), p.auditFiles(t))
	p.verified(t)
}

// TestMonths checks that the file of a month is closed by the first line of a later month, within
// one process and over several, and that a month without lines has no file.
func TestMonths(t *testing.T) {
	p := newPlace(t, nil)
	p.in(t, "2031-10")
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "a.md", "two\n")
	folder.Close()
	require.Equal(t, []string{"audit.log"}, slices.Sorted(maps.Keys(p.auditFiles(t))))
	p.audited(t, v)

	p.in(t, "2031-12")
	v, folder = p.open(t)
	require.NoError(t, v.SetStatus(t.Context(), repo.Call{}, repo.Trashed))
	require.NoError(t, v.SetStatus(t.Context(), repo.Call{}, repo.Active))
	folder.Close()
	require.Equal(t, []string{"audit.log"}, slices.Sorted(maps.Keys(p.auditFiles(t))),
		"what has no line closes nothing")
	p.verified(t)

	v, folder = p.open(t)
	write(t, v, "b.md", "one\n")
	p.in(t, "2032-01")
	write(t, v, "c.md", "one\n")
	p.in(t, "2032-03")
	write(t, v, "c.md", "two\n")
	found, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, found.Count+found.Missed)
	folder.Close()
	require.Equal(t, []string{
		"audit.2031-10.log", "audit.2031-12.log", "audit.2032-01.log", "audit.log",
	}, slices.Sorted(maps.Keys(p.auditFiles(t))))
	p.audited(t, v)

	require.NoError(t, v.SetStatus(t.Context(), repo.Call{}, repo.Trashed))
	kept, err := folder.Clear(t.Context())
	require.NoError(t, err)
	require.Empty(t, kept)
	require.NoDirExists(t, p.dir)
}

// errDead is the error of all calls of a process that was killed.
var errDead = errors.New("killed")

// A death is the end of a process at one of the calls that write the audit log: a write of one of
// its files, or of the control item. Later calls have no effect. If the process dies while it
// appends to a file, half of the text is written.
type death struct {
	late bool // a change of the control item of which it dies is done
	mu   sync.Mutex
	left int
}

// strikes reports whether the process is dead, and whether it died at this call.
func (d *death) strikes() (dead, now bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left--
	return d.left < 0, d.left == -1
}

func (d *death) came() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left < 0
}

// plan is the plan of a table.
func (d *death) plan(c tabletest.Call) tabletest.Fault {
	if c.Method != tabletest.Commit || c.Ops[0].Item.Sort != "log/~" {
		return tabletest.None
	}
	dead, now := d.strikes()
	switch {
	case now && d.late:
		return tabletest.After
	case dead:
		return tabletest.Before
	}
	return tabletest.None
}

// mortal are the files of a process that dies.
type mortal struct {
	checkout.Files
	*death
}

func (m mortal) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	if dead, _ := m.strikes(); dead {
		return "", errDead
	}
	return m.Files.Put(ctx, key, data, c)
}

func (m mortal) Append(ctx context.Context, key string, n int64, data []byte) error {
	dead, now := m.strikes()
	if now {
		data = data[:len(data)/2]
	} else if dead {
		return errDead
	}
	err := m.Files.Append(ctx, key, n, data)
	if now {
		err = errDead
	}
	return err
}

func (m mortal) Delete(ctx context.Context, key string) error {
	if dead, _ := m.strikes(); dead {
		return errDead
	}
	return m.Files.Delete(ctx, key)
}

func (m mortal) Sync(ctx context.Context, keys ...string) error {
	if dead, _ := m.strikes(); dead {
		return errDead
	}
	return m.Files.Sync(ctx, keys...)
}

// dying opens the folder as a process that dies.
func (p *place) dying(t *testing.T, d *death) (*repo.Vault, *checkout.Checkout) {
	t.Helper()
	base, below := p.table, p.files
	p.table = tabletest.NewFlaky(base, d.plan)
	p.files = &files{Files: mortal{below.Files, d}}
	v, folder := p.open(t)
	p.table, p.files = base, below
	return v, folder
}

// eachDeath runs a test with processes that die later and later, until one survives.
func eachDeath(t *testing.T, late bool, run func(t *testing.T, d *death)) {
	t.Helper()
	for n := 0; ; n++ {
		d := &death{late: late, left: n}
		if run(t, d); !d.came() {
			require.Greater(t, n, 4, "there is something to die of")
			return
		}
	}
}

// TestKilledWhileClosing kills the process at each step of writing the audit log. It checks that
// the remaining files verify, and that the next process completes them to those that follow from
// the log.
func TestKilledWhileClosing(t *testing.T) {
	for name, meanwhile := range map[string]func(t *testing.T, p *place){
		"orderly":       func(*testing.T, *place) {},
		"orderly, late": func(*testing.T, *place) {},
		"cut off":       func(t *testing.T, p *place) { p.edit(t, audit, "{}\n") },
		"taken away":    func(t *testing.T, p *place) { require.NoError(t, os.Remove(filepath.Join(p.dir, audit))) },
		"one for all":   oneForAll,
		"over the same": func(t *testing.T, p *place) { p.edit(t, ".raven/audit.2031-11.log", "old\n") },
	} {
		t.Run(name, func(t *testing.T) {
			eachDeath(t, name == "orderly, late", func(t *testing.T, d *death) {
				p := newPlace(t, nil)
				for _, month := range []string{"2031-09", "2031-11"} {
					p.in(t, month)
					v, folder := p.open(t)
					write(t, v, "a.md", month+"\n")
					folder.Close()
				}
				p.in(t, "2031-11")
				meanwhile(t, p)
				v, folder := p.dying(t, d)
				for _, month := range []string{"2031-11", "2032-02"} {
					p.in(t, month)
					write(t, v, "b.md", month+"\n")
				}
				folder.Close()
				if strings.HasPrefix(name, "orderly") {
					p.verified(t)
				}
				v, folder = p.open(t)
				write(t, v, "c.md", "goes on\n")
				folder.Close()
				p.audited(t, v)
			})
		})
	}
}

// oneForAll puts all months into one file, as earlier releases did.
func oneForAll(t *testing.T, p *place) {
	t.Helper()
	var all strings.Builder
	found := p.auditFiles(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all.WriteString(found[name])
	}
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, ".raven")))
	p.edit(t, audit, all.String())
	err := p.vault(t).Change(t.Context(), func(c *repo.Control) bool {
		at := c.Cursors["audit"]
		at.Size, at.Month = int64(all.Len()), ""
		c.Cursors["audit"] = at
		return true
	})
	require.NoError(t, err)
	p.verified(t)
}

// TestOneFileForAllMonths checks that a folder in which no month was closed continues with a file
// for each month.
func TestOneFileForAllMonths(t *testing.T) {
	p := newPlace(t, nil)
	for _, month := range []string{"2031-08", "2031-09", "2031-11"} {
		p.in(t, month)
		v, folder := p.open(t)
		write(t, v, month+".md", "one\n")
		folder.Close()
	}
	oneForAll(t, p)
	_, folder := p.open(t)
	folder.Close()
	p.verified(t)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	folder.Close()
	require.Equal(t, []string{"audit.2031-08.log", "audit.2031-09.log", "audit.log"},
		slices.Sorted(maps.Keys(p.auditFiles(t))))
	p.audited(t, v)
}

// TestClosedMonthDamaged checks that damage to a closed month is found with its file and line, and
// that the file is written again when it is moved away.
func TestClosedMonthDamaged(t *testing.T) {
	const october = ".raven/audit.2031-10.log"
	for _, c := range []struct {
		name, file, text string // text: the part of October that is put there
		line             int
	}{
		{"altered", october, "{x\n", 1},
		{"its last line altered", october, "1{x\n", 2},
		{"a line cut off", october, "1", 2},
		{"longer", october, "12{}\n", 3},
		{"swapped", october, "21", 1},
		{"a month that nobody wrote", ".raven/audit.2031-11.log", "1", 1},
		{"a later month", ".raven/audit.2032-11.log", "1", 1},
		{"gone", october, "(none)", 1},
		{"a link", october, "(link)", 0},
		{"the open one begins with it", audit, "12", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, nil)
			p.in(t, "2031-10")
			v, folder := p.open(t)
			write(t, v, "a.md", "one\n")
			write(t, v, "b.md", "one\n")
			p.in(t, "2031-12")
			write(t, v, "c.md", "one\n")
			folder.Close()
			p.audited(t, v)
			p.damage(t, c.file, c.text)

			file, err := folder.AuditFile(t.Context())
			if err == nil {
				_, err = p.vault(t).Verify(t.Context(), file)
			}
			f := fault.Of(err)
			require.Equal(t, fault.FileError, f.Code, "%v", err)
			require.Equal(t, &fault.Location{File: c.file, Line: c.line}, f.Location)
			require.NotEmpty(t, f.Fixes)

			require.NoError(t, os.RemoveAll(filepath.Join(p.dir, ".raven")))
			v, folder = p.open(t)
			write(t, v, "d.md", "one\n")
			folder.Close()
			p.audited(t, v)
		})
	}
}

// damage replaces a file by some of the lines of October, by nothing, or by a link to them.
func (p *place) damage(t *testing.T, file, text string) {
	t.Helper()
	lines := strings.SplitAfter(p.file(t, ".raven/audit.2031-10.log"), "\n")
	at := filepath.Join(p.dir, file)
	switch text {
	case "(none)":
		require.NoError(t, os.Remove(at))
	case "(link)":
		require.NoError(t, os.Rename(at, at+"~"))
		require.NoError(t, os.Symlink(filepath.Base(at)+"~", at))
	default:
		p.edit(t, file, strings.NewReplacer("1", lines[0], "2", lines[1]).Replace(text))
	}
}

// TestAdoptMonths checks that a vault which is rebuilt from its folder has the data in the closed
// months, that its files then are those that follow from its own log, and that a rebuild that was
// interrupted can be repeated.
func TestAdoptMonths(t *testing.T) {
	from := newPlace(t, nil)
	var was *repo.Vault
	for _, month := range []string{"2031-08", "2031-09", "2031-11"} {
		from.in(t, month)
		v, folder := from.open(t)
		write(t, v, "schema.yaml", "traits: {due: date}\n")
		write(t, v, month+".md", "- @due(2031-12-01) of "+month+"\n")
		write(t, v, "all.md", "# "+month+"\n")
		folder.Close()
		was = v
	}
	eachDeath(t, false, func(t *testing.T, d *death) {
		p := newPlace(t, nil)
		p.in(t, "2031-12")
		require.NoError(t, os.CopyFS(p.dir, os.DirFS(from.dir)))
		base := p.table
		p.table = tabletest.NewFlaky(base, d.plan)
		_, err := checkout.Adopt(t.Context(), p.vault(t), mortal{p.files.Files, d},
			repo.Call{Tool: "reindex"})
		require.Equal(t, d.came(), err != nil, "%v", err)
		p.table = base
		v := p.vault(t)
		_, err = checkout.Adopt(t.Context(), v, p.files, repo.Call{Tool: "reindex"})
		require.NoError(t, err)
		p.verified(t)
		v, folder := p.open(t)
		folder.Close()
		p.audited(t, v)
		require.Equal(t, []string{"audit.log"}, slices.Sorted(maps.Keys(p.auditFiles(t))))
		requireSameTimes(t, was, v)
	})
}

// requireSameTimes requires that the notes of two vaults have the same ids and times.
func requireSameTimes(t *testing.T, was, is *repo.Vault) {
	t.Helper()
	before, err := was.Read(t.Context())
	require.NoError(t, err)
	now, err := is.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Totals().Notes, now.Totals().Notes)
	for n := range before.Notes("") {
		again, ok := now.Note(n.Path)
		require.True(t, ok, n.Path)
		require.Equal(t, n.TraitIDs(), again.TraitIDs(), n.Path)
		require.Equal(t, n.Created, again.Created, n.Path)
		require.Equal(t, n.Modified, again.Modified, n.Path)
	}
}
