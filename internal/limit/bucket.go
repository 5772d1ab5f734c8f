package limit

import "time"

// maxRate is the highest rate: a call of all agents of a principal every six microseconds.
const maxRate = 1_000_000

// A rate is what one kind of call is kept to.
type rate struct {
	perMinute        int // of an agent; negative: the rate is not kept
	lease            int // how many calls an instance may have in hand, of an agent or of a principal
	agent, principal bucket
}

func newRate(perMinute, otherwise int) rate {
	if perMinute < 0 {
		return rate{perMinute: -1}
	}
	if perMinute == 0 {
		perMinute = otherwise
	}
	perMinute = min(perMinute, maxRate)
	lease := max(LeaseSize, perMinute/int(Window/time.Second))
	return rate{
		perMinute, lease, newBucket(perMinute, lease), newBucket(perMinute*PerPrincipal, lease),
	}
}

// off reports whether the rate is not kept.
func (r rate) off() bool { return r.perMinute < 0 }

// A bucket is the size of a token bucket. How full one is, is said by its debt: the time until it is
// full again. So a bucket that nobody keeps is full.
type bucket struct {
	perMinute int
	calls     int           // in a full one
	each      time.Duration // in which it gains a call
	lease     int           // calls that are taken out of it at once, if there are enough
}

// newBucket rounds up the time of a call, so that there are never more calls than the rate says.
func newBucket(perMinute, lease int) bucket {
	n := time.Duration(perMinute)
	return bucket{perMinute, perMinute * Burst, (Window + n - 1) / n, lease}
}

// empty is the debt of an empty bucket.
func (b bucket) empty() time.Duration { return time.Duration(b.calls) * b.each }

// room is how many calls are in it.
func (b bucket) room(debt time.Duration) int {
	return int(max(0, b.empty()-debt) / b.each)
}

// wait is how long it takes until there is a call in it, 0 if there is one.
func (b bucket) wait(debt time.Duration) time.Duration {
	return max(0, debt+b.each-b.empty())
}

// after is the debt when so many more calls were taken.
func (b bucket) after(debt time.Duration, calls int) time.Duration {
	return debt + time.Duration(calls)*b.each
}

// lend is how many calls to take for an instance that has some in hand and needs so many at once: those,
// and what makes a lease with the last of them. But a lease is never more than a quarter of what is
// there, so that the calls of somebody who turns to many instances are not all in the hands of those
// who need none.
func (b bucket) lend(debt time.Duration, inHand, needed int) int {
	room := b.room(debt)
	want := max(needed, needed-1+min(b.lease, room/4))
	return min(room, max(0, want-inHand))
}
