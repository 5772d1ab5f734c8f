package repo

import "context"

// How many times as many bytes the state of an image takes in memory, measured with bench/corpus: what is
// made of it, and the image itself, which texts are parts of.
const stateFactor = 3

// Size is about how many bytes of memory the newest state that this process knows takes, with what is
// searched. It takes no time.
func (v *Vault) Size() int64 {
	size := v.Known().Size()
	v.searcher.mu.Lock()
	defer v.searcher.mu.Unlock()
	if x := v.searcher.now.Search; x != nil {
		size += x.Size()
	}
	return size
}

// Foreseen is about how many bytes of memory the vault takes when it is read, as far as its image says.
// What came after the image is not counted. A vault without a log takes none.
func (v *Vault) Foreseen(ctx context.Context) (int64, error) {
	c, err := v.log.Control(ctx)
	if err != nil {
		return 0, v.orNone(err)
	}
	if c.Image == nil {
		return 0, nil
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
