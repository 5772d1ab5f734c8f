package fileblob

// OpenWithoutSwap opens a folder as on a file system that cannot exchange two files.
func OpenWithoutSwap(dir string) (*Bucket, error) {
	b, err := Open(dir)
	if err == nil {
		b.swaps = false
	}
	return b, err
}

// LetTimePass makes the time over for which displaced files are kept.
func (b *Bucket) LetTimePass() { b.grace = 0 }
