package repo

import (
	"context"
	"time"
)

// How many times as many bytes the state of an image takes in memory, measured with bench/corpus: what is
// made of it, and the image itself, which texts are parts of.
const stateFactor = 3

// Size is about how many bytes of memory the newest state that this process knows takes, with what is
// searched, and what is kept of the image. It takes no time.
func (v *Vault) Size() int64 {
	size := v.Known().Size()
	if from := v.log.base.Load(); from != nil {
		size += from.rest.size()
	}
	v.searcher.mu.Lock()
	defer v.searcher.mu.Unlock()
	if x := v.searcher.now.Search; x != nil {
		size += x.Size()
	}
	return size
}

// minNoted is the least size that is noted in the control item. Smaller vaults always fit.
const minNoted = 1 << 20

// sizeDue reports whether the control item says too little of the memory that the vault takes, or too
// much: half as much again, or twice as much.
func (v *Vault) sizeDue() bool {
	h := v.log.head.Load()
	if h.seq == 0 {
		return false // nothing was read yet
	}
	now, noted := v.Size(), h.control.Memory
	return max(now, noted) >= minNoted && (now > noted+noted/2 || now < noted/2)
}

// noteSize notes in the control item how much memory the vault takes, so that a process that opens it
// knows before it does.
func (v *Vault) noteSize(ctx context.Context) error {
	if !v.sizeDue() {
		return nil
	}
	return v.Change(ctx, func(c *Control) bool {
		c.Memory = v.Size()
		return true
	})
}

// A foreseen is a control item that was read before the log was, and when.
type foreseen struct {
	control Control
	at      time.Time
}

// foreseenLife is how long a start may use what was foreseen: far less than images live.
const foreseenLife = time.Minute

// firstControl is the control item that a start begins with: the one that was read a moment ago, once, or the
// newest.
func (l *Log[S]) firstControl(ctx context.Context) (Control, error) {
	if f := l.foreseen.Swap(nil); f != nil {
		if age := l.opt.Now().Sub(f.at); 0 <= age && age < foreseenLife {
			return f.control, nil
		}
	}
	return l.Control(ctx)
}

// Foreseen is about how many bytes of memory the vault takes when it is read, as its control item says, or
// its image. A vault without a log takes none. A Read that follows does not ask for the control item again.
func (v *Vault) Foreseen(ctx context.Context) (int64, error) {
	c, err := v.log.Control(ctx)
	if err != nil {
		return 0, v.orNone(err)
	}
	v.log.foreseen.Store(&foreseen{c, v.log.opt.Now()})
	if c.Memory > 0 || c.Image == nil {
		return c.Memory, nil
	}
	return stateFactor*c.Image.Head + c.Image.Size - c.Image.Head, nil
}

// Writing reports whether a call writes to the vault now, also one that nobody waits for any more.
func (v *Vault) Writing() bool {
	q := &v.log.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.working
}
