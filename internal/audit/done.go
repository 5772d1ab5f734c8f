package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/table"
)

// An Action is a successful call that makes no commit of a log, because it changes data outside the
// logs.
type Action struct {
	Caller    auth.Caller
	Operation string // the name of the tool
	Vault     string
	Targets   []string // ids that the call names
	Version   string   // of the vault; equal before and after the call
	At        time.Time
}

// EntryOp returns the operation that writes the entry of a call without a commit. It must be part of
// the commit of the tenant's table that makes the call's change, so that there is an entry if and
// only if there is a change. These entries are in the refusal log together with those of refused
// calls. At most maxTargets targets are stored.
func EntryOp(d Action) (table.Op, error) {
	who := d.Caller
	e := Entry{
		Time: d.At.UTC().Round(0), Request: clean(who.RequestID), Tenant: who.Tenant,
		Principal: clean(who.Principal), Agent: clean(who.Agent), Operation: d.Operation, Vault: d.Vault,
		Targets: []string{}, Outcome: OK, Before: d.Version, After: d.Version, Token: clean(who.TokenID),
	}
	if who.Principal != auth.User(who.Issuer, who.Subject) {
		e.Issuer, e.Subject = clean(who.Issuer), clean(who.Subject)
	}
	for _, t := range d.Targets[:min(len(d.Targets), maxTargets)] {
		if t != "" {
			e.Targets = append(e.Targets, clean(t))
		}
	}
	if !who.Began.IsZero() {
		took := max(0, d.At.Sub(who.Began).Milliseconds())
		e.Took = &took
	}
	data, err := json.Marshal(e)
	if err != nil {
		return table.Op{}, fmt.Errorf("encode an entry: %w", err)
	}
	return table.Create(table.Item{Key: table.Key{Part: partEntries, Sort: newKey(e)}, Data: data}), nil
}
