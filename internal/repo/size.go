package repo

import (
	"context"
	"github.com/rookeryhq/rookery/internal/eventlog"
)

// stateFactor is the memory that a state takes, as a multiple of the size of its image section,
// measured with bench/corpus. It includes the image itself, which texts of the state share memory
// with.
const stateFactor = 3

// Size returns about how many bytes of memory the newest known state takes, with its search index
// of notes and the retained sections of the image. It does no I/O.
func (v *Vault) Size() int64 {
	size := v.Known().Size() + v.log.ImageMemory()
	v.searcher.mu.Lock()
	defer v.searcher.mu.Unlock()
	if x := v.searcher.now.Search; x != nil {
		size += x.Size()
	}
	return size
}

// minNoted is the smallest size that is recorded in the control item. Smaller vaults always fit in
// memory.
const minNoted = 1 << 20

// sizeDue reports whether the size recorded in the control item is wrong: whether the current size
// exceeds it by more than half, or is less than half of it.
func (v *Vault) sizeDue() bool {
	known := v.log.Known()
	if known.Seq == 0 {
		return false // nothing was read yet
	}
	now, noted := v.Size(), known.Control.Memory
	return max(now, noted) >= minNoted && (now > noted+noted/2 || now < noted/2)
}

// noteSize records the size of the vault in the control item, if that is due, so that a process
// knows the size before it opens the vault (see Foreseen). Small changes of the size are not
// recorded, because each record is a write of the control item. Its errors are those of Change.
func (v *Vault) noteSize(ctx context.Context) error {
	if !v.sizeDue() {
		return nil
	}
	return v.log.Change(ctx, func(c *eventlog.Control) bool {
		c.Memory = v.Size()
		return true
	})
}

// Foreseen returns about how many bytes of memory the vault will take when it is read, according to
// its control item or its image; 0 if neither says. The control item is kept, so that a Read that
// follows within a minute does not read it again. It returns NOT_FOUND if the log does not exist.
func (v *Vault) Foreseen(ctx context.Context) (int64, error) {
	c, err := v.log.Foresee(ctx)
	if err != nil {
		return 0, v.orNone(err)
	}
	// Without a recorded size, it is estimated from the sizes of the image's sections.
	if c.Memory > 0 || c.Image == nil {
		return c.Memory, nil
	}
	return stateFactor*c.Image.Head + c.Image.Size - c.Image.Head, nil
}

// Writing reports whether this process is executing a write to the vault, including one whose
// caller has given up.
func (v *Vault) Writing() bool {
	_, working := v.log.Queue()
	return working
}
