package s3blob

// SetChunk sets the number of bytes that one request reads of a larger object.
func (b *Bucket) SetChunk(n int64) { b.chunk = n }
