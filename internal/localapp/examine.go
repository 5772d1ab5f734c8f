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

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// An Examination is the options of Examine. Data is required, or Folder and State.
//
// The zero values of Vault, Full, Server and Token are valid. Full reads every payload of every
// log, which takes as long as reading all data.
type Examination struct {
	Data   string // a data directory
	Folder string // a folder that is served in place
	State  string // the directory of the databases of such folders
	Vault  string // only this vault; empty: all
	Full   bool   // compare every payload with its digest
	Now    func() time.Time

	// Server is the configuration of a hosted server. The rules of tenants are compared with its
	// issuers.
	Server config.Config

	// Token returns the bearer token for the server at a URL that has the directory open. Requests
	// have no token if Token is nil or returns "".
	Token func(ctx context.Context, server string) (string, error)
}

// An examination is the state of one call of Examine. Its methods add findings, and return false if
// the checks that follow would make no sense.
type examination struct {
	Examination
	place
	folder *vaultdir.Folder // nil: a data directory is examined
	found  []doctor.Finding
}

// Examine checks a data directory, or a folder that is served, and returns its findings with fixes.
// It changes nothing there. If a server has the directory open, Examine asks the server for
// everything that needs the database.
//
// The checks are, in this order: the directory and its permissions, the free space, files that a
// killed process left, the database file, and the tenants with their vaults. A failure that makes
// later checks impossible ends it. It returns no error: everything that goes wrong is a finding.
func Examine(ctx context.Context, how Examination) []doctor.Finding {
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

// add appends findings.
func (e *examination) add(all ...doctor.Finding) { e.found = append(e.found, all...) }

// enter finds the state of the folder, if one is examined. It reports whether there is a directory
// to examine. A folder that was never served has none, and needs no examination.
func (e *examination) enter() bool {
	const check = "folder"
	if e.Folder == "" {
		if vaultdir.IsState(e.Data) {
			e.add(doctor.Failure("directory", isState(), "rookery doctor "+folderOption))
			return false
		}
		return true
	}
	f, err := vaultdir.Find(e.Folder, e.State)
	if err != nil {
		e.add(doctor.Failure(check, err, ""))
		return false
	}
	e.folder, e.place = f, folderPlace(f.State, f.Vault)
	e.add(e.origin())
	return f.State != ""
}

// origin returns the finding about the folder: served, moved, copied or never served.
func (e *examination) origin() doctor.Finding {
	const check = "folder"
	f := e.folder
	begins := "rookery serve " + folderOption + " begins one"
	switch {
	case f.Origin == vaultdir.Copied:
		return doctor.Warning(check, fmt.Sprintf("it is a copy of %s, and has no history of its own yet",
			f.From), begins)
	case f.State == "":
		return doctor.Warning(check, "it has no history on this machine: it was never served", begins)
	case f.Origin == vaultdir.Moved:
		return doctor.Warning(check, fmt.Sprintf("it was moved here from %s since it was served", f.From),
			"nothing to do: it is the same vault; the next rookery serve records the new path")
	}
	return doctor.Good(check, fmt.Sprintf("it is the vault %s; its history is in %s", f.Vault,
		f.State))
}

// directory examines the directory itself: that it exists, that its owner can use it, and that
// other users cannot. It reports whether it can be read.
func (e *examination) directory() bool {
	const check = "directory"
	info, err := os.Stat(e.dir)
	if err == nil && !info.IsDir() {
		err = fs.ErrNotExist
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.add(doctor.Failure(check, fault.New(fault.NotFound, "there is no data directory %s", e.dir),
			"name the right one with --data DIR; rookery serve --data DIR makes a new one"))
		return false
	case err != nil:
		e.add(doctor.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return false
	}
	switch mode := info.Mode().Perm(); {
	case mode&0o700 != 0o700:
		e.add(doctor.Failure(check, fault.New(fault.FileError,
			"its owner has no permission to read, write and enter it (%#o)", mode), "chmod 700 "+e.dir))
	default:
		e.exposure()
	}
	return true
}

// exposure examines the permissions of other users of the machine.
func (e *examination) exposure() {
	const check = "directory"
	name, mode, count, err := e.exposed()
	switch {
	case err != nil:
		e.add(doctor.Failure(check, fault.New(fault.FileError, "its permissions cannot be read: %v", err), ""))
	case count > 0:
		e.add(doctor.Warning(check, e.openTo(name, mode, count), e.closing()))
	default:
		e.add(doctor.Good(check, e.dir))
	}
}

// Limits of the free space of a disk. Less than leastSpace is a failure. Less than littleSpace, or
// than one part in littleShare of the disk, is a warning.
const (
	leastSpace   = 64 << 20
	littleSpace  = 1 << 30
	littleShare  = 20 // the divisor of the size of the disk
	makeSomeRoom = "free some space on the disk: without free space, writes are refused"
)

// space examines the free space of the disk, and that of the disk of the folder if it is another
// one.
func (e *examination) space() {
	e.spaceOf(e.dir)
	if e.folder != nil && !sameDisk(e.dir, e.folder.Path) {
		e.spaceOf(e.folder.Path)
	}
}

// sameDisk reports whether two directories seem to be on one disk: their disks have the same size
// and about the same free space. It is a guess, which only decides whether the space of the second
// is a finding of its own.
func sameDisk(a, b string) bool {
	freeA, totalA, errA := fileblob.Space(a)
	freeB, totalB, errB := fileblob.Space(b)
	return errA == nil && errB == nil && totalA == totalB && freeA/littleSpace == freeB/littleSpace
}

// spaceOf examines the free space of the disk of a directory. It is a good finding, a warning, or a
// failure, by the limits above. On systems that do not report the space, the check is skipped.
func (e *examination) spaceOf(dir string) {
	const check = "space"
	free, total, err := fileblob.Space(dir)
	message := fmt.Sprintf("%d MiB of %d MiB are free", free>>20, total>>20)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		e.add(doctor.Skipped(check, "the free space is unknown on this system", ""))
	case err != nil:
		e.add(doctor.Failure(check, err, ""))
	case free < leastSpace:
		e.add(doctor.Failure(check, fault.New(fault.StorageError, "%s", message), makeSomeRoom))
	case free < littleSpace, free < total/littleShare:
		e.add(doctor.Warning(check, message, makeSomeRoom))
	default:
		e.add(doctor.Good(check, message))
	}
}

// files opens the folder with the notes read-only: the folder that is served, or the data
// directory, which contains the folders of all vaults. The caller must close it.
func (e *examination) files() (*fileblob.Bucket, error) {
	if e.folder == nil {
		return fileblob.Look(e.dir)
	}
	return fileblob.OpenWith(e.folder.Path, fileblob.Options{
		Work: filepath.Join(e.dir, workDir), ReadOnly: true,
	})
}

// leftovers looks for files that a killed process left: displaced files and temporary files.
// Displaced texts are a warning, because a person's text is in them; temporary files are not.
func (e *examination) leftovers(ctx context.Context) {
	const check = "leftovers"
	files, err := e.files()
	if err != nil {
		e.add(doctor.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	defer files.Close()
	unplaced, displaced, err := files.Leftovers(ctx)
	if err != nil {
		e.add(doctor.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	where := ".rookery"
	if e.folder != nil {
		where = workDir
	}
	for _, key := range displaced {
		e.add(doctor.Warning(check, "an outside edit of "+key+" was displaced and saved",
			"the next start picks it up; it is in "+where+"/displaced in the directory"))
	}
	if len(displaced) == 0 {
		message := "none"
		if unplaced > 0 {
			message = fmt.Sprintf("temporary files: %d; the next start removes them", unplaced)
		}
		e.add(doctor.Good(check, message))
	}
}

// database examines the database and its tenants. If another process has it open, it asks that
// process. The database is opened for reading only, with a shared lock, so two examinations may run
// at once and no server can start meanwhile.
func (e *examination) database(ctx context.Context) {
	const check = "database"
	if err := e.checkLoss(); err != nil {
		e.add(doctor.Failure(check, err, ""))
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
		e.add(doctor.Failure(check, err,
			"name the right directory with "+e.option+"; rookery serve "+e.option+" begins a new database"))
		return
	case errors.Is(err, bolttable.ErrFormat):
		e.add(doctor.Failure(check, fault.New(fault.IndexIncompatible, "%v", err),
			"run the release that wrote it, or a newer one"))
		return
	case errors.Is(err, bolttable.ErrDamaged):
		e.add(doctor.Failure(check, fault.New(fault.IndexError, "%v", err), e.restore()))
		return
	case err != nil:
		e.add(doctor.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	defer db.Close()
	e.add(doctor.Good("lock", "no process has the directory open"))
	if e.sound(ctx, db) {
		e.vaults(ctx, db)
	}
}

// restore returns the fix for a damaged database, as one sentence. It begins with a copy, because
// every other step may make the damage worse.
func (p place) restore() string {
	return "stop every process that uses the data directory, and make a copy of it; then restore all of it " +
		"from one backup, or move " + database + " away and rebuild the vaults from their " +
		"files: rookery rebuild " + p.option
}

// sound checks the pages of the database. It reports whether its data can be read. The first damage
// is a failure, and the rest is not checked: the database has to be restored in any case.
func (e *examination) sound(ctx context.Context, db table.Checker) bool {
	const check = "database"
	for damage := range db.Check(ctx) {
		e.add(doctor.Failure(check, fault.New(fault.IndexError, "it is damaged: %v", damage), e.restore()))
		return false
	}
	e.add(doctor.Good(check, "all pages are consistent"))
	return true
}

// vaults examines the tenants and their vaults, through a team.Tenant that can only read. The stores
// are those of a server, so that the examination has the same view as a server.
func (e *examination) vaults(ctx context.Context, db table.Table) {
	const check = "tenants"
	o := tenant.Options{
		Table: db, Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler), Now: e.Now,
		Folders: true, Issuers: hosted.IssuersFor(e.Server),
	}
	data, err := fileblob.Look(e.dir)
	if err != nil {
		e.add(doctor.Failure(check, fault.New(fault.FileError, "%v", err), ""))
		return
	}
	defer data.Close()
	o.Bucket = data
	if e.folder != nil {
		files, err := e.files()
		if err != nil {
			e.add(doctor.Failure(check, fault.New(fault.FileError, "%v", err), ""))
			return
		}
		defer files.Close()
		o.Served = &tenant.Served{Vault: e.folder.Vault, Files: files, ReadOnly: true}
	}
	e.tenants(ctx, o)
}

// tenants examines the tenants of a deployment, and adds a failure if none has the vault e.Vault.
func (e *examination) tenants(ctx context.Context, o tenant.Options) {
	seen := false
	for found := range tenant.Examine(ctx, o, tenant.Examination{Vault: e.Vault, Full: e.Full}) {
		seen = seen || found.Vault != ""
		e.add(found)
	}
	if e.Vault != "" && !seen {
		e.add(doctor.Failure("vault", fault.NoVault(e.Vault), ""))
	}
}

// serverPatience is the timeout for an answer of a server, and fullPatience the timeout for a call
// that reads the whole log.
const (
	serverPatience = 5 * time.Second
	fullPatience   = time.Minute
)
