package awsapp

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/rookeryhq/rookery/internal/janitor"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A Janitor is the function that a schedule invokes. It is safe for concurrent use.
type Janitor struct {
	opt     Options
	teams   *tenant.Registry
	janitor *janitor.Janitor
}

var _ lambda.Handler = (*Janitor)(nil)

// NewJanitor returns a Janitor over the stores and the queue of the Options. It reads nothing from
// the stores.
func NewJanitor(o Options) *Janitor {
	o = o.withDefaults()
	teams := tenant.NewRegistry(followerOptions(o))
	return &Janitor{opt: o, teams: teams, janitor: &janitor.Janitor{
		Teams: teams, Table: o.Table, Queue: o.Queue, Log: o.Log, Now: o.Now,
	}}
}

// ServeJanitor is the main function of the program that a schedule invokes. It does not return.
func ServeJanitor() {
	serveBackground(func(d *deployment) lambda.Handler { return NewJanitor(d.Options) })
}

// Close closes the function. No event may follow it.
func (j *Janitor) Close() { j.teams.Close() }

// Invoke examines all tenants once, or executes a command. If its time is over, the next event
// continues. It returns the JSON null, because nothing reads its answer; after an error, the
// schedule invokes the function again.
func (j *Janitor) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	j.opt.Begin()
	ctx, cancel := beforeDeadline(ctx, grace)
	defer cancel()
	if name, ok := commandOf(payload); ok {
		return j.command(ctx, name)
	}
	if err := j.janitor.Run(ctx); err != nil {
		return nil, err
	}
	return []byte("null"), nil
}
