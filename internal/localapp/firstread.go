package localapp

import (
	"context"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// firstWait is the longest time that a call waits for the first reading of the folder of its vault.
// It is also the time after which a call may be repeated if its object was not found meanwhile.
const firstWait = 3 * time.Second

// A partial is a vault whose folder is not read completely yet, with the progress when that was
// last asked.
type partial struct {
	vault  string
	folder *checkout.Checkout
	read   checkout.Reading
}

// firstReading returns an interceptor that makes calls wait for the first reading of the folder of
// their vault, for up to firstWait. If the reading goes on after that, every answer has the warning
// INDEX_UPDATING, and NOT_FOUND becomes UNAVAILABLE, because the file may exist without having been
// read. A call without a vault is about all vaults that its caller may read. after is the timer,
// which tests replace.
//
// Small folders are read within the time, so their callers notice nothing. A call is never refused
// because of a reading, because an agent can work with a part of the notes if it knows that.
func (a *App) firstReading(after func(time.Duration) <-chan time.Time) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			all := waitFor(ctx, a.partials(ctx, c), after)
			for _, p := range all {
				c.Warnings = append(c.Warnings, p.warning())
			}
			r, err := next(ctx, c)
			if len(all) > 0 && fault.Is(err, fault.NotFound) {
				err = all[0].unsure(fault.Of(err))
			}
			return r, err
		}
	}
}

// partials returns the vaults of a call that have a folder. Of a call without a vault, it returns
// those whose folder is being read. It returns nil for a call that is malformed or needs no vault,
// and on an error, because the tool reports the same error.
func (a *App) partials(ctx context.Context, c *tool.Call) []partial {
	if c.Malformed != nil || c.Tool.Makes || c.Tool.Anywhere {
		return nil
	}
	t, err := a.teams.Tenant(ctx, c.Caller.Tenant)
	if err != nil {
		return nil
	}
	name := c.Text("vault")
	if c.Tool.Subject != "" {
		name = c.Text(c.Tool.Subject)
	}
	if name == "" {
		return visible(t.FirstReadings(), c)
	}
	folder, err := t.Folder(ctx, name)
	if err != nil || folder == nil {
		return nil
	}
	return []partial{{vault: name, folder: folder}}
}

// visible returns those vaults that the caller may read. A caller must not learn from a warning
// that a vault exists.
func visible(all []tenant.FirstReading, c *tool.Call) []partial {
	var seen []partial
	for _, b := range all {
		if c.Caller.Role(b.Vault).Allows(c.Needs().Role) {
			seen = append(seen, partial{vault: b.Vault, folder: b.Folder})
		}
	}
	return seen
}

// waitFor waits until all folders are read, or until firstWait has passed, and returns those that
// are still being read, with their progress. The time is for all of them together.
func waitFor(
	ctx context.Context, all []partial, after func(time.Duration) <-chan time.Time,
) (left []partial) {
	var over <-chan time.Time
	for _, p := range all {
		if p.isReading() && over == nil {
			over = after(firstWait)
		}
	}
	for _, p := range all {
		if over != nil && !p.wait(ctx, over) {
			closed := make(chan time.Time)
			close(closed)
			over = closed // do not wait for the others
		}
		if p.isReading() {
			left = append(left, p)
		}
	}
	return left
}

// isReading reports whether the reading goes on, and records its progress in p.read, from which the
// warning is made.
func (p *partial) isReading() (under bool) {
	p.read, under = p.folder.Reading()
	return under
}

// wait waits until the folder is read, and returns true; false if over or the context ended first.
// It also returns true if the reading failed, because there is nothing to wait for.
func (p *partial) wait(ctx context.Context, over <-chan time.Time) bool {
	select {
	case <-p.folder.First():
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// progress returns a sentence with the progress of the reading.
func (p *partial) progress() string {
	return fmt.Sprintf("the folder of vault %q is being read for the first time since the server started: "+
		"%d of %d files so far", p.vault, p.read.Read, p.read.Total)
}

// warning returns the warning INDEX_UPDATING with the progress of the reading. It has the vault,
// and the numbers of files read and listed, as fields.
func (p *partial) warning() tool.Warning {
	return tool.Warning{
		Code: "INDEX_UPDATING", Message: p.progress() + "; this answer may be incomplete",
		Fields: map[string]any{"vault": p.vault, "read": p.read.Read, "total": p.read.Total},
	}
}

// unsure returns UNAVAILABLE in place of the fault of a call whose object was not found among the
// files read so far. The details of the fault are kept, and its message is part of the new one.
func (p *partial) unsure(f *fault.Fault) error {
	unsure := fault.New(fault.Unavailable, "not found yet: %s; %s", f.Message, p.progress()).
		With("read", p.read.Read).With("total", p.read.Total).After(firstWait).Because(f).
		Fix("repeat the call in %d seconds", int(firstWait.Seconds()))
	for key, value := range f.Details {
		unsure = unsure.With(key, value)
	}
	return unsure
}
