package team

import "rookery/internal/repo"

// Open returns how many vaults are open, and the bytes that they count.
func (m *Memory) Open() (vaults int, held int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.open), m.held
}

// Uses returns how many uses of open vaults have not ended.
func (m *Memory) Uses() (uses int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for o := range m.open {
		uses += o.use.count
	}
	return uses
}

// SetMost changes how many bytes open vaults may hold.
func (m *Memory) SetMost(most int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most = most
}

// Log is the tenant's own log.
func (t *Team) Log() *repo.Log[*State] { return t.log }
