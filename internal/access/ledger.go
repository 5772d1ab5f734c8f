package access

// A unit is a kind of shared resource.
type unit int

const (
	requests unit = iota // requests in flight
	calls                // running calls
	octets               // bytes of bodies and answers
	units                // number of kinds
)

// An accountKey is a principal of a tenant.
type accountKey struct{ tenant, principal string }

// An amounts contains an amount for each unit.
type amounts [units]int64

// An account contains what a principal uses while it has a request in flight. Shares.mu guards it.
// tenant is shared by all principals of the tenant, so adding to one account adds to the sum.
type account struct {
	accountKey
	own    amounts
	tenant *amounts // of all principals of the tenant, shared by their accounts
	local  bool     // the local principal, which has no limit of its own
}

// A ledger divides one unit among tenants and principals.
type ledger struct {
	unit       unit
	total      int64
	guaranteed int64 // a tenant may always hold this much while units are free; a principal a quarter of it
	floor      int64 // a tenant may always hold this much, even if none are free
	used       int64
}

// fits reports whether a principal may take n more units. Beyond sure, a tenant may hold at most as
// much as is free afterwards, and a principal at most as much as its tenant could still take. So a
// single tenant gets at most half, each of three busy tenants a quarter, and some units stay free
// for the next one. A tenant or principal that holds nothing may always take free units. The local
// principal is not limited.
func (l *ledger) fits(a *account, n int64) bool {
	free := l.total - l.used - n
	tenant, own := a.tenant[l.unit]+n, a.own[l.unit]+n
	switch {
	case tenant <= l.floor:
		return true
	case free < 0:
		return false
	case a.local:
		return true
	case tenant > n && tenant > max(l.guaranteed, free):
		return false
	}
	const part = 4
	return own == n || own <= max(l.guaranteed/part, free-tenant)
}

// add gives n units to a principal. A negative n returns them.
func (l *ledger) add(a *account, n int64) {
	l.used += n
	a.tenant[l.unit] += n
	a.own[l.unit] += n
}
