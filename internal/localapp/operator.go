package localapp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/backup"
	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
)

// backupPath is the path of backups at the listener of an Operator.
const backupPath = "/backup"

// An Operator is a listener on loopback for programs of the user who runs a server. Its key is in
// the address file beside the database. A program that can read that file can read the whole
// directory, so the key grants nothing that the program does not have. It is not reachable through
// the public listener, whatever its configuration.
type Operator struct {
	URL string `json:"url"`
	Key string `json:"key"`
}

// operate opens the listener of the Operator, on a free port of loopback. The function that it
// returns closes the listener and waits for a running backup, which its connection's end cuts off.
func (a *App) operate(ctx context.Context) (*Operator, func(), error) {
	l, err := address{hostport: "127.0.0.1:0", option: "--listen"}.listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	o := &Operator{URL: "http://" + l.Addr().String(), Key: rand.Text()}
	routes := http.NewServeMux()
	routes.HandleFunc("POST "+backupPath, a.answerBackup)
	s := &http.Server{
		Handler: o.keyed(routes), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	a.background.Go(func() { _ = s.Serve(l) }) // it ends when s is closed
	return o, func() {
		_ = s.Close()
		a.backing.Lock() // wait until a backup that was cut off has released the database
		defer a.backing.Unlock()
	}, nil
}

// keyed refuses requests without the key with status 401.
func (o *Operator) keyed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !showsKey(r, o.Key) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// answerBackup answers with a backup as its body. It cuts the connection off if the backup fails
// after its first byte was sent, so that the client does not take a part for the whole, and
// otherwise answers an error with status 500.
func (a *App) answerBackup(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/zstd")
	sent := &counted{to: w}
	_, err := a.Backup(r.Context(), sent)
	switch {
	case err == nil:
	case sent.n > 0:
		panic(http.ErrAbortHandler)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		f := fault.Of(err)
		_ = json.NewEncoder(w).Encode(refused{f.Code, f.Message, f.Fixes}) // the client gets no backup in any case
	}
}

// A refused is the body of an answer without a backup: the fault of the server, from which the
// client makes its own.
type refused struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Fixes   []string   `json:"fixes"`
}

// A counted is a writer that counts the bytes written.
type counted struct {
	to io.Writer
	n  int64
}

// Write implements io.Writer. It counts only the bytes that were written.
func (c *counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// Backup writes a consistent copy of the data directory while calls go on: the database as of one
// moment, and files that are at least as new. It returns INVALID_PARAMETER for a folder that is
// served, because its notes are outside the directory, and UNAVAILABLE while another backup is
// running. The address file and temporary copies of the database are left out.
func (a *App) Backup(ctx context.Context, to io.Writer) (*backup.Manifest, error) {
	if a.folder != nil {
		return nil, fault.New(fault.InvalidParameter, "a backup needs a data directory; the notes of a "+
			"served folder are elsewhere").
			Fix("stop the server, and copy the folder and its state; rookery doctor %s names it", folderOption)
	}
	if !a.backing.TryLock() {
		return nil, fault.New(fault.Unavailable, "another backup is being made").Fix("wait until it is done")
	}
	defer a.backing.Unlock()
	m, err := backup.Create(ctx, to, backup.Source{
		Dir: a.dir, Database: database, Release: a.version,
		Skips: func(path string) bool {
			return strings.HasPrefix(path, database+".") || strings.HasPrefix(path, addressFile)
		},
		Snapshot: a.table.Snapshot,
	})
	if err != nil {
		a.log.ErrorContext(ctx, "a backup failed", slog.Any("cause", err))
		return nil, err
	}
	a.log.InfoContext(ctx, "a backup was made", slog.Int("files", len(m.Files)), slog.Int64("bytes", m.Bytes()))
	return m, nil
}

// CreateBackup writes a backup of a data directory to a new file, through the process that has the
// directory open if there is one, and verifies it. The file gets its name only when it is complete
// and verified. CreateBackup returns CONFLICT if the file exists, and FILE_ERROR if it cannot be
// written. A process that is killed leaves a hidden file whose name contains ".part-".
//
// A backup of a running server is made by that server, because only it can take a snapshot of the
// database; it sends the backup as the body of a response. Verifying reads the whole file again, so
// that a disk that lost data is noticed now and not when the backup is needed.
func CreateBackup(ctx context.Context, cfg Config, file string) (m *backup.Manifest, err error) {
	if _, err := os.Lstat(file); err == nil {
		return nil, fault.New(fault.Conflict, "the file exists already").Fix("name a new file: backups " +
			"replace no file")
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".part-")
	if err != nil {
		return nil, unbacked(err)
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name()) // the file is linked to its name, or incomplete
	}()
	if err := writeBackup(ctx, cfg, f); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, unbacked(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, unbacked(err)
	}
	if m, err = backup.Verify(ctx, f); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), file); err != nil { // unlike a rename, a link replaces no file
		return nil, unbacked(err)
	}
	return m, nil
}

// unbacked returns the fault for a backup file that cannot be written.
func unbacked(err error) error {
	return fault.New(fault.FileError, "the file of the backup cannot be written: %v", backup.Bare(err))
}

// writeBackup writes a backup of a data directory: through this process, or through the Operator of
// the process that has it open. A process without an Operator, such as a command, is the *InUse
// that Open returned.
func writeBackup(ctx context.Context, cfg Config, to io.Writer) error {
	a, err := Open(ctx, cfg)
	var busy *InUse
	switch {
	case errors.As(err, &busy) && busy.Operator != nil:
		return busy.Operator.backup(ctx, to)
	case err != nil:
		return err
	}
	_, err = a.Backup(ctx, to)
	return errors.Join(err, a.Close())
}

// backup writes a backup that it gets from the server. Its errors are those of the server, or
// UNAVAILABLE.
func (o *Operator) backup(ctx context.Context, to io.Writer) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL+backupPath, nil)
	if err != nil {
		return fmt.Errorf("ask for a backup: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+o.Key)
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return fault.New(fault.Unavailable, "the server of the data directory does not answer").Because(err).
			Fix("rookery doctor %s", dataOption)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		var why refused
		if json.NewDecoder(answer.Body).Decode(&why) != nil || why.Code == "" {
			return fault.New(fault.Unavailable, "the server of the data directory did not make the backup")
		}
		f := fault.New(why.Code, "%s", why.Message)
		f.Fixes = why.Fixes
		return f
	}
	if _, err := io.Copy(to, answer.Body); err != nil {
		return fault.New(fault.Unavailable, "the backup ended too early").Because(err).
			Fix("see why in the log of the server, and try again")
	}
	return nil
}

// VerifyBackup reads a whole backup, compares it with its manifest and returns the manifest. It
// writes nothing. A damaged or incomplete backup is INDEX_ERROR; one that cannot be opened is
// NOT_FOUND.
func VerifyBackup(ctx context.Context, file string) (*backup.Manifest, error) {
	f, err := openBackup(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return backup.Verify(ctx, f)
}

// openBackup opens a backup. It returns NOT_FOUND on every error.
func openBackup(file string) (*os.File, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fault.New(fault.NotFound, "the backup cannot be read: %v", backup.Bare(err))
	}
	return f, nil
}

// RestoreBackup restores a backup into a new data directory, after all of its data was examined in
// a directory beside it. It returns the findings of the examination too, also when it refuses the
// backup. A backup with a failure in it is INDEX_ERROR, and dir is not created.
func RestoreBackup(ctx context.Context, file, dir string) (m *backup.Manifest, found []doctor.Finding, err error) {
	f, err := openBackup(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	m, err = backup.Restore(ctx, f, filepath.Clean(dir), func(staged string) error {
		found = Examine(ctx, Examination{Data: staged, Full: true})
		for i, f := range found {
			found[i].Message = strings.ReplaceAll(f.Message, staged, dir)
			if f.Level == doctor.LevelError {
				return fault.New(fault.IndexError, "the content of the backup is damaged: %s: %s", f.Check, f.Message)
			}
		}
		return nil
	})
	return m, found, err
}
