// Package job stores and runs the work of a tenant that may take longer than a call. A job runs in
// the call that started it as long as the call may take, and afterwards in the background or where
// the queue delivers it.
//
// A job is only progress and retries; the logs contain the true state of the vaults. A job runs at
// least once, so each of its steps must be idempotent. Several processes may see the same jobs; a
// lease determines which one runs a job.
//
// A job is one item of the tenant's table. Every change of it is a conditional write on the item as
// it was read, so of two processes one wins, and the other continues from the new state. A second
// item reserves the target, so that there is one open job for each.
//
// The life of a job: Queued when it is created; Running while an attempt has its lease, which a
// goroutine renews; Queued again if the attempt is interrupted; Waiting after a failure, or until a
// time that a step names; and in the end Done, Failed or Cancelled, for 30 days. A process that
// dies loses its lease after a minute, and any other continues the job at the step that was not
// completed.
//
// attempt.go runs steps, lease.go takes and keeps the lease, run.go has the ways to run a job (in a
// call, in a pass, for a message), jobs.go stores jobs, list.go lists them, and queue.go and
// worker.go deliver messages.
package job

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A State is the state of a job.
type State string

// The states. A job begins as Queued; Done, Failed and Cancelled are final.
const (
	Queued    State = "queued"    // it waits for a process
	Running   State = "running"   // a process has its lease
	Waiting   State = "waiting"   // it runs again at RetryAt
	Done      State = "done"      // all steps succeeded
	Failed    State = "failed"    // it cannot succeed; Item.Error is the reason
	Cancelled State = "cancelled" // a caller cancelled it
)

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// An Item is a job as it is stored in the table, in JSON.
type Item struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	State    State           `json:"state"`
	Target   Target          `json:"target"`
	Created  time.Time       `json:"created_at"`
	Started  time.Time       `json:"started_at,omitzero"` // start of the first attempt
	Ended    time.Time       `json:"ended_at,omitzero"`
	By       By              `json:"by"`
	Progress Progress        `json:"progress"`
	Attempts int             `json:"attempts"`         // number of attempts
	Error    *fault.Fault    `json:"error,omitempty"`  // of the last failed attempt
	Result   json.RawMessage `json:"result,omitempty"` // result so far; dropped if larger than MaxResult
	RetryAt  time.Time       `json:"retry_at,omitzero"`
	Lease    *Lease          `json:"lease,omitempty"`
	Cancel   bool            `json:"cancel,omitempty"` // a caller wants the job to end

	Input json.RawMessage `json:"input,omitempty"` // input of the steps, in addition to the target
	Open  string          `json:"open,omitempty"`  // sort key of the item that reserves the target
}

// MaxResult is the largest result that is stored, in bytes.
const MaxResult = 256 << 10

// A Target is the object of a job. There is at most one open job for each kind and target.
type Target struct {
	Vault string `json:"vault,omitempty"` // empty: the tenant
	Path  string `json:"path,omitempty"`  // of a note, until the job ends; empty: the vault or the item
	Item  string `json:"item,omitempty"`  // the id of a memory, until the job ends
}

// forget clears the fields that may have to be erased.
func (t *Target) forget() { t.Path, t.Item = "", "" }

// A By identifies the caller that started a job.
type By struct {
	Principal string `json:"principal"`
	Agent     string `json:"agent,omitempty"`
	Request   string `json:"request_id,omitempty"`
}

// A Progress is the progress of a job. It never decreases.
type Progress struct {
	Step  string `json:"step,omitempty"` // current or next step; empty: none is left
	Done  int    `json:"done"`           // number of completed steps
	Total int    `json:"total"`          // number of steps
}

// A Lease identifies the attempt that runs a job. No other attempt may run it before Until.
type Lease struct {
	Holder string    `json:"holder"` // random id of the attempt
	Until  time.Time `json:"until"`
}

// idPrefix is the prefix of every id.
const idPrefix = "job-"

// idCode encodes ids so that they sort by time.
var idCode = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// idLength is the length of an id in bytes.
var idLength = len(idPrefix) + idCode.EncodedLen(16)

// NewID returns a new id: idPrefix and the encoding of 48 bits of Unix milliseconds and 80 random
// bits.
func NewID(now time.Time) string {
	raw := idTime(now)
	_, _ = rand.Read(raw[6:]) // it never fails
	return idPrefix + idCode.EncodeToString(raw[:])
}

// firstID returns an id that sorts before all ids of the time at, and after all earlier ones: its
// random bits are zero.
func firstID(at time.Time) string {
	raw := idTime(at)
	return idPrefix + idCode.EncodeToString(raw[:])
}

// idTime returns the first 48 bits of an id: the Unix milliseconds of a time, not before 1970.
func idTime(at time.Time) (raw [16]byte) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(at.UnixMilli(), 0)))
	copy(raw[:6], ms[2:])
	return raw
}

// timeOf returns the time in an id, and false if id is not an id.
func timeOf(id string) (time.Time, bool) {
	text, ok := strings.CutPrefix(id, idPrefix)
	raw, err := idCode.DecodeString(text)
	if !ok || err != nil || len(id) != idLength {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, raw[:6]...)))), true
}

// A Filter selects jobs. A job must satisfy all fields.
type Filter struct {
	State   State           // empty: any
	Kind    string          // empty: any
	Visible func(Item) bool // nil: all jobs
}

// matches reports whether the filter selects a job.
func (f Filter) matches(it Item) bool {
	return (f.State == "" || it.State == f.State) && (f.Kind == "" || it.Kind == f.Kind) &&
		(f.Visible == nil || f.Visible(it))
}

// List returns up to limit jobs, newest first, with ids before `before` if that is not empty; more
// reports whether there are others. An id contains its time, but the table can only be read
// forward, so List reads blocks of time, each twice as long as the one after it. The cost of a page
// is about proportional to its size.
func (j *Jobs) List(
	ctx context.Context, f Filter, before string, limit int,
) (items []Item, more bool, err error) {
	oldest, ok, err := j.oldest(ctx)
	if err != nil || !ok {
		return nil, false, err
	}
	now := j.opt.Now()
	from, upTo := now, now.Add(24*time.Hour) // the clock of another process may be ahead
	if at, ok := timeOf(before); ok {
		from, upTo = at, at.Add(time.Millisecond)
	}
	for span := time.Minute; ; span *= 2 {
		from = from.Add(-span)
		block, err := j.block(ctx, f, from, upTo, before)
		if err != nil {
			return nil, false, err
		}
		// One job more than limit shows that there are others.
		if items = append(items, block...); len(items) > limit {
			return items[:limit], true, nil
		}
		if upTo = from; from.Before(oldest) {
			return items, false, nil
		}
	}
}

// oldest returns the creation time of the oldest job, from its id; ok is false if there is none. It
// costs one read, because ids sort by time.
func (j *Jobs) oldest(ctx context.Context) (at time.Time, ok bool, err error) {
	for row, err := range j.opt.Table.Query(ctx, Part, jobPrefix, jobPrefix+last) {
		if err != nil {
			return at, false, unknown(err)
		}
		at, ok = timeOf(row.Sort[len(jobPrefix):])
		return at, ok, nil
	}
	return at, false, nil
}

// block returns the selected jobs created in [from, upTo), newest first.
func (j *Jobs) block(
	ctx context.Context, f Filter, from, upTo time.Time, before string,
) ([]Item, error) {
	var all []Item
	rows := j.opt.Table.Query(ctx, Part, jobPrefix+firstID(from), jobPrefix+firstID(upTo))
	for row, err := range rows {
		if err != nil {
			return nil, unknown(err)
		}
		it, err := read(row)
		if err != nil {
			return nil, err
		}
		if (before == "" || it.ID < before) && f.matches(it) {
			all = append(all, it)
		}
	}
	slices.Reverse(all)
	return all, nil
}
