package auditlog

import (
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Batch collects the audit lines of commits until they are saved.
type Batch struct {
	seen    uint64 // last commit that was added
	parts   []part
	erasing []*eventlog.Commit // commits that erase histories, whose lines Redact must remove
}

// A part is the audit lines of consecutive commits of one month.
type part struct {
	month string // "": there are no lines yet
	seen  uint64 // last of the commits
	lines []byte
}

// NewBatch returns an empty batch for the commits after a commit.
func NewBatch(after uint64) Batch { return Batch{seen: after} }

// Add adds the lines of a commit. It ignores a commit that is not newer than those in the batch.
func (b *Batch) Add(c *eventlog.Commit) {
	if c.Seq <= b.seen {
		return
	}
	b.seen = c.Seq
	if c.Erases() > 0 {
		b.erasing = append(b.erasing, c)
	}
	lines, month := repo.AuditLines(c), vault.Month(c.Time)
	if len(lines) == 0 {
		month = ""
	}
	last := len(b.parts) - 1
	if last < 0 || month != "" && b.parts[last].month != "" && b.parts[last].month != month {
		b.parts = append(b.parts, part{month, c.Seq, lines})
		return
	}
	p := &b.parts[last]
	p.seen, p.lines = c.Seq, append(p.lines, lines...)
	p.month = max(p.month, month)
}

// Take empties the batch and returns its contents.
func (b *Batch) Take() Batch {
	taken := *b
	b.parts, b.erasing = nil, nil
	return taken
}

// PutBack puts the lines of a batch that could not be saved back before the others. The erasing
// commits are not put back, because NoteErasures has recorded them.
func (b *Batch) PutBack(taken Batch) { b.parts = append(taken.parts, b.parts...) }
