package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// A packedRun is the packed payload of a run.
type packedRun struct {
	first  uint64
	packed []byte
	frames []frame // nil if there is a single one
}

// frameWith returns the index of the frame that contains a part; len(frames) if none does.
func (r packedRun) frameWith(part int) int {
	return sort.Search(len(r.frames), func(i int) bool { return part < r.frames[i].first+r.frames[i].parts })
}

// A pick reads single texts. It unpacks only the frames that it needs, each once, and caches them.
// It is not safe for concurrent use.
type pick struct {
	v   *Vault
	run packedRun // the run that was read last
}

// text returns the text or value at a place. The caller must not change it.
func (p *pick) text(ctx context.Context, at PartRef) ([]byte, error) {
	k := textKey{p.v.part, at}
	if text, ok := p.v.texts.get(k); ok {
		return text, nil
	}
	text, err := p.unpack(ctx, k)
	if !fault.Is(err, fault.IndexError) {
		return text, err
	}
	// A damaged payload object may have an intact copy in a segment.
	data, err := p.v.log.part(ctx, at)
	if err != nil {
		return nil, err
	}
	return textOf(data, at)
}

// part returns the data of the part at a place: its kind byte and its contents. The caller must not
// change it.
func (p *pick) part(ctx context.Context, at PartRef) ([]byte, error) {
	k := textKey{p.v.part, at}
	if err := p.read(ctx, k, p.v.texts.state(k.part)); err != nil {
		if fault.Is(err, fault.IndexError) {
			return p.v.log.part(ctx, at)
		}
		return nil, err
	}
	parts, first, _, err := p.run.unpackWith(p.v.log.code, k)
	if err != nil || at.Part < first || at.Part >= first+len(parts) {
		return p.v.log.part(ctx, at) // which returns the error
	}
	return parts[at.Part-first].data, nil
}

// read reads the packed run of a part into p.run, and caches it if it has several frames.
func (p *pick) read(ctx context.Context, k textKey, state int) error {
	if p.run.packed != nil && p.run.first == k.at.Run {
		return nil
	}
	run, cached := p.v.texts.run(k)
	if !cached {
		var err error
		if run, err = p.v.log.packedAt(ctx, k.at.Run); err != nil {
			return err
		}
		if run.frames != nil {
			p.v.texts.addRun(k, state, run)
		}
	}
	p.run = run
	return nil
}

// unpack unpacks the frame that contains a text, caches it, and returns the text.
func (p *pick) unpack(ctx context.Context, k textKey) ([]byte, error) {
	texts, at := p.v.texts, k.at
	state := texts.state(k.part)
	if err := p.read(ctx, k, state); err != nil {
		return nil, err
	}
	parts, first, key, err := p.run.unpackWith(p.v.log.code, k)
	if err != nil {
		return nil, damaged(at.Run, err)
	}
	if at.Part < first || at.Part >= first+len(parts) {
		return nil, fmt.Errorf("run %d has no part %d", at.Run, at.Part)
	}
	b := blockOf(parts, PartRef{at.Run, first})
	text := b.at(at.Part)
	if text == nil {
		return textOf(parts[at.Part-first].data, at) // which returns the error
	}
	// A block that does not fit in the cache is dropped; only the text is cached, in memory of its
	// own.
	if !texts.addBlock(key, state, b) {
		text = bytes.Clone(text)
		texts.add(k, state, text)
	}
	return text, nil
}

// unpackWith unpacks the frame that contains a text. first is the number of its first part, and key
// is the cache key of its texts. parts is empty if no frame contains the part.
func (r packedRun) unpackWith(code *codec, k textKey) (parts []part, first int, key textKey, err error) {
	if r.frames == nil {
		parts, err = code.unpack(r.packed)
		return parts, 0, k.runKey(), err
	}
	i := r.frameWith(k.at.Part)
	if i == len(r.frames) {
		return nil, 0, k, nil
	}
	parts, err = code.unpackFrame(r.packed, r.frames[i])
	return parts, r.frames[i].first, k.frameKey(i), err
}

// blockOf returns the texts of consecutive parts, the first of which is at a place. It copies the
// texts, because a part may be much larger than its text.
func blockOf(parts []part, at PartRef) block {
	b := block{at.Part, make([][]byte, len(parts))}
	size := 0
	for i := range parts {
		if text, err := textOf(parts[i].data, at); err == nil {
			b.texts[i] = text
			size += len(text)
		}
	}
	all := make([]byte, 0, size)
	for i, text := range b.texts {
		if text != nil {
			begin := len(all)
			all = append(all, text...)
			b.texts[i] = all[begin:len(all):len(all)]
		}
	}
	return b
}

// packedAt returns the packed payload of the run that begins with commit first. It looks in the
// table and in the segments as runAt does.
func (l *Log[S]) packedAt(ctx context.Context, first uint64) (_ packedRun, err error) {
	defer func() { err = l.orErased(ctx, err) }()
	if first <= l.head.Load().control.Low {
		return l.segments.packed(ctx, first)
	}
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: runKey(first)})
	if errors.Is(err, table.ErrNotFound) && l.opt.Imaging != nil {
		r, err := l.segments.packed(ctx, first)
		if errors.Is(err, errNoSegment) {
			err = damaged(first, err)
		}
		return r, err
	}
	if err != nil {
		return packedRun{}, unreadable(ctx, err)
	}
	r, packed, err := readPlaced(it)
	if err == nil && r.Object != "" {
		packed, err = l.payload(ctx, r)
	}
	if err != nil {
		return packedRun{}, err
	}
	p, err := newPackedRun(first, packed)
	if err != nil {
		err = damaged(first, err)
	}
	return p, err
}

// newPackedRun returns a packedRun, with the frames of the payload.
func newPackedRun(first uint64, packed []byte) (packedRun, error) {
	frames, err := framesOf(packed)
	return packedRun{first, packed, frames}, err
}
