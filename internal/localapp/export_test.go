package localapp

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Between is a Config of an App whose tenants see the stores as this function gives them.
func Between(
	c Config, stores func(table.Table, blob.Folder) (table.Table, blob.Folder),
) Config {
	c.between = stores
	return c
}

// Waiting is a Config of an App in which calls wait for the first reading of a folder by this function
// instead of time.After.
func Waiting(c Config, after func(time.Duration) <-chan time.Time) Config {
	c.after = after
	return c
}

// Waited is a Config of an App that tells this function how many other calls began to run while one of a tenant
// waited, one call at a time.
func Waited(c Config, waited func(tenant string, passed int)) Config {
	c.waited = waited
	return c
}

// OnDisk is a Config of an App that learns from this function how many bytes a disk has left.
func OnDisk(c Config, space func(dir string) (free, total uint64, err error)) Config {
	c.space = space
	return c
}

// Asleep is a Config of an App that does nothing between calls, with an interceptor around all of them.
func Asleep(c Config, outer tool.Interceptor) Config {
	c.sleeps, c.outer = true, []tool.Interceptor{outer}
	return c
}

// Stores are those of an App, as no test stands between them. Compact is that of the table.
func (a *App) Stores() (_ table.Table, _ blob.Bucket, compact func(context.Context) error) {
	return a.table, a.bucket, a.table.Compact
}

// ConnectionsOf is how many connections a process has that may open so many files.
var ConnectionsOf = connectionsOf

// LimitsOf are the limits of each vault.
var LimitsOf = limitsOf

// Teams are the tenants of an App.
func (a *App) Teams() *team.Teams { return a.teams }
