// Package team keeps a tenant: its vaults, and who may do what in them: members, tokens and issuers. A
// tenant is a log like a vault (DESIGN §1.1); its entries are records.
package team

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"time"

	"rookery/internal/repo"
)

// State is a tenant at one version. It is immutable.
type State struct {
	vaults  map[string]Entry  // by name
	tokens  map[string]Token  // by id
	members map[string]Member // by who they are
	issuers map[string]Issuer // by name

	ended map[string]time.Time // when tokens were revoked, or those that made them, by id; see endings
}

// The kinds of the records.
const (
	kindVault  = "vault"  // its id is the name
	kindToken  = "token"  // the token's
	kindMember = "member" // the issuer and the subject
	kindIssuer = "issuer" // the name
)

// An Entry is what a tenant knows of one of its vaults.
type Entry struct {
	Name        string      `json:"name"`
	Incarnation int         `json:"incarnation"` // counts the vaults that had this name
	Status      repo.Status `json:"status"`
	Created     time.Time   `json:"created"`
	Trashed     time.Time   `json:"trashed,omitzero"`
	Cleared     time.Time   `json:"cleared,omitzero"`   // its time in the trash was over, and its files were removed
	Erasure     *Erasure    `json:"erasure,omitempty"`  // of a vault that is being erased, or was
	ReadOnly    bool        `json:"readonly,omitempty"` // its own log says so too
	Secrets     Secrets     `json:"secrets,omitempty"`  // empty: Flag

	Changed uint64 `json:"-"` // the tenant's commit that changed the entry last

	// Left are files in the folder of a vault that was just made: an earlier vault of the name had
	// them, and somebody changed them since. They stay as they are, and are no notes.
	Left []string `json:"-"`
}

// Secrets is what a vault does with a text that seems to hold a secret.
type Secrets string

// The words.
const (
	Flag   Secrets = "flag"   // it is written, and the answer warns
	Refuse Secrets = "refuse" // it is not written
	Off    Secrets = "off"    // nobody looks
)

// status is what the vault's own log is.
func (e Entry) status() repo.Status {
	if e.Status == repo.Active && e.ReadOnly {
		return repo.ReadOnly
	}
	return e.Status
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
	f := folding{after: *before}
	f.add(c)
	return f.done()
}

// build is the state after many commits.
func build(from *State, commits iter.Seq2[*repo.Commit, repo.Place]) *State {
	f := folding{after: *from}
	for c := range commits {
		f.add(c)
	}
	return f.done()
}

// A folding is a state in the making. The maps that it owns are its own to change.
type folding struct {
	after State
	owned map[string]bool // by kind of record
	ends  bool            // a token ended, so that others may have
}

func (f *folding) add(c *repo.Commit) {
	for _, r := range c.Records {
		switch r.Kind {
		case kindVault:
			f.after.vaults = folded(f, f.after.vaults, r, func(e *Entry) { e.Changed = c.Seq })
		case kindToken:
			f.after.tokens = folded(f, f.after.tokens, r, func(t *Token) { t.Changed = c.Seq })
			f.ends = f.ends || f.after.ends(r.ID)
		case kindMember:
			f.after.members = folded(f, f.after.members, r, func(m *Member) { m.Changed = c.Seq })
		case kindIssuer:
			f.after.issuers = folded(f, f.after.issuers, r, func(i *Issuer) { i.Changed = c.Seq })
		}
	}
}

// done is the state, with what follows from its entries.
func (f *folding) done() *State {
	if f.ends {
		f.after.ended = endings(f.after.tokens)
	}
	return &f.after
}

// folded is what a record makes of the entries of its kind. One of a later release is passed over.
func folded[T any](f *folding, all map[string]T, r repo.Record, mark func(*T)) map[string]T {
	var entry T
	if r.Value != nil && json.Unmarshal(r.Value, &entry) != nil {
		return all
	}
	if !f.owned[r.Kind] {
		all = maps.Clone(all)
		f.own(r.Kind)
	}
	if r.Value == nil {
		delete(all, r.ID)
		return all
	}
	if all == nil {
		all = map[string]T{}
	}
	mark(&entry)
	all[r.ID] = entry
	return all
}

func (f *folding) own(kind string) {
	if f.owned == nil {
		f.owned = map[string]bool{}
	}
	f.owned[kind] = true
}
