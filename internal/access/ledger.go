package access

// A holder is a principal of a tenant.
type holder struct{ tenant, principal string }

// A ledger counts the units of one kind that are held: in all, by each tenant and by each principal.
type ledger struct {
	total int64
	sure  int64 // units that a tenant may have while there are any; a principal a quarter of them
	floor int64 // units that a tenant may have even where there are none

	held       int64
	tenants    map[string]int64
	principals map[holder]int64
}

func newLedger(total, sure, floor int64) ledger {
	return ledger{
		total: total, sure: sure, floor: floor, tenants: map[string]int64{}, principals: map[holder]int64{},
	}
}

// fits reports whether a holder may have n units more. Beyond what is sure, a tenant has no more than are
// free to all then, and a principal no more than its tenant could still take: one tenant alone has at most a
// half, and each of three at their limit has a quarter, so that units are left for the next one. A tenant or
// principal that has nothing yet may always take what is free. The local principal, which is everyone, has
// no share.
func (l *ledger) fits(h holder, n int64) bool {
	free := l.total - l.held - n
	tenant, own := l.tenants[h.tenant]+n, l.principals[h]+n
	switch {
	case tenant <= l.floor:
		return true
	case free < 0:
		return false
	case isLocal(h):
		return true
	case tenant > n && tenant > max(l.sure, free):
		return false
	}
	const part = 4
	return own == n || own <= max(l.sure/part, free-tenant)
}

// add gives units to a holder; a negative number takes them back.
func (l *ledger) add(h holder, n int64) {
	l.held += n
	if l.tenants[h.tenant] += n; l.tenants[h.tenant] == 0 {
		delete(l.tenants, h.tenant)
	}
	if l.principals[h] += n; l.principals[h] == 0 {
		delete(l.principals, h)
	}
}
