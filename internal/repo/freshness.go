package repo

import "time"

// Freshness says how what a vault answers stands to the files that people see (DESIGN §5). An answer is
// always true of the log's head; what may differ is the checkout.
type Freshness string

// The states, by what orientation calls them.
const (
	Fresh        Freshness = "fresh"        // no change from outside is known
	Pending      Freshness = "pending"      // changes from outside were noticed, and are not in the log
	Updating     Freshness = "updating"     // a reindex holds its lease
	Stale        Freshness = "stale"        // the last sweep found files that are not as the log says
	Incompatible Freshness = "incompatible" // the log is of a newer format than this release reads
	Unknown      Freshness = "unknown"      // nobody has compared the files with the log yet
)

// Noticed are the changes from outside that came to be known since the last sweep, because a write met
// them: files that somebody else changed, or made where a note was to be.
type Noticed struct {
	At    time.Time `json:"at"`              // when the last of them was met
	Paths []string  `json:"paths,omitempty"` // at most 100
	Count int       `json:"count"`           // of all
}

// A Lease says that somebody is at work. One that its holder did not give back, for it was killed, ends
// by itself.
type Lease struct {
	Holder string    `json:"holder"` // names who took it, once
	Until  time.Time `json:"until"`
}

// held reports whether the lease still holds at a time.
func (l *Lease) held(now time.Time) bool { return l != nil && now.Before(l.Until) }

// Freshness is what the control item says at a time. Nothing else is looked at: those who know write
// there what they found. Where several states hold, it is the one that tells most of what comes next:
// who is updating is about to look at what was noticed, and what was noticed is newer than what the
// last sweep found.
func (c Control) Freshness(now time.Time) Freshness {
	switch {
	case c.Format > controlFormat:
		return Incompatible
	case c.Lease.held(now):
		return Updating
	case c.Noticed != nil && c.Noticed.Count > 0:
		return Pending
	case c.Sweep == nil:
		return Unknown
	case c.Sweep.Count > 0 || c.Sweep.Missed > 0:
		return Stale
	}
	return Fresh
}
