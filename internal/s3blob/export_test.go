package s3blob

// SetChunk sets how many bytes one request reads of a larger object.
func (b *Bucket) SetChunk(n int64) { b.chunk = n }
