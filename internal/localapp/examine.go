package localapp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"rookery/internal/bolttable"
	"rookery/internal/config"
	"rookery/internal/fault"
	"rookery/internal/fileblob"
	"rookery/internal/folder"
	"rookery/internal/hosted"
	"rookery/internal/repo"
	"rookery/internal/table"
	"rookery/internal/team"
)

// An Examination says what is to be examined. Data is required, or Folder and State.
type Examination struct {
	Data   string // a data directory
	Folder string // a folder that is served in place
	State  string // where the databases of such folders lie
	Vault  string // only this vault; empty: all
	Full   bool   // every payload is compared with its digest
	Now    func() time.Time

	// Server is what the file of a hosted server says: the rules of tenants are compared with its issuers.
	Server config.Config

	// Token is what a server that holds the directory is shown, by its URL. Nil, or an empty one: nothing.
	Token func(ctx context.Context, server string) (string, error)
}

// An examination is one that is being made.
type examination struct {
	Examination
	place
	folder *folder.Folder // nil: a data directory is examined
	found  []repo.Finding
}

// Examine looks a data directory over, or a folder that is served, and says what it found, and what to
// do. It changes nothing there. While a server holds it, what cannot be seen from beside it is asked of
// the server.
func Examine(ctx context.Context, how Examination) []repo.Finding {
	if how.Now == nil {
		how.Now = time.Now
	}
	e := &examination{Examination: how, place: dataPlace(how.Data)}
	if e.enter() && e.directory() {
		e.space()
		e.leftovers(ctx)
		e.database(ctx)
	}
	return e.found
}

func (e *examination) add(all ...repo.Finding) { e.found = append(e.found, all...) }

// enter finds the state of the folder, if one is to be examined. It reports whether there is something
// to look at.
func (e *examination) enter() bool {
	const check = "folder"
	if e.Folder == "" {
		if folder.IsState(e.Data) {
			e.add(repo.Failure("directory", isState(), "rookery doctor "+folderOption))
			return false
		}
		return true
	}
	f, err := folder.Find(e.Folder, e.State)
	if err != nil {
		e.add(repo.Failure(check, err, ""))
		return false
	}
	e.folder, e.place = f, folderPlace(f.State, f.Vault)
	e.add(e.origin())
	return f.State != ""
}

// origin says what the folder is.
func (e *examination) origin() repo.Finding {
	const check = "folder"
	f := e.folder
	begins := "rookery serve " + folderOption + " begins one"
	switch {
	case f.Origin == folder.Copied:
		return repo.Warning(check, fmt.Sprintf("it is a copy of %s, and has no history of its own yet",
			f.From), begins)
	case f.State == "":
		return repo.Warning(check, "it has no history on this machine: it was never served", begins)
	case f.Origin == folder.Moved:
		return repo.Warning(check, fmt.Sprintf("it was moved here from %s since it was served", f.From),
			"nothing to do: it is the same vault; the next rookery serve records the new path")
	}
	return repo.Good(check, fmt.Sprintf("it is the vault %s; its history is in %s", f.Vault,
		f.State))
}

// directory looks at the directory itself. It reports whether there is one that can be read.
func (e *examination) directory() bool {
	const check = "directory"
	info, err := os.Stat(e.dir)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.add(repo.Failure(check, fault.New(fault.NotFound, "there is no data directory %s", e.dir),
			"name the right one with --data DIR; rookery serve --data DIR makes a new one"))
		return false
	case err != nil:
		e.add(repo.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return false
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o700 != 0o700:
		e.add(repo.Failure(check, fault.New(fault.FileError,
			"its owner has no permission to read, write and enter it (%#o)", mode), "chmod 700 "+e.dir))
	default:
		e.exposure()
	}
	return true
}

// exposure looks at what other users of the machine have permissions for.
func (e *examination) exposure() {
	const check = "directory"
	name, mode, count, err := e.exposed()
	switch {
	case err != nil:
		e.add(repo.Failure(check, fault.New(fault.FileError, "its permissions cannot be read: %v", err), ""))
	case count > 0:
		e.add(repo.Warning(check, e.openTo(name, mode, count), e.closing()))
	default:
		e.add(repo.Good(check, e.dir))
	}
}

// The space that a disk should have left: below the first nothing works for long, and below either of
// the others it is time to do something.
const (
	leastSpace   = 64 << 20
	littleSpace  = 1 << 30
	littleShare  = 20 // one part in so many
	makeSomeRoom = "free some space on the disk: without free space, writes are refused"
)

// space looks at what the disk has left; where the folder is on another one, at that too.
func (e *examination) space() {
	e.spaceOf(e.dir)
	if e.folder != nil && !sameDisk(e.dir, e.folder.Path) {
		e.spaceOf(e.folder.Path)
	}
}

// sameDisk reports whether two directories have the same room left.
func sameDisk(a, b string) bool {
	freeA, totalA, errA := fileblob.Space(a)
	freeB, totalB, errB := fileblob.Space(b)
	return errA == nil && errB == nil && totalA == totalB && freeA/littleSpace == freeB/littleSpace
}

// spaceOf looks at what the disk of a directory has left.
func (e *examination) spaceOf(dir string) {
	const check = "space"
	free, total, err := fileblob.Space(dir)
	message := fmt.Sprintf("%d MiB of %d MiB are free", free>>20, total>>20)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		e.add(repo.Skipped(check, "the free space is unknown on this system", ""))
	case err != nil:
		e.add(repo.Failure(check, err, ""))
	case free < leastSpace:
		e.add(repo.Failure(check, fault.New(fault.StorageError, "%s", message), makeSomeRoom))
	case free < littleSpace, free < total/littleShare:
		e.add(repo.Warning(check, message, makeSomeRoom))
	default:
		e.add(repo.Good(check, message))
	}
}

// files opens, to be looked at, the folder that people see.
func (e *examination) files() (*fileblob.Bucket, error) {
	if e.folder == nil {
		return fileblob.Look(e.dir)
	}
	return fileblob.OpenWith(e.folder.Path, fileblob.Options{
		Work: filepath.Join(e.dir, workDir), ReadOnly: true,
	})
}

// leftovers looks for what a killed process left.
func (e *examination) leftovers(ctx context.Context) {
	const check = "leftovers"
	files, err := e.files()
	if err != nil {
		e.add(repo.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	defer files.Close()
	unplaced, displaced, err := files.Leftovers(ctx)
	if err != nil {
		e.add(repo.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	where := ".rookery"
	if e.folder != nil {
		where = workDir
	}
	for _, key := range displaced {
		e.add(repo.Warning(check, "somebody's text of "+key+" was displaced and saved",
			"the next start picks it up; it is in "+where+"/displaced in the directory"))
	}
	if len(displaced) == 0 {
		message := "none"
		if unplaced > 0 {
			message = fmt.Sprintf("temporary files: %d; the next start removes them", unplaced)
		}
		e.add(repo.Good(check, message))
	}
}

// database looks at the database and at what it holds; if another process has it, through that.
func (e *examination) database(ctx context.Context) {
	const check = "database"
	if err := e.checkLoss(); err != nil {
		e.add(repo.Failure(check, err, ""))
		return
	}
	db, err := bolttable.Look(filepath.Join(e.dir, database),
		bolttable.Options{Now: e.Now, LockTimeout: lockPatience})
	switch {
	case errors.Is(err, bolttable.ErrLocked):
		e.held(ctx)
		return
	case errors.Is(err, fs.ErrNotExist):
		err = fault.New(fault.NotFound, "there is no %s in the directory", database)
		e.add(repo.Failure(check, err,
			"name the right directory with "+e.option+"; rookery serve "+e.option+" begins a new database"))
		return
	case errors.Is(err, bolttable.ErrFormat):
		e.add(repo.Failure(check, fault.New(fault.IndexIncompatible, "%v", err),
			"run the release that wrote it, or a newer one"))
		return
	case errors.Is(err, bolttable.ErrDamaged):
		e.add(repo.Failure(check, fault.New(fault.IndexError, "%v", err), e.restore()))
		return
	case err != nil:
		e.add(repo.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	defer db.Close()
	e.add(repo.Good("lock", "no process has the directory open"))
	if e.sound(ctx, db) {
		e.vaults(ctx, db)
	}
}

// restore is what to do about a database that is damaged.
func (p place) restore() string {
	return "stop every process that uses the data directory, and make a copy of it; then restore all of it " +
		"from one backup, or move " + database + " away and rebuild the vaults from their " +
		"files: rookery rebuild " + p.option
}

// sound checks the pages of the database. It reports whether what is in it can be read.
func (e *examination) sound(ctx context.Context, db table.Checker) bool {
	const check = "database"
	for damage := range db.Check(ctx) {
		e.add(repo.Failure(check, fault.New(fault.IndexError, "it is damaged: %v", damage), e.restore()))
		return false
	}
	e.add(repo.Good(check, "all pages are consistent"))
	return true
}

// vaults looks at the tenants and their vaults.
func (e *examination) vaults(ctx context.Context, db table.Table) {
	const check = "tenants"
	o := team.Options{
		Table: db, Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler), Now: e.Now,
		Folders: true, Issuers: hosted.IssuersFor(e.Server),
	}
	data, err := fileblob.Look(e.dir)
	if err != nil {
		e.add(repo.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	defer data.Close()
	o.Bucket = data
	if e.folder != nil {
		files, err := e.files()
		if err != nil {
			e.add(repo.Failure(check, fault.New(fault.FileError, "%v", err), ""))
			return
		}
		defer files.Close()
		o.Served = &team.Served{Vault: e.folder.Vault, Files: files, ReadOnly: true}
	}
	e.tenants(ctx, o)
}

// tenants looks at the tenants of a deployment.
func (e *examination) tenants(ctx context.Context, o team.Options) {
	seen := false
	for found := range team.Examine(ctx, o, team.Examination{Vault: e.Vault, Full: e.Full}) {
		seen = seen || found.Vault != ""
		e.add(found)
	}
	if e.Vault != "" && !seen {
		e.add(repo.Failure("vault", fault.NoVault(e.Vault), ""))
	}
}

// serverPatience is how long to wait for an answer of the server, and fullPatience for one that it has
// to read the whole log for.
const (
	serverPatience = 5 * time.Second
	fullPatience   = time.Minute
)
