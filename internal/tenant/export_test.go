package tenant

import "github.com/rookeryhq/rookery/internal/eventlog"

// Open returns the number of open vaults and the number of bytes that they count.
func (m *Memory) Open() (vaults int, held int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.open), m.total
}

// Uses returns the number of uses of open vaults that have not ended.
func (m *Memory) Uses() (uses int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for o := range m.open {
		uses += o.use.count
	}
	return uses
}

// SetMost changes the number of bytes that open vaults may use.
func (m *Memory) SetMost(most int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most = most
}

// Log returns the tenant's own log.
func (t *Tenant) Log() *eventlog.Log[*State] { return t.log }
