package job

import "context"

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
}

// message is that of a job.
func (j *Jobs) message(it Item) Message {
	return Message{V: 1, Kind: it.Kind, Tenant: j.opt.Tenant, Vault: it.Target.Vault, Job: it.ID}
}
