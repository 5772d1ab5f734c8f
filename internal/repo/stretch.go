package repo

import (
	"context"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
)

// A Stretch contains the commits after a version of a vault, for a follower that keeps no index.
type Stretch struct {
	*eventlog.Stretch[*index.Index]

	// Control is the control item that the same Query returned. It is the zero value if the stretch
	// has not Ended, because the Query did not reach the control item.
	Control Control
}

// CommitsAfter reads the commits after a version. It makes one Query for each MB of items and one
// read for each payload that is an object; commits that have left the table are read from segments.
// It reads nothing else and builds no index. It returns ErrNoLog if the log does not exist or is
// being erased, and INDEX_ERROR if the log has a gap.
func (v *Vault) CommitsAfter(ctx context.Context, after uint64, most eventlog.Most) (*Stretch, error) {
	read, err := v.log.CommitsAfter(ctx, after, most)
	if err != nil {
		return nil, err
	}
	s := &Stretch{Stretch: read}
	s.Control, err = withFiles(read.Control)
	return s, err
}

// Change changes the control item as Vault.Change does, but passes change the item that came with
// the stretch first. If that item is still current, Change costs one write and no read. If the
// write fails, the item is read again and change is called again.
func (s *Stretch) Change(ctx context.Context, change func(*Control) bool) error {
	var failed error
	err := s.Stretch.Change(ctx, changeFiles(change, &failed))
	if failed != nil {
		return failed
	}
	return err
}

// BehindSince returns the time of the first commit after a version, with one Query. ok is false if
// the table contains no such commit. It returns ErrNoLog if the log does not exist.
func (v *Vault) BehindSince(ctx context.Context, after uint64) (at time.Time, ok bool, err error) {
	return v.log.FirstAfter(ctx, after)
}

// Was returns the digest of the text that a commit replaced at the path of n, and whether there was
// a file. Commits of earlier releases do not record it: for these it reads the previous commit of
// the file. If the commit created the file, there is false and was is zero.
func (v *Vault) Was(ctx context.Context, n eventlog.Note) (was index.Digest, there bool, err error) {
	if n.Was != nil {
		return index.Digest(append(n.Was, make([]byte, len(was))...)[:len(was)]), len(n.Was) > 0, nil
	}
	if n.Prev == 0 {
		return was, false, nil
	}
	c, err := v.log.Commit(ctx, n.Prev)
	if err != nil {
		return was, false, err
	}
	for _, before := range c.Notes {
		if before.Path == n.Path && !before.Erased {
			return index.DigestOf(before.Text), !before.Deleted, nil
		}
	}
	return was, false, nil
}

// Gone reports whether err means that the log of a vault does not exist or is being erased. It
// returns true for every NOT_FOUND error, so it is only for errors of calls that read the vault as
// a whole. For nil it returns false.
func Gone(err error) bool { return errors.Is(err, eventlog.ErrNoLog) || fault.Is(err, fault.NotFound) }
