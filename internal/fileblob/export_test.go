package fileblob

// ForgoSwap makes a bucket work as on a system that cannot exchange two files, nor reach a folder in
// one step.
func (b *Bucket) ForgoSwap() { b.store.Load().swaps, b.leaps = false, false }

// LetTimePass makes the time over for which displaced files are kept.
func (b *Bucket) LetTimePass() { b.grace = 0 }
