package checkout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

const (
	// Bounds of one commit of an adoption: the number of files, and the sum of the bytes in them.
	maxAdopted      = 500
	maxAdoptedBytes = 8 << 20
)

// An AdoptResult is the result of Adopt: paths of files by outcome.
type AdoptResult struct {
	Created  []string `json:"created,omitempty"`  // notes and other files that the vault did not have
	Replaced []string `json:"replaced,omitempty"` // files whose text in the vault was another
	Left     []string `json:"left,omitempty"`     // skipped files, which stay as they are
}

// Adopt adds the files of a folder to a vault whose table was lost: files that the log does not
// have, or has with another text, because the folder is newer. Files that the folder does not have
// stay in the log, and are written to the folder later, so that nothing is lost. Lines of the audit
// log that are not in the log of the vault are added too, with the ids and times in them. The vault
// must not have a Follower yet.
func Adopt(ctx context.Context, v *repo.Vault, files Files, c eventlog.Call) (AdoptResult, error) {
	idx, err := v.Read(ctx)
	if err != nil {
		return AdoptResult{}, err
	}
	a := adoption{vault: v, files: files, call: c, idx: idx}
	if err := a.audit(ctx); err != nil {
		return a.done, err
	}
	if err := a.collect(ctx); err != nil {
		return a.done, err
	}
	return a.done, a.finish(ctx)
}

// An adoption is the state of one call of Adopt. It is used by one goroutine.
//
// The order of its steps matters. The audit log comes first, because notes take their ids and times
// from the lines that the log has when they are committed. The settings come next, and then all
// other files in the order of the folder. The cursor of the files moves last: if Adopt fails before
// that, it can be repeated, and the files that are in the log already are not committed again.
type adoption struct {
	vault *repo.Vault
	files Files
	call  eventlog.Call
	idx   *index.Index
	done  AdoptResult

	batch []file
	size  int
}

// A file is one that will be part of a commit.
type file struct {
	path vault.Path
	text []byte
}

// audit compares the audit log of the folder with the log of the vault, and adds the lines that the
// latter does not have.
func (a *adoption) audit(ctx context.Context) error {
	log, err := auditlog.Whole(ctx, a.files)
	if err != nil {
		return err
	}
	return a.auditOf(ctx, log)
}

// auditOf adds those lines of an audit log that follow the ones that the log of the vault has. It
// compares the two from the beginning. If they differ in any byte before the end of the vault's
// lines, it adds nothing and returns nil, because the lines after a difference cannot be trusted to
// follow the vault's history.
func (a *adoption) auditOf(ctx context.Context, rest []byte) error {
	for lines, err := range a.vault.AuditLog(ctx) {
		if err != nil {
			return err
		}
		beyond, same := bytes.CutPrefix(rest, lines)
		if !same {
			return nil // it has no more lines, or is another vault's or was changed: it will be generated again
		}
		rest = beyond
	}
	return a.addLines(ctx, rest)
}

// addLines adds lines of an audit log, in each commit as many as fit into one file. If a line is
// longer than a file may be, or has no line break, it lists the audit log as skipped and adds
// nothing more: the remaining lines would not follow the others.
func (a *adoption) addLines(ctx context.Context, log []byte) error {
	for len(log) > 0 {
		piece := log[:min(len(log), repo.MaxNote)]
		piece = piece[:bytes.LastIndexByte(piece, '\n')+1]
		if len(piece) == 0 {
			a.done.Left = append(a.done.Left, vault.AuditLog)
			return nil
		}
		log = log[len(piece):]
		a.add(file{vault.AuditLog, piece})
		if err := a.commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// collect adds every file that differs: the settings first, because they determine how notes are
// read.
func (a *adoption) collect(ctx context.Context) error {
	for _, path := range []string{vault.SchemaFile, vault.ConfigRaven, vault.ConfigRookery} {
		if err := a.addFile(ctx, path); err != nil {
			return err
		}
	}
	for o, err := range a.files.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list the folder of a vault: %w", err)
		}
		k := vault.Path(o.Key).Kind()
		if k != vault.KindNote && k != vault.KindFolder {
			continue
		}
		if err := a.addFile(ctx, o.Key); err != nil {
			return err
		}
	}
	return a.commit(ctx)
}

// addFile adds a file to the batch, unless the log has it with the same text or it must be skipped:
// its name is not a valid path in composed characters, it is not a plain file, or its text is
// larger than a note may be or not UTF-8. A file that disappeared since the listing is ignored. If
// the batch is full, addFile commits it first.
func (a *adoption) addFile(ctx context.Context, key string) error {
	path, err := vault.ParseFile(key)
	if err != nil || vault.CleanPath(key) != key {
		a.leave(key)
		return nil
	}
	text, _, err := a.files.Get(ctx, key, 0, -1)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil
	case errors.Is(err, blob.ErrForeign):
		a.leave(key)
		return nil
	case err != nil:
		return unreadable(key, err)
	case len(text) > repo.MaxNote || !utf8.Valid(text):
		a.leave(key)
		return nil
	}
	if f, ok := a.idx.File(key); ok && f.Digest == index.DigestOf(text) {
		return nil
	}
	if len(a.batch) == maxAdopted || a.size+len(text) > maxAdoptedBytes {
		if err := a.commit(ctx); err != nil {
			return err
		}
	}
	a.add(file{path, text})
	return nil
}

// leave lists a file as skipped. Files in folders whose name begins with a dot are never part of a
// vault, so they are not listed.
func (a *adoption) leave(key string) {
	if key[0] != '.' {
		a.done.Left = append(a.done.Left, key)
	}
}

// add appends a file to the batch. The caller has checked the bounds of a commit.
func (a *adoption) add(f file) {
	a.batch = append(a.batch, f)
	a.size += len(f.text)
}

// commit commits the batch, and empties it. A file that the vault refuses because its name differs
// from another only by case is skipped; the others are committed without it.
//
// The vault may run the closure more than once, so it collects the outcomes in local variables,
// which it clears first; they count when the commit succeeded. Pieces of the audit log are in no
// list of the result.
func (a *adoption) commit(ctx context.Context) error {
	var created, replaced, left []string
	_, err := a.vault.Update(ctx, a.call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		created, replaced, left = nil, nil, nil
		for _, f := range a.batch {
			_, known := tx.Before().File(string(f.path))
			err := tx.Put(ctx, f.path, f.text)
			switch {
			case fault.Is(err, fault.DuplicateID):
				left = append(left, string(f.path))
			case err != nil:
				return nil, err
			case isAudit(string(f.path)):
			case known:
				replaced = append(replaced, string(f.path))
			default:
				created = append(created, string(f.path))
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	a.done.Created = append(a.done.Created, created...)
	a.done.Replaced = append(a.done.Replaced, replaced...)
	a.done.Left = append(a.done.Left, left...)
	a.batch, a.size = nil, 0
	return nil
}

// finish moves the cursor of the files, because the folder has the adopted files already, and
// generates the audit log again. The cursor moves to the state before the adoption, so the first
// Follower still compares the files of the adopted commits.
func (a *adoption) finish(ctx context.Context) error {
	if err := a.vault.Advance(ctx, repo.FilesCursor, eventlog.Cursor{Seq: a.idx.Version()}); err != nil {
		return err
	}
	return a.rewriteAudit(ctx)
}

// rewriteAudit generates the audit log again: its adopted lines become part of the commits that
// added them, in the months of these commits.
func (a *adoption) rewriteAudit(ctx context.Context) error {
	now, err := a.vault.Read(ctx)
	if err != nil {
		return err
	}
	return auditlog.Replace(ctx, a.vault, a.files, now.Version())
}

// AdoptAudit adds the audit log of a folder that has another history, such as one of Raven, or of
// Rookery on another machine. Notes get their ids and times from it when they are ingested, so
// AdoptAudit must be called first. It does nothing if a checkout has kept the folder already.
//
// The vault must not have a Follower yet. AdoptAudit returns FILE_ERROR if a line of the audit log
// is too long, because the checkout would overwrite it.
func AdoptAudit(ctx context.Context, v *repo.Vault, o Options) error {
	control, err := v.Control(ctx)
	if err != nil {
		return err
	}
	if control.Cursors[repo.FilesCursor].Seq > 0 || control.Cursors[auditlog.Cursor].Seq > 0 {
		return nil
	}
	a := adoption{vault: v, files: o.Files, call: eventlog.Call{Who: o.Who, Tool: "reindex"}}
	log, err := auditlog.Whole(ctx, a.files)
	if err != nil || len(log) == 0 {
		return err
	}
	if log[len(log)-1] != '\n' { // the process that wrote it was killed, or ends lines when it begins the next
		log = append(log, '\n')
	}
	if err := a.auditOf(ctx, log); err != nil {
		return err
	}
	if len(a.done.Left) > 0 {
		return fault.New(fault.FileError, "a line of %s is too long to be synced", vault.AuditLog).
			At(vault.AuditLog, 0).
			Fix("move it out of the folder: this loses the ids and times in it, but no note")
	}
	if o.ReadOnly {
		return nil
	}
	return a.rewriteAudit(ctx)
}

// AuditFile returns the audit log as it is in the folder now; see auditlog.Read. If a history was
// erased since the log was written, it saves first, so that no line of that history is returned.
func (c *Checkout) AuditFile(ctx context.Context) (*repo.AuditFile, error) {
	if c.vault.AuditStale() {
		c.Save(ctx)
	}
	return auditlog.Read(ctx, c.vault, c.files)
}

// isAudit reports whether a path is that of a file of the audit log.
func isAudit(path string) bool { return vault.Path(path).Kind() == vault.KindAudit }
