// Package stream brings what follows the logs of vaults in the cloud in step with them: the files of their notes.
//
// Records of the stream of the table are doorbells: they say that a log has more, and nothing of what it is. What is
// to be done follows from the log and from the cursor in its control item, so that a record may come twice, late, or
// not at all (reference/log.md §4).
package stream

import (
	"slices"
	"strings"

	"rookery/internal/repo"
	"rookery/internal/team"
)

// A Record is a record of the stream: what became of an item, and its key.
type Record struct {
	Event      string // INSERT, MODIFY or REMOVE
	Part, Sort string
}

// A Doorbell says that the log of a vault has more.
type Doorbell struct {
	Part  string // the partition of the vault in the table
	First uint64 // the first commit of which a record tells
}

// Doorbells returns one for each vault of which the records tell that its log has more, in the order of their
// partitions. All other records are passed over.
func Doorbells(records []Record) []Doorbell {
	first := map[string]uint64{}
	for _, r := range records {
		seq, ok := r.run()
		if !ok || !team.IsVault(r.Part) {
			continue
		}
		if was, known := first[r.Part]; !known || seq < was {
			first[r.Part] = seq
		}
	}
	bells := make([]Doorbell, 0, len(first))
	for part, seq := range first {
		bells = append(bells, Doorbell{part, seq})
	}
	slices.SortFunc(bells, func(a, b Doorbell) int { return strings.Compare(a.Part, b.Part) })
	return bells
}

// run is the first commit of the run that was inserted; it reports false if the record tells of something else.
func (r Record) run() (seq uint64, ok bool) {
	if r.Event != "INSERT" {
		return 0, false
	}
	return repo.RunAt(r.Sort)
}
