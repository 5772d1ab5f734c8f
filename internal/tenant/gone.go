package tenant

import (
	"context"
	"errors"
	"maps"

	"github.com/rookeryhq/rookery/internal/eventlog"
)

// errGone is the error of an erased tenant: UNAUTHENTICATED, as for a tenant that never existed.
var errGone = noTenant()

// Gone reports whether this process knows that the tenant is erased or being erased. A new tenant
// may have its name; Registry.Tenant returns that one.
func (t *Tenant) Gone() bool { return t.gone.Load() }

// orGone returns an error of the tenant's log, or errGone if the log no longer exists; then the
// tenant is marked as gone, and all later calls fail without a read.
func (t *Tenant) orGone(err error) error {
	if !errors.Is(err, eventlog.ErrNoLog) {
		return err
	}
	t.gone.Store(true)
	return errGone
}

// latest reads the newest state of the tenant. It returns errGone if its log is sealed or erased.
// It costs at least one read of the table; Current and Fresh bound how often that happens.
func (t *Tenant) latest(ctx context.Context) (eventlog.Snapshot[*State], error) {
	s, err := t.log.Read(ctx)
	if err == nil && s.Status == eventlog.Sealed {
		err = eventlog.ErrNoLog
	}
	return s, t.orGone(err)
}

// end closes an erased tenant in this process, so that nothing more is written to its folders.
// Calls in progress find nothing. It waits for background work.
func (t *Tenant) end() {
	t.gone.Store(true)
	t.mu.Lock()
	t.closed = true
	open := maps.Clone(t.open)
	t.mu.Unlock()
	for _, o := range open {
		o.once.Do(func() {}) // also end a vault that is being opened
		if o.folder != nil {
			o.folder.End()
		}
	}
	t.Close()
	for _, o := range open {
		t.opt.Memory.forget(o)
	}
}
