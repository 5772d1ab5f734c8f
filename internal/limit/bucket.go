package limit

import "time"

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
	if perMinute == 0 {
		perMinute = otherwise
	}
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
