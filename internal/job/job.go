// Package job keeps the work of a tenant that may outlast a call, and runs it: in the call that asked for it
// as long as that may take, and then wherever the queue leads.
//
// A job is progress and retry, and nothing else depends on it: what is true of a vault is in the logs. A job
// runs at least once, so each of its steps does no harm twice. Several processes may look at the same jobs; a
// lease says which one runs a job now.
package job

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"rookery/internal/fault"
)

// A State says where a job is on its way.
type State string

// The states. A job begins as Queued; Done, Failed and Cancelled are its ends.
const (
	Queued    State = "queued"    // it runs when a process takes it
	Running   State = "running"   // a process has its lease
	Waiting   State = "waiting"   // it runs again at RetryAt
	Done      State = "done"      // all steps succeeded
	Failed    State = "failed"    // it cannot succeed: Error says why
	Cancelled State = "cancelled" // a caller ended it
)

// States are all states, in the order of a job's life.
func States() []State { return []State{Queued, Running, Waiting, Done, Failed, Cancelled} }

// Ended reports whether a job in this state never runs again.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// An Item is a job as it is kept.
type Item struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	State    State           `json:"state"`
	Target   Target          `json:"target"`
	Created  time.Time       `json:"created_at"`
	Started  time.Time       `json:"started_at,omitzero"` // of the first attempt
	Ended    time.Time       `json:"ended_at,omitzero"`
	By       By              `json:"by"`
	Progress Progress        `json:"progress"`
	Attempts int             `json:"attempts"`
	Error    *fault.Fault    `json:"error,omitempty"`  // of the last attempt that failed
	Result   json.RawMessage `json:"result,omitempty"` // as far as there is one yet; none above MaxResult
	RetryAt  time.Time       `json:"retry_at,omitzero"`
	Lease    *Lease          `json:"lease,omitempty"`
	Cancel   bool            `json:"cancel,omitempty"` // a caller wants its end

	Input json.RawMessage `json:"input,omitempty"` // what its steps need to know beside the target
	Open  string          `json:"open,omitempty"`  // the key of the item that keeps the target for it
}

// MaxResult is how many bytes of a result are kept.
const MaxResult = 256 << 10

// A Target is what a job is about. Of one kind and target there is one job at a time.
type Target struct {
	Vault string `json:"vault,omitempty"` // empty: the tenant
	Path  string `json:"path,omitempty"`  // of a note, until the job ends; empty: the vault as a whole, or the item
	Item  string `json:"item,omitempty"`  // the id of a memory, until the job ends
}

// forget drops what may be to leave no trace.
func (t *Target) forget() { t.Path, t.Item = "", "" }

// By says who asked for a job.
type By struct {
	Principal string `json:"principal"`
	Agent     string `json:"agent,omitempty"`
	Request   string `json:"request_id,omitempty"`
}

// Progress says how far a job is. It never goes back.
type Progress struct {
	Step  string `json:"step,omitempty"` // that runs, or is next; empty: none is left
	Done  int    `json:"done"`           // steps that are done
	Total int    `json:"total"`          // steps that the job has
}

// A Lease says which process runs a job, and until when no other one may.
type Lease struct {
	Holder string    `json:"holder"` // names one attempt
	Until  time.Time `json:"until"`
}

// idPrefix begins every id.
const idPrefix = "job-"

// idCode writes an id so that ids sort as their times do.
var idCode = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// idLength is the length of every id, in bytes.
var idLength = len(idPrefix) + idCode.EncodedLen(16)

// NewID makes an id: 48 bits of a time in milliseconds and 80 random ones.
func NewID(now time.Time) string {
	raw := idTime(now)
	_, _ = rand.Read(raw[6:]) // it never fails
	return idPrefix + idCode.EncodeToString(raw[:])
}

// firstID sorts before the ids of a time, and after all earlier ones.
func firstID(at time.Time) string {
	raw := idTime(at)
	return idPrefix + idCode.EncodeToString(raw[:])
}

func idTime(at time.Time) (raw [16]byte) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(max(at.UnixMilli(), 0)))
	copy(raw[:6], ms[2:])
	return raw
}

// timeOf is the time in an id. It reports false if the text is no id.
func timeOf(id string) (time.Time, bool) {
	text, ok := strings.CutPrefix(id, idPrefix)
	raw, err := idCode.DecodeString(text)
	if !ok || err != nil || len(id) != idLength {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(append([]byte{0, 0}, raw[:6]...)))), true
}
