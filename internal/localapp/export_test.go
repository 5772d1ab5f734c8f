package localapp

import (
	"rookery/internal/blob"
	"rookery/internal/table"
)

// Between is a Config of an App whose tenants see the stores as this function gives them.
func Between(
	c Config, stores func(table.Table, blob.Folder) (table.Table, blob.Folder),
) Config {
	c.between = stores
	return c
}
