package job

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A Queue delivers messages to the processes that run jobs.
type Queue interface {
	// Send requests that any process handles a message soon, at least once. If it fails, the work
	// is only delayed: processes also look for jobs on their own.
	Send(ctx context.Context, m Message) error
}

// A Message identifies work. The work to do follows from the state of the identified object, never
// from the message, so a message may be lost, late, or delivered twice. Which fields are set
// depends on the kind.
type Message struct {
	V           int    `json:"v"` // 1
	Kind        string `json:"kind"`
	Tenant      string `json:"tenant"`
	Vault       string `json:"vault,omitempty"`
	Incarnation int    `json:"incarnation,omitempty"`
	Job         string `json:"job,omitempty"`
	N           int    `json:"n,omitempty"`

	// After is the delay before the message is delivered. A queue may deliver it earlier.
	After time.Duration `json:"-"`
}

// messageFormat is the version of messages.
const messageFormat = 1

// ErrMessage is the error of a message that this release cannot handle, because it is malformed, or
// has another version or an unknown kind.
var ErrMessage = errors.New("the message cannot be worked on by this release")

// ParseMessage decodes a message from JSON. It returns ErrMessage if it is malformed, has another
// version, or has no kind or tenant.
func ParseMessage(data []byte) (Message, error) {
	var m Message
	if json.Unmarshal(data, &m) != nil || m.V != messageFormat || m.Kind == "" || m.Tenant == "" {
		return Message{}, ErrMessage
	}
	return m, nil
}

// message returns the message for a job, to be delivered when the job is due.
func (j *Jobs) message(it Item) Message {
	return Message{
		V: messageFormat, Kind: it.Kind, Tenant: j.opt.Tenant, Vault: it.Target.Vault, Job: it.ID,
		After: max(0, it.next().Sub(j.opt.Now())),
	}
}

// send sends the message for a job. It returns an untold error if that fails.
func (j *Jobs) send(ctx context.Context, it Item) error {
	if j.opt.Queue == nil {
		return nil
	}
	if err := j.opt.Queue.Send(ctx, j.message(it)); err != nil {
		return sendError{err}
	}
	return nil
}

// A sendError is the error of a message that could not be sent.
type sendError struct{ error }

// Unwrap returns the cause.
func (u sendError) Unwrap() error { return u.error }
