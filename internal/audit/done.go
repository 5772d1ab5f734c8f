package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"rookery/internal/auth"
	"rookery/internal/table"
)

// A Deed is a call that went well and makes no commit of a log: it changes what is kept beside one.
type Deed struct {
	Caller    auth.Caller
	Operation string // the name of the tool
	Vault     string
	Targets   []string // ids that it names
	Version   string   // of the vault, before and after
	At        time.Time
}

// Done is the operation that writes the entry of a call which makes no commit, to be done in one commit of the tenant's
// table with what the call changes. Entries of such calls are in the refusal log, beside those that were refused.
func Done(d Deed) (table.Op, error) {
	who := d.Caller
	e := Entry{
		Time: d.At.UTC().Round(0), Request: clean(who.RequestID), Tenant: who.Tenant,
		Principal: clean(who.Principal), Agent: clean(who.Agent), Operation: d.Operation, Vault: d.Vault,
		Targets: []string{}, Outcome: OK, Before: d.Version, After: d.Version, Token: clean(who.TokenID),
	}
	if who.Principal != auth.User(who.Issuer, who.Subject) {
		e.Issuer, e.Subject = clean(who.Issuer), clean(who.Subject)
	}
	for _, t := range d.Targets[:min(len(d.Targets), mostTargets)] {
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
