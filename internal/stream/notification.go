// Package stream writes the files of vaults in the cloud from their logs.
//
// Records of the table's stream are doorbells: they report that a log has new commits, but not
// which. The commits to write follow from the log and from the cursor in its control item, so a
// record may arrive twice, late, or not at all (reference/log.md §4).
package stream

import (
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A Record is a record of the stream: the change of an item, and its key.
type Record struct {
	Event      string // INSERT, MODIFY or REMOVE
	Part, Sort string
}

// A Notification reports that the log of a vault has new commits.
type Notification struct {
	Part  string // the partition of the vault in the table
	First uint64 // the first commit in the records
}

// Notifications returns one Notification for each vault with new commits in the records, sorted by
// partition. It ignores all other records.
func Notifications(records []Record) []Notification {
	first := map[string]uint64{}
	for _, r := range records {
		seq, ok := r.run()
		if !ok || !tenant.IsVault(r.Part) {
			continue
		}
		if was, known := first[r.Part]; !known || seq < was {
			first[r.Part] = seq
		}
	}
	bells := make([]Notification, 0, len(first))
	for part, seq := range first {
		bells = append(bells, Notification{part, seq})
	}
	slices.SortFunc(bells, func(a, b Notification) int { return strings.Compare(a.Part, b.Part) })
	return bells
}

// run returns the first commit of the run that was inserted. ok is false for other records.
func (r Record) run() (seq uint64, ok bool) {
	if r.Event != "INSERT" {
		return 0, false
	}
	return eventlog.RunAt(r.Sort)
}
