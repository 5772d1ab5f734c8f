package team

import (
	"context"
	"errors"
	"maps"

	"rookery/internal/repo"
)

// errGone is the error of a tenant that is erased: UNAUTHENTICATED, as if there had never been one.
var errGone = noTenant()

// Gone reports whether this process knows that the tenant is erased, or being erased. Another one may have its
// name: Teams.Team has that.
func (t *Team) Gone() bool { return t.gone.Load() }

// orGone is the error of the tenant's log, errGone if there is none any more.
func (t *Team) orGone(err error) error {
	if !errors.Is(err, repo.ErrNoLog) {
		return err
	}
	t.gone.Store(true)
	return errGone
}

// latest is the newest state of the tenant, errGone if its log has ended.
func (t *Team) latest(ctx context.Context) (repo.Snapshot[*State], error) {
	s, err := t.log.Read(ctx)
	if err == nil && s.Status == repo.Sealed {
		err = repo.ErrNoLog
	}
	return s, t.orGone(err)
}

// end ends what the process does with a tenant that is erased: nothing more is written into its folders. Calls
// that are under way find that there is nothing.
func (t *Team) end() {
	t.gone.Store(true)
	t.mu.Lock()
	t.closed = true
	open := maps.Clone(t.open)
	t.mu.Unlock()
	for _, o := range open {
		o.once.Do(func() {}) // one that is just being opened is ended as well
		if o.folder != nil {
			o.folder.End()
		}
	}
	t.Close()
	for _, o := range open {
		t.opt.Memory.forget(o)
	}
}
