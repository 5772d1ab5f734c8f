package job

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A Queue wakes what runs jobs.
type Queue interface {
	// Send asks for a message to be worked on soon, by any process, at least once. Where it fails nothing is
	// lost but time: whatever looks for jobs by itself finds them.
	Send(ctx context.Context, m Message) error
}

// A Message names work. What is to be done follows from the state of what it names, never from the message.
type Message struct {
	V           int    `json:"v"` // 1
	Kind        string `json:"kind"`
	Tenant      string `json:"tenant"`
	Vault       string `json:"vault,omitempty"`
	Incarnation int    `json:"incarnation,omitempty"`
	Job         string `json:"job,omitempty"`
	N           int    `json:"n,omitempty"`

	// After is how long the message is kept back before it is worked on. A queue may keep it back for less, or
	// not at all.
	After time.Duration `json:"-"`
}

// messageFormat is the version of a message.
const messageFormat = 1

// ErrMessage says that a message is none that this release can work on: it is malformed, or of another version or
// of an unknown kind.
var ErrMessage = errors.New("the message cannot be worked on by this release")

// ParseMessage reads a message as a queue keeps it, in JSON. One that is malformed, of another version, or names no
// kind or tenant, is ErrMessage.
func ParseMessage(data []byte) (Message, error) {
	var m Message
	if json.Unmarshal(data, &m) != nil || m.V != messageFormat || m.Kind == "" || m.Tenant == "" {
		return Message{}, ErrMessage
	}
	return m, nil
}

// message is that of a job. It is to come when the job can be run.
func (j *Jobs) message(it Item) Message {
	return Message{
		V: messageFormat, Kind: it.Kind, Tenant: j.opt.Tenant, Vault: it.Target.Vault, Job: it.ID,
		After: max(0, it.next().Sub(j.opt.Now())),
	}
}

// tell sends the message of a job.
func (j *Jobs) tell(ctx context.Context, it Item) error {
	if j.opt.Queue == nil {
		return nil
	}
	if err := j.opt.Queue.Send(ctx, j.message(it)); err != nil {
		return untold{err}
	}
	return nil
}

// untold is the error of a queue that could not be told of a job.
type untold struct{ error }

// Unwrap returns why.
func (u untold) Unwrap() error { return u.error }
