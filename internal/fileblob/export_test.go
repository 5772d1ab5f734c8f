package fileblob

// ForgoSwap makes a bucket work as on a system that cannot exchange two files or open a folder by
// its path in one call.
func (b *Bucket) ForgoSwap() { b.store.Load().swaps, b.leaps = false, false }

// LetTimePass ends the time for which displaced files are kept.
func (b *Bucket) LetTimePass() { b.grace = 0 }
