package limit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"rookery/internal/table"
)

// part is the partition of the tenant in which the items are, one for each principal and kind. No vault
// can have this name.
const part = "~rates"

// Parts are the partitions of a tenant that rates are kept in.
func Parts() []string { return []string{part} }

// kept is how long an item is kept after its last change. Its buckets are full after two minutes, and
// its counts are of two days; the rest is for clocks that are wrong by days.
const kept = 7 * 24 * time.Hour

// A state is what an item says of one principal and kind.
type state struct {
	// At is the time of the item, in nanoseconds since 1970. It never goes back: who has an earlier one
	// on its clock counts on from here (account.time).
	At int64 `json:"at"`

	Principal time.Duration            `json:"principal"`        // the debt of all its agents' bucket
	Agents    map[string]time.Duration `json:"agents,omitempty"` // by digest; who is not there has none

	Days map[day]int64 `json:"days,omitempty"` // calls that were let through
}

// latest is the last time that an item can have: the beginning of the year 2200.
const latest = 7_258_118_400_000_000_000

// readState reads an item. One that makes no sense, or has a time that cannot be, is taken for one of
// empty buckets: that keeps nobody out for longer than two minutes, and gives nothing away.
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

// encode is the item that says the state, as it is written now.
func (s state) encode(n name, now time.Time) (table.Item, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return table.Item{}, fmt.Errorf("encode a rate: %w", err)
	}
	return table.Item{Key: n.key(), Data: data, Expires: now.Add(kept)}, nil
}

// key is where the item of a principal and kind is. Ids of principals may be longer than a key may be.
func (n name) key() table.Key {
	sum := sha256.Sum256([]byte(n.principal))
	return table.Key{
		Part: part, Sort: string(n.kind) + "/" + base64.RawURLEncoding.EncodeToString(sum[:]),
	}
}

// digest stands for an agent in an item: short, for there may be many.
func digest(agent string) string {
	sum := sha256.Sum256([]byte(agent))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// later is what a debt has become at a time of the item.
func (s state) later(debt time.Duration, at int64) time.Duration {
	return max(0, debt-time.Duration(at-s.At))
}

// moved is a copy of the state at a later time, without the agents whose buckets are full again.
func (s state) moved(at int64) state {
	next := state{
		At: at, Principal: s.later(s.Principal, at),
		Agents: map[string]time.Duration{}, Days: maps.Clone(s.Days),
	}
	for agent, debt := range s.Agents {
		if d := s.later(debt, at); d > 0 {
			next.Agents[agent] = d
		}
	}
	return next
}

// crowded is how long it takes until there is a place for one more agent, 0 if there is one.
func (s state) crowded(agent string, at int64) time.Duration {
	if _, known := s.Agents[agent]; known || len(s.Agents) < MaxAgents {
		return 0
	}
	owed, soonest := 0, time.Duration(0)
	for _, debt := range s.Agents {
		if d := s.later(debt, at); d > 0 {
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

// count adds calls of a day, and forgets the days that are further than one from today.
func (s *state) count(t tally, today day) {
	if s.Days == nil {
		s.Days = map[day]int64{}
	}
	if t.calls > 0 {
		s.Days[t.day] += t.calls
	}
	maps.DeleteFunc(s.Days, func(d day, _ int64) bool { return d < today-1 || d > today+1 })
}

// A tally is calls that were let through on a day.
type tally struct {
	day   day
	calls int64
}

// A day is the number of a day in UTC, counted from 1970.
type day int64

func dayOf(t time.Time) day { return day(t.Unix() / (24 * 60 * 60)) }
