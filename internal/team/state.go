// Package team keeps a tenant: its vaults, and later its members, tokens and issuers. A tenant is a
// log like a vault (DESIGN §1.1); its entries are records.
package team

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"rookery/internal/repo"
)

// State is a tenant at one version. It is immutable.
type State struct {
	vaults map[string]Entry
}

// kindVault is the kind of a vault's record; its id is the name.
const kindVault = "vault"

// An Entry is what a tenant knows of one of its vaults.
type Entry struct {
	Name        string      `json:"name"`
	Incarnation int         `json:"incarnation"` // counts the vaults that had this name
	Status      repo.Status `json:"status"`
	Created     time.Time   `json:"created"`
	Trashed     time.Time   `json:"trashed,omitzero"`
	Erasure     *Erasure    `json:"erasure,omitempty"` // of a vault that is being erased, or was

	Changed uint64 `json:"-"` // the tenant's commit that changed the entry last

	// Left are files in the folder of a vault that was just made: an earlier vault of the name had
	// them, and somebody changed them since. They stay as they are, and are no notes.
	Left []string `json:"-"`
}

// TrashLife is how long a vault stays in the trash, and its name taken (CONTRACT §4, team).
const TrashLife = 30 * 24 * time.Hour

// Gone reports whether the name is free again: the vault is erased, or was in the trash for so long.
func (e Entry) Gone(now time.Time) bool {
	return e.free() || e.Status == repo.Trashed && now.Sub(e.Trashed) >= TrashLife
}

// Vault is the entry of a name.
func (s *State) Vault(name string) (Entry, bool) {
	e, ok := s.vaults[name]
	return e, ok
}

// Vaults are the entries by name, also of vaults in the trash, but not of those that are erased.
func (s *State) Vaults() []Entry {
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(s.vaults)) {
		if e := s.vaults[name]; e.Erasure == nil {
			all = append(all, e)
		}
	}
	return all
}

// fold is the state after a commit.
func fold(before *State, c *repo.Commit, _ repo.Place) *State {
	after := &State{vaults: maps.Clone(before.vaults)}
	for _, r := range c.Records {
		if r.Kind != kindVault {
			continue
		}
		var e Entry
		if json.Unmarshal(r.Value, &e) != nil {
			continue // a record of a later release
		}
		e.Changed = c.Seq
		after.vaults[r.ID] = e
	}
	return after
}
