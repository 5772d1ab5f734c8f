package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// ClearKind is the kind of the message that asks to remove the files of a vault whose time in the
// trash is over.
const ClearKind = "clear"

// Clear handles a message of the kind ClearKind: it removes the files whose texts the vault had,
// and the audit log. Files with outside edits stay. Afterwards the name of the vault is free.
func (f *Follower) Clear(ctx context.Context, m job.Message) error {
	own, err := f.Teams.Tenant(ctx, m.Tenant)
	if err == nil {
		err = f.clear(ctx, own, m)
	}
	if at, later := job.IsLater(err); later {
		m.After = max(0, at.Sub(f.Now()))
		return f.Queue.Send(context.WithoutCancel(ctx), m)
	}
	if repo.Gone(err) || fault.Is(err, fault.Unauthenticated) {
		return nil // the vault or the tenant is erased
	}
	return err
}

// clear removes the files of a vault under the lease of a pass. Otherwise another process that
// started earlier could continue after a new vault has got the name, and remove the new vault's
// files.
func (f *Follower) clear(ctx context.Context, own *tenant.Tenant, m job.Message) error {
	at, due, err := own.Uncleared(ctx, m.Vault, m.Incarnation)
	if err != nil || !due {
		return err
	}
	_, release, err := f.acquirePass(ctx, at.Vault)
	if err != nil {
		return err
	}
	if _, due, err = own.Uncleared(ctx, m.Vault, m.Incarnation); err == nil && due {
		if err = removeOwn(ctx, at); err == nil {
			err = own.Cleared(ctx, m.Vault, m.Incarnation)
		}
	}
	return errors.Join(err, release(context.WithoutCancel(ctx)))
}

// removeOwn removes the files whose text the vault had at their path, and the audit log.
func removeOwn(ctx context.Context, at tenant.FollowedVault) error {
	files, err := FilesOf(at.Notes)
	if err != nil {
		return err
	}
	all := map[string]map[index.Digest]bool{} // the texts that the vault had, for each file that exists
	var paths []string
	for o, err := range files.List(ctx, "") {
		if err != nil {
			return fmt.Errorf("list files: %w", err)
		}
		if vault.Path(o.Key).Kind() != vault.KindAudit {
			all[o.Key], paths = map[index.Digest]bool{}, append(paths, o.Key)
		}
	}
	if err := everHad(ctx, at.Vault, all); err != nil {
		return err
	}
	err = ForEach(mostFiles, paths, func(path string) error { return removeKnown(ctx, files, path, all[path]) })
	if err != nil {
		return err
	}
	audit := auditlog.InBucket(at.Notes)
	if err := auditlog.RemoveClosed(ctx, audit); err != nil {
		return err
	}
	return audit.Delete(ctx, vault.AuditLog)
}

// everHad adds the digests of all texts that a vault had at the paths of files.
func everHad(ctx context.Context, v *repo.Vault, files map[string]map[index.Digest]bool) error {
	for after, ended := uint64(0), false; !ended; {
		s, err := v.CommitsAfter(ctx, after, eventlog.Most{Commits: mostCommits, Bytes: mostBytes})
		if err != nil {
			return err
		}
		for _, c := range s.Commits {
			for _, n := range c.Notes {
				if known := files[n.Path]; known != nil && !n.Erased {
					addTexts(known, n)
				}
			}
		}
		after, ended = s.Last(), s.Ended
	}
	return nil
}

// addTexts adds the text that a commit wrote to a file, and the one that it ingested from it.
func addTexts(known map[index.Digest]bool, n eventlog.Note) {
	if !n.Deleted {
		known[index.DigestOf(n.Text)] = true
	}
	if n.Theirs != nil {
		known[index.DigestOf(n.Theirs)] = true
	}
}

// removeKnown removes a file if its text is known.
func removeKnown(ctx context.Context, files Files, path string, known map[index.Digest]bool) error {
	if len(known) == 0 {
		return nil
	}
	text, tag, err := files.Get(ctx, path, 0, repo.MaxNote+1)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read a file: %w", err)
	case !known[index.DigestOf(text)]:
		return nil
	}
	if err := Replace(ctx, files, path, FileState{tag, true}, nil); !errors.Is(err, blob.ErrCondition) {
		return err
	}
	return nil // another process has just changed the file
}
