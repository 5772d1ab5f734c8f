package raven

import (
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A heldBatch is a batch of outside edits that the removal guard stopped, and that needs
// confirmation (reference/log.md §5).
//
// Such a batch waits until raven_reindex accepts or discards it. Other outside edits are still
// synced (docs/design/0015).
type heldBatch struct {
	Since   time.Time `json:"since"`
	Count   int       `json:"count"`
	Removed int       `json:"removed"`
	// former contents of files
	Reverted int `json:"reverted"`
	Changed  int `json:"changed"`
	Moved    int `json:"moved"`
	Created  int `json:"created"`
	// the first of them
	Paths []string `json:"paths"`
	// the first 20 of the notes that would be removed or reverted
	Going []string `json:"would_go"`
}

// heldOf returns the description of a stopped batch, or nil if there is none.
func heldOf(h *repo.Held) *heldBatch {
	if h.Count() == 0 {
		return nil
	}
	return &heldBatch{
		Since: h.Since, Count: h.Count(), Removed: h.Removed, Reverted: h.Reverted,
		Changed: h.Changed, Moved: h.Moved, Created: h.Created, Paths: firstOf(h.Paths, maxShown),
		Going: append([]string{}, firstOf(h.Going, maxShown)...),
	}
}

// warn adds an INDEX_PENDING warning with the calls that confirm or discard the batch. It does
// nothing if h is nil.
//
// The fixes are the complete calls, so that an agent can offer both to its user.
func (h *heldBatch) warn(a *tool.Aside) {
	if h == nil {
		return
	}
	a.Warn("INDEX_PENDING", fmt.Sprintf("%d outside edits need confirmation, because they would "+
		"remove or revert many notes; confirm or discard them with raven_reindex", h.Count),
		map[string]any{"count": h.Count, "would_go": h.Going, "would_go_count": h.Removed + h.Reverted,
			"fixes": pendingFixes})
}

// pendingFixes are the calls that end a stopped batch: one accepts it, the other restores the
// files.
var pendingFixes = []string{
	fault.NewCall("raven_reindex", fault.Args{"pending": "accept"}).String(),
	fault.NewCall("raven_reindex", fault.Args{"pending": "discard"}).String(),
}

// maxShown is the maximum number of files of one kind that an answer names.
const maxShown = 20
