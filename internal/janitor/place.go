package janitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/table"
)

// placeKey is the key of the item with the position of the last run. No tenant can have the name of
// its partition.
var placeKey = table.Key{Part: "~janitor", Sort: "place"}

// A place is the tenant after which the next run begins.
type place struct {
	Tenant string `json:"tenant"`
}

// place returns the tenant after which a run begins, or "" for the first one.
func (j *Janitor) place(ctx context.Context) (string, error) {
	it, err := j.Table.Get(ctx, placeKey)
	if errors.Is(err, table.ErrNotFound) {
		return "", nil
	}
	var p place
	if err == nil {
		err = json.Unmarshal(it.Data, &p)
	}
	if err != nil {
		return "", fmt.Errorf("read where the run before ended: %w", err)
	}
	return p.Tenant, nil
}

// save stores the tenant after which the next run begins.
func (j *Janitor) save(ctx context.Context, tenant string) error {
	data, err := json.Marshal(place{tenant})
	if err == nil {
		err = j.Table.Commit(ctx, table.Set(table.Item{Key: placeKey, Data: data}))
	}
	if err != nil {
		return fmt.Errorf("write where the run is: %w", err)
	}
	return nil
}

// forget makes the next run begin with the first tenant.
func (j *Janitor) forget(ctx context.Context) error {
	if err := j.Table.Commit(ctx, table.Remove(placeKey)); err != nil {
		return fmt.Errorf("write where the run is: %w", err)
	}
	return nil
}
