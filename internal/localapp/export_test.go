package localapp

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Between returns a Config of an App whose tenants use the stores that the function returns.
func Between(
	c Config, stores func(table.Table, blob.Folder) (table.Table, blob.Folder),
) Config {
	c.between = stores
	return c
}

// Waiting returns a Config of an App in which calls that wait for the first reading of a folder use
// this function in place of time.After.
func Waiting(c Config, after func(time.Duration) <-chan time.Time) Config {
	c.after = after
	return c
}

// Waited returns a Config of an App that calls the function with the number of other calls that
// began to run while a call of a tenant waited, one call at a time.
func Waited(c Config, waited func(tenant string, passed int)) Config {
	c.waited = waited
	return c
}

// OnDisk returns a Config of an App that gets the free space of a disk from this function.
func OnDisk(c Config, space func(dir string) (free, total uint64, err error)) Config {
	c.space = space
	return c
}

// Asleep returns a Config of an App that does nothing between calls, with an interceptor around all
// calls.
func Asleep(c Config, outer tool.Interceptor) Config {
	c.sleeps, c.outer = true, []tool.Interceptor{outer}
	return c
}

// Stores returns the stores of an App, without the wrappers of a test. compact is that of the
// table.
func (a *App) Stores() (_ table.Table, _ blob.Bucket, compact func(context.Context) error) {
	return a.table, a.bucket, a.table.Compact
}

// ConnectionsOf returns the number of connections of a process that may open so many files.
var ConnectionsOf = connectionsOf

// LimitsOf returns the limits of each vault.
var LimitsOf = limitsOf

// Teams returns the tenants of an App.
func (a *App) Teams() *tenant.Registry { return a.teams }
