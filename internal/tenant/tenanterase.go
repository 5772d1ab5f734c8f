package tenant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
)

// An ErasedTenant is the result of erasing a tenant. The erasure may still be running as a job.
type ErasedTenant struct {
	Receipt
	Swept bool       // everything that existed is destroyed; the receipt is final
	Job   *job.Brief // the job that erases; nil in a dry run

	Replayed bool // the call repeats an earlier one
}

// Erase destroys a tenant: its vaults, its log with members, tokens and issuers, and all other data
// of the tenant. It begins with an entry in the registry, which cannot be undone. After the
// tenant's log is sealed, its tokens are UNAUTHENTICATED in every process. Erase is a job: it runs
// within the call for as long as a call may take, and then continues. A repeated or later call gets
// the same answer, or IN_PROGRESS while the job runs in another process. A tenant created later
// under the name has none of its data.
//
// The idempotency key of the call is stored in the registry, as a digest, because the tenant's own
// log, which has the keys of all other calls, is destroyed.
func (t *Registry) Erase(ctx context.Context, c eventlog.Call, tenant string) (ErasedTenant, error) {
	if err := c.Whole(); err != nil {
		return ErasedTenant{}, err
	}
	if t.opt.Served != nil {
		return ErasedTenant{}, singleFolder()
	}
	r, err := t.lookUp(ctx, tenant)
	if err != nil {
		return ErasedTenant{}, err
	}
	at, err := r.byCall(c)
	if err != nil {
		return ErasedTenant{}, err
	}
	replayed := at != nil
	if at == nil && r.isLive() {
		if err := t.mayErase(ctx, c, tenant); err != nil {
			return ErasedTenant{}, err
		}
	}
	if c.DryRun {
		return t.wouldErase(ctx, tenant, r)
	}
	if at == nil {
		if at, err = t.beginErasure(ctx, c, tenant); err != nil {
			return ErasedTenant{}, err
		}
	}
	done, err := t.continueErasure(ctx, tenant, *at)
	done.Replayed = replayed
	return done, err
}

// byCall returns the erasure that a call with the same principal and key began, or nil. If that
// call was a different request, the error is IDEMPOTENCY_KEY_REUSED.
func (r registration) byCall(c eventlog.Call) (*RegistryErasure, error) {
	if c.Key == "" {
		return nil, nil
	}
	for i := range r.Erasures {
		at := &r.Erasures[i]
		if at.Call != keyOf(c) {
			continue
		}
		if at.Request != "" && at.Request != digest(string(c.Request)) {
			return nil, eventlog.KeyReused()
		}
		return at, nil
	}
	return nil, nil
}

// keyOf returns a digest of the principal and the key of a call, or "" if it has no key.
func keyOf(c eventlog.Call) string {
	if c.Key == "" {
		return ""
	}
	return digest(c.Who.Principal + "\x00" + c.Key)
}

// digest returns the first 16 bytes of the SHA-256 of a text in hexadecimal.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// errUnused means that the tenant's log has no call with a key.
var errUnused = errors.New("the key was not used")

// mayErase returns a fault if the tenant has changed after the version that the call expects, or if
// the tenant's log has another call with its key (IDEMPOTENCY_KEY_REUSED). It reads the log with a
// call that is always refused, so it writes nothing.
func (t *Registry) mayErase(ctx context.Context, c eventlog.Call, tenant string) error {
	own, err := t.Tenant(ctx, tenant)
	if err != nil || c.IfVersion == 0 && c.Key == "" {
		return err
	}
	_, err = own.Once(ctx, c, func(context.Context, *State) (any, error) { return nil, errUnused })
	switch {
	case err == nil: // an earlier call used the key for something else
		return eventlog.KeyReused()
	case errors.Is(err, errUnused):
		return nil
	}
	return err
}

// beginErasure writes to the registry that a tenant is being erased, unless it is already. It
// continues for eraseTimeout if its caller disconnects, so that the registry does not have an
// erasure without a job for longer than necessary. It returns the erasure that is under way: this
// call's, that of an earlier call with the same key, or that of another caller.
func (t *Registry) beginErasure(
	ctx context.Context, c eventlog.Call, tenant string,
) (*RegistryErasure, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eraseTimeout)
	defer cancel()
	var at *RegistryErasure
	_, err := t.register(ctx, tenant, func(now *registration) (_ bool, err error) {
		if at, err = now.byCall(c); at != nil || err != nil {
			return false, err
		}
		if now.isErasing() {
			at = now.erasure(now.Incarnation)
			return false, nil
		}
		if !now.isLive() {
			return false, noTenant()
		}
		began := t.opt.Now().UTC()
		at = &RegistryErasure{
			Incarnation: now.Incarnation, Call: keyOf(c), Request: digest(string(c.Request)), By: JobBy(c.Who),
			Erasure: Erasure{Began: began, Job: job.NewID(began)},
		}
		now.Erasures = append(now.Erasures, *at)
		return true, nil
	})
	return at, err
}

// continueErasure continues an erasure that has begun, for as long as a call may take.
func (t *Registry) continueErasure(ctx context.Context, tenant string, at RegistryErasure) (ErasedTenant, error) {
	if !at.Swept.IsZero() {
		return t.wasErased(ctx, tenant, at)
	}
	e, err := t.eraser(ctx, tenant, at.Incarnation)
	if err != nil {
		return ErasedTenant{}, err
	}
	it, err := runJob(ctx, e.jobs, e.request(at))
	if err != nil {
		return ErasedTenant{}, err
	}
	return erasedTenant(it)
}

// erasedTenant returns the result as the job of an erasure reports it.
func erasedTenant(it job.Item) (ErasedTenant, error) {
	out := ErasedTenant{Swept: it.Progress.Done >= tenantStepsToSwept, Job: job.BriefOf(it)}
	if len(it.Result) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(it.Result, &out.Receipt); err != nil {
		return out, fmt.Errorf("read the receipt of an erasure: %w", err)
	}
	return out, nil
}

// wasErased returns the result of an erasure that has destroyed everything that existed.
func (t *Registry) wasErased(
	ctx context.Context, tenant string, at RegistryErasure,
) (ErasedTenant, error) {
	out := ErasedTenant{Receipt: at.Receipt, Swept: true, Job: &job.Brief{ID: at.Job, State: job.Done}}
	if !at.Done.IsZero() {
		return out, nil
	}
	it, err := t.erasureJob(ctx, tenant, at)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return out, err
	}
	if err == nil {
		out.Job = job.BriefOf(it)
	}
	return out, nil
}

// erasureJob returns the job of an erasure.
func (t *Registry) erasureJob(ctx context.Context, tenant string, at RegistryErasure) (job.Item, error) {
	e, err := t.eraser(ctx, tenant, at.Incarnation)
	if err != nil {
		return job.Item{}, err
	}
	return e.jobs.Get(ctx, at.Job)
}

// ErasureJob returns the job that erases, or erased, an earlier tenant with this name, by its id.
// The id serves as the credential: only the caller that requested the erasure got it. Any other id
// is NOT_FOUND.
func (t *Registry) ErasureJob(ctx context.Context, tenant, id string) (job.Item, error) {
	r, err := t.lookUp(ctx, tenant)
	if err != nil {
		return job.Item{}, err
	}
	for _, at := range r.Erasures {
		if at.Job == id {
			return t.erasureJob(ctx, tenant, at)
		}
	}
	return job.Item{}, job.NoJob()
}

// WorkOf makes one pass over the jobs of a tenant, as Tenant.Work does, and over those that erase
// earlier tenants with the name. It returns the time when the next job is due, or the zero time if
// there is none. An erasure that has ended is skipped. With an error, it returns the present time.
func (t *Registry) WorkOf(ctx context.Context, tenant string) (next time.Time, err error) {
	r, err := t.lookUp(ctx, tenant)
	if err != nil {
		return t.opt.Now(), err
	}
	for _, at := range r.Erasures {
		if !at.Done.IsZero() {
			continue
		}
		due, err := t.workOn(ctx, tenant, at)
		if err != nil {
			return t.opt.Now(), err
		}
		next = sooner(next, due)
	}
	if !r.isLive() {
		return next, nil
	}
	own, err := t.Tenant(ctx, tenant)
	if err != nil {
		return t.opt.Now(), err
	}
	due, err := own.Work(ctx)
	return sooner(next, due), err
}

// workOn makes one pass over the job of an erasure, and creates the job if a crash left none.
func (t *Registry) workOn(
	ctx context.Context, tenant string, at RegistryErasure,
) (next time.Time, err error) {
	e, err := t.eraser(ctx, tenant, at.Incarnation)
	if err != nil {
		return next, err
	}
	if _, err := e.jobs.Get(ctx, at.Job); fault.Is(err, fault.NotFound) {
		_, err = e.jobs.Add(ctx, e.request(at))
		if err != nil && !fault.Is(err, fault.InProgress) && !fault.Is(err, fault.DuplicateID) {
			return next, err
		}
	}
	return e.jobs.Work(ctx)
}

// sooner returns the earlier of two times. A zero time means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Wake reports to the queue which tenants have unfinished erasures. It does not open them, which
// would announce their other jobs.
func (t *Registry) Wake(ctx context.Context) error {
	if t.opt.Queue == nil {
		return nil
	}
	for it, err := range t.opt.registry().Query(ctx, registry, "", "~") {
		if err != nil {
			return fmt.Errorf("list the tenants: %w", err)
		}
		r, err := readRegistration(it)
		if err != nil {
			return err
		}
		for _, at := range r.Erasures {
			if at.Done.IsZero() {
				t.wake(ctx, it.Sort)
			}
		}
	}
	return nil
}

// wake reports to the queue that a tenant may have jobs.
func (t *Registry) wake(ctx context.Context, tenant string) {
	if err := t.opt.Queue.Send(ctx, JobsMessage(tenant)); err != nil {
		t.opt.Log.WarnContext(ctx, "the erasure of a tenant continues at the next start", slog.Any("cause", err))
	}
}

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

// A twoLogChange is a change of two logs: first a vault's, then the tenant's. Until begin is called, it
// ends with the context of its call. After that it does not, so that a disconnected caller does not
// leave a vault that is trashed in its own log but active in the tenant's. It is used by one
// goroutine.
//
// If the process dies between the two commits, the call is repeated, by its caller or by a person
// who sees that nothing changed; the first commit then changes nothing, and the second is made.
type twoLogChange struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	detach func() bool // detaches from the call's context; false: that has ended
	begun  bool
	timer  *time.Timer // cancels a change that takes too long

	timeout time.Duration // time limit after begin
}

// twoLogTimeout is the time limit for both commits, from begin.
const twoLogTimeout = 20 * time.Second

// newTwoLogChange returns a change that has not begun. close must be called.
func newTwoLogChange(ctx context.Context) *twoLogChange {
	t := &twoLogChange{timeout: twoLogTimeout}
	t.ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	t.detach = context.AfterFunc(ctx, func() { t.cancel(context.Cause(ctx)) })
	return t
}

// begin must be called before the first commit. It returns an error if the context of the call has
// ended. After it, the change ends only when patience is over. A second call, from a repeated
// transaction, reports whether it has ended.
func (t *twoLogChange) begin() error {
	if t.begun {
		return t.ctx.Err()
	}
	if !t.detach() {
		return context.Canceled
	}
	t.begun = true
	t.timer = time.AfterFunc(t.timeout, func() { t.cancel(context.DeadlineExceeded) })
	return nil
}

// close releases the resources of the change.
func (t *twoLogChange) close() {
	t.detach()
	if t.timer != nil {
		t.timer.Stop()
	}
	t.cancel(context.Canceled)
}
