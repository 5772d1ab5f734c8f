package access

// A unit is a kind of what is shared.
type unit int

const (
	requests unit = iota // in flight
	calls                // that run
	octets               // of bodies and answers
	units                // how many kinds there are
)

// A holder is a principal of a tenant.
type holder struct{ tenant, principal string }

// A held is how many units of each kind somebody holds.
type held [units]int64

// An account is what a principal holds, while it has a request in flight.
type account struct {
	holder
	own    held
	tenant *held // of all its principals
	local  bool  // it is everyone, and has no share
}

// A ledger is how many units of one kind there are.
type ledger struct {
	unit  unit
	total int64
	sure  int64 // units that a tenant may have while there are any; a principal a quarter of them
	floor int64 // units that a tenant may have even where there are none
	held  int64
}

// fits reports whether a principal may have n units more. Beyond what is sure, a tenant has no more than are
// free to all then, and a principal no more than its tenant could still take: one tenant alone has at most a
// half, and each of three at their limit has a quarter, so that units are left for the next one. A tenant or
// principal that has nothing yet may always take what is free. The local principal, which is everyone, has
// no share.
func (l *ledger) fits(a *account, n int64) bool {
	free := l.total - l.held - n
	tenant, own := a.tenant[l.unit]+n, a.own[l.unit]+n
	switch {
	case tenant <= l.floor:
		return true
	case free < 0:
		return false
	case a.local:
		return true
	case tenant > n && tenant > max(l.sure, free):
		return false
	}
	const part = 4
	return own == n || own <= max(l.sure/part, free-tenant)
}

// add gives units to a principal; a negative number takes them back.
func (l *ledger) add(a *account, n int64) {
	l.held += n
	a.tenant[l.unit] += n
	a.own[l.unit] += n
}
