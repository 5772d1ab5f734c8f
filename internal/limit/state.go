package limit

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/rookeryhq/rookery/internal/table"
)

// part is the partition of the tenant that contains the items, one for each principal and kind. It
// is not a valid name of a vault.
const part = "~rates"

// Parts returns the partitions of a tenant that this package uses.
func Parts() []string { return []string{part} }

// itemLife is how long an item is kept after its last change. Its buckets are full after two minutes,
// and it counts two days; the rest allows for clocks that are wrong by days.
const itemLife = 7 * 24 * time.Hour

// A state is the content of an item: the buckets and counts of one principal and kind.
type state struct {
	// At is the time of the item, in Unix nanoseconds. It never decreases; see account.time.
	At int64 `json:"at"`

	Principal time.Duration            `json:"principal"`        // debt of the bucket of all agents together
	Agents    map[string]time.Duration `json:"agents,omitempty"` // debts by digest; agents without an entry have none

	Days map[day]int64 `json:"days,omitempty"` // allowed calls by day
}

// latest is the largest valid time of an item: the beginning of the year 2200.
const latest = 7_258_118_400_000_000_000

// readState decodes an item. If the item is invalid, it returns one with an empty bucket of the
// principal: that blocks the principal for at most two minutes, and allows no additional calls.
func readState(data []byte, r rate, now time.Time) state {
	var s state
	if err := json.Unmarshal(data, &s); err != nil || s.At < 0 || s.At > latest {
		return state{At: now.UnixNano(), Principal: r.principal.empty()}
	}
	s.Principal = min(max(0, s.Principal), r.principal.empty())
	for agent, debt := range s.Agents {
		s.Agents[agent] = min(max(0, debt), r.agent.empty())
	}
	return s
}

// encode returns the item with this state.
func (s state) encode(n name, now time.Time) (table.Item, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return table.Item{}, fmt.Errorf("encode a rate: %w", err)
	}
	return table.Item{Key: n.key(), Data: data, Expires: now.Add(itemLife)}, nil
}

// key returns the key of the item of an account. It is a hash, because ids of principals may be
// longer than a key.
func (n name) key() table.Key {
	sum := sha256.Sum256([]byte(n.principal))
	return table.Key{
		Part: part, Sort: string(n.kind) + "/" + base64.RawURLEncoding.EncodeToString(sum[:]),
	}
}

// digest returns a short hash of an agent, for items with many agents.
func digest(agent string) string {
	sum := sha256.Sum256([]byte(agent))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// remaining returns the part of a debt that remains at a time of the item.
func (s state) remaining(debt time.Duration, at int64) time.Duration {
	return max(0, debt-time.Duration(at-s.At))
}

// advancedTo returns a copy of the state at a later time, without the agents whose buckets are full
// again. So an item stays small, whatever the number of agents over time.
func (s state) advancedTo(at int64) state {
	next := state{
		At: at, Principal: s.remaining(s.Principal, at),
		Agents: map[string]time.Duration{}, Days: maps.Clone(s.Days),
	}
	for agent, debt := range s.Agents {
		if d := s.remaining(debt, at); d > 0 {
			next.Agents[agent] = d
		}
	}
	return next
}

// waitForAgent returns the time until another agent may have a debt; 0 if it may now.
func (s state) waitForAgent(agent string, at int64) time.Duration {
	if _, known := s.Agents[agent]; known || len(s.Agents) < MaxAgents {
		return 0
	}
	owed, soonest := 0, time.Duration(0)
	for _, debt := range s.Agents {
		if d := s.remaining(debt, at); d > 0 {
			if owed++; owed == 1 || d < soonest {
				soonest = d
			}
		}
	}
	if owed < MaxAgents {
		return 0
	}
	return soonest
}

// count adds calls to the counts, and deletes the counts of days other than yesterday, today and
// tomorrow.
func (s *state) count(t tally, today day) {
	if s.Days == nil {
		s.Days = map[day]int64{}
	}
	if t.calls > 0 {
		s.Days[t.day] += t.calls
	}
	maps.DeleteFunc(s.Days, func(d day, _ int64) bool { return d < today-1 || d > today+1 })
}

// A tally is a number of allowed calls on one day.
type tally struct {
	day   day
	calls int64
}

// A day is a day in UTC, counted from 1970-01-01.
type day int64

// dayOf returns the day of t.
func dayOf(t time.Time) day { return day(t.Unix() / (24 * 60 * 60)) }

// maxRate is the highest rate of an agent, in calls a minute. All agents of a principal then have
// one call every six microseconds.
const maxRate = 1_000_000

// A rate is the limit of one kind of call.
type rate struct {
	perMinute        int // of an agent; negative: no limit
	lease            int // most calls that an instance leases, for an agent or a principal
	agent, principal bucket
}

// newRate returns the rate for perMinute calls a minute of an agent; 0: otherwise, negative: no
// limit.
func newRate(perMinute, otherwise int) rate {
	if perMinute < 0 {
		return rate{perMinute: -1}
	}
	perMinute = cmp.Or(perMinute, otherwise)
	perMinute = min(perMinute, maxRate)
	lease := max(LeaseSize, perMinute/int(Window/time.Second))
	return rate{
		perMinute, lease, newBucket(perMinute, lease), newBucket(perMinute*PerPrincipal, lease),
	}
}

// isUnlimited reports whether there is no limit.
func (r rate) isUnlimited() bool { return r.perMinute < 0 }

// A bucket describes a token bucket. Its fill level is represented as a debt: the time until it is
// full again. So a bucket that is not stored is full.
type bucket struct {
	perMinute int
	calls     int           // capacity
	each      time.Duration // time to gain one call
	lease     int           // calls to take at once, if there are enough
}

// newBucket returns a bucket. It rounds up the time of a call, so that the rate is never exceeded.
func newBucket(perMinute, lease int) bucket {
	n := time.Duration(perMinute)
	return bucket{perMinute, perMinute * Burst, (Window + n - 1) / n, lease}
}

// empty returns the debt of an empty bucket.
func (b bucket) empty() time.Duration { return time.Duration(b.calls) * b.each }

// room returns the number of calls in a bucket with this debt.
func (b bucket) room(debt time.Duration) int {
	return int(max(0, b.empty()-debt) / b.each)
}

// wait returns the time until a bucket contains a call; 0 if it does.
func (b bucket) wait(debt time.Duration) time.Duration {
	return max(0, debt+b.each-b.empty())
}

// after returns the debt after more calls were taken.
func (b bucket) after(debt time.Duration, calls int) time.Duration {
	return debt + time.Duration(calls)*b.each
}

// lend returns how many calls to take for an instance that has some leased and needs some now: the
// needed ones, and a full lease with the last of them. It leases at most a quarter of the calls in
// the bucket, so that the calls of a caller that uses many instances are not all leased by
// instances that do not need them.
func (b bucket) lend(debt time.Duration, inHand, needed int) int {
	room := b.room(debt)
	want := max(needed, needed-1+min(b.lease, room/4))
	return min(room, max(0, want-inHand))
}
