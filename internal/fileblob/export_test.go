package fileblob

// OpenWithoutSwap opens a folder as on a system that cannot exchange two files, nor reach a folder in
// one step.
func OpenWithoutSwap(dir string) (*Bucket, error) {
	b, err := Open(dir)
	if err == nil {
		b.store.Load().swaps, b.leaps = false, false
	}
	return b, err
}

// LetTimePass makes the time over for which displaced files are kept.
func (b *Bucket) LetTimePass() { b.grace = 0 }
