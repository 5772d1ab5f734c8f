package repo

// Waiting is how many calls wait in the queue of a log.
func (l *Log[S]) Waiting() int {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.waiting)
}

// Waiting is how many calls wait in the queue of a vault.
func (v *Vault) Waiting() int { return v.log.Waiting() }

// Repack changes the parts of a stored run, whose payload is in the item, and leaves its header.
func Repack(item []byte, change func(parts [][]byte) [][]byte) ([]byte, error) {
	c, err := newCodec()
	if err != nil {
		return nil, err
	}
	_, inline, err := readItem(item)
	if err != nil {
		return nil, err
	}
	parts, err := c.unpack(inline)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for _, p := range parts {
		texts = append(texts, p.data)
	}
	var changed []part
	for _, data := range change(texts) {
		p := newPart(0)
		p.data = data
		changed = append(changed, p)
	}
	packed, _ := c.pack(changed)
	return append(item[:len(item)-len(inline):len(item)-len(inline)], packed...), nil
}
