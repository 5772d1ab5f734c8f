package auditlog

import (
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// A Batch collects what commits add to the audit log.
type Batch struct {
	seen    uint64 // the parts hold the commits up to here
	parts   []part
	erasing []*repo.Commit // that erase histories, whose lines Redact has to take out
}

// A part is what commits of one month add to the audit log, one after the other.
type part struct {
	month string // "" while there are no lines
	seen  uint64 // the last of the commits
	lines []byte
}

// NewBatch returns an empty batch for the commits behind one.
func NewBatch(after uint64) Batch { return Batch{seen: after} }

// Add takes the lines of a commit, unless the batch has it, or has begun behind it.
func (b *Batch) Add(c *repo.Commit) {
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

// Take empties the batch, and returns what was in it.
func (b *Batch) Take() Batch {
	taken := *b
	b.parts, b.erasing = nil, nil
	return taken
}

// Return puts the lines of a batch that could not be saved in front of the others.
func (b *Batch) Return(taken Batch) { b.parts = append(taken.parts, b.parts...) }
