package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// A pick reads single texts. It unpacks only the frames that it needs, each once, and caches them.
// It is not safe for concurrent use.
//
// A text is looked for in the cache, in a cached packed run, in the table and in a segment, in this
// order. The state of the cache is read before the log is: a text that an erasure empties in
// between is returned to the caller that was reading it, but never cached.
type pick struct {
	v   *Vault
	run eventlog.PackedRun // the run that was read last

	scanned eventlog.PackedRun // the run of the last call of frame, with a buffer of its own
}

// text returns the text or value at a place. The caller must not change it.
func (p *pick) text(ctx context.Context, at eventlog.PartRef) ([]byte, error) {
	k := textKey{p.v.part, at}
	if text, ok := p.v.texts.get(k); ok {
		return text, nil
	}
	text, err := p.unpack(ctx, k)
	if !fault.Is(err, fault.IndexError) {
		return text, err
	}
	// A damaged payload object may have an intact copy in a segment.
	intact, err := p.v.log.Part(ctx, at)
	if err != nil {
		return nil, err
	}
	return eventlog.TextOf(intact, at)
}

// part returns the part at a place. The caller must not change its data.
func (p *pick) part(ctx context.Context, at eventlog.PartRef) (eventlog.Part, error) {
	k := textKey{p.v.part, at}
	if err := p.read(ctx, k, p.v.texts.state(k.part)); err != nil {
		if fault.Is(err, fault.IndexError) {
			return p.v.log.Part(ctx, at)
		}
		return eventlog.Part{}, err
	}
	parts, first, _, err := p.unpackWith(ctx, k)
	if err != nil || at.Part < first || at.Part >= first+len(parts) {
		return p.v.log.Part(ctx, at) // which returns the error
	}
	return parts[at.Part-first], nil
}

// read reads the packed run of a part into p.run, and caches it if it has several frames.
func (p *pick) read(ctx context.Context, k textKey, state int) error {
	if p.run.IsRun() && p.run.First() == k.at.Run {
		return nil
	}
	run, cached := p.v.texts.run(k)
	if !cached {
		var err error
		if run, err = p.v.log.PackedAt(ctx, k.at.Run); err != nil {
			return err
		}
		if run.Frames() > 0 {
			p.v.texts.addRun(k, state, run)
		}
	}
	p.run = run
	return nil
}

// runWith returns the run that contains a commit, and reads its payload into p.run. A payload of one
// frame is unpacked into the run; one of several frames is cached instead.
func (p *pick) runWith(ctx context.Context, seq uint64) (*eventlog.Run, error) {
	state := p.v.texts.state(p.v.part)
	run, packed, err := p.v.log.PackedWith(ctx, seq)
	if err == nil && packed.IsRun() && packed.Frames() == 0 {
		if run.Parts, _, err = packed.Unpack(ctx, 0); err != nil {
			err = eventlog.Damaged(run.First, err)
		}
	}
	switch {
	case fault.Is(err, fault.IndexError):
		return p.v.log.RunWith(ctx, seq) // which may find an intact copy in a segment
	case err != nil:
		return nil, err
	case packed.Frames() > 0:
		p.v.texts.addRun(textKey{p.v.part, eventlog.PartRef{Run: run.First}}, state, packed)
	}
	p.run = packed
	return run, nil
}

// frame returns the parts of the frame that contains the part at a place, and the number of the
// first one. They are valid only until the next call. It returns INDEX_ERROR if there is no such
// part.
func (p *pick) frame(ctx context.Context, at eventlog.PartRef) (parts []eventlog.Part, first int, err error) {
	k := textKey{p.v.part, at}
	if err := p.read(ctx, k, p.v.texts.state(k.part)); err != nil {
		return nil, 0, err
	}
	err = p.again(ctx, k, func() (err error) {
		i := p.run.FrameOf(at.Part)
		if i > 0 && i == p.run.Frames() {
			return eventlog.ErrFewParts
		}
		if p.scanned.First() != at.Run {
			p.scanned = p.run.Reusing()
		}
		parts, first, err = p.scanned.Unpack(ctx, i)
		return err
	})
	if err == nil && at.Part >= first+len(parts) {
		err = eventlog.ErrFewParts
	}
	if err != nil {
		return nil, 0, eventlog.Damaged(at.Run, err)
	}
	return parts, first, nil
}

// unpack unpacks the frame that contains a text, caches it, and returns the text.
func (p *pick) unpack(ctx context.Context, k textKey) ([]byte, error) {
	texts, at := p.v.texts, k.at
	state := texts.state(k.part)
	if err := p.read(ctx, k, state); err != nil {
		return nil, err
	}
	parts, first, key, err := p.unpackWith(ctx, k)
	if err != nil {
		return nil, eventlog.Damaged(at.Run, err)
	}
	if at.Part < first || at.Part >= first+len(parts) {
		return nil, fmt.Errorf("run %d has no part %d", at.Run, at.Part)
	}
	b := blockOf(parts, eventlog.PartRef{Run: at.Run, Part: first})
	text := b.at(at.Part)
	if text == nil {
		return eventlog.TextOf(parts[at.Part-first], at) // which returns the error
	}
	// A block that does not fit in the cache is dropped; only the text is cached, in memory of its
	// own.
	if !texts.addBlock(key, state, b) {
		text = bytes.Clone(text)
		texts.add(k, state, text)
	}
	return text, nil
}

// unpackWith unpacks the frame of p.run that contains a text. first is the number of its first part,
// and key is the cache key of its texts. parts is empty if no frame contains the part.
func (p *pick) unpackWith(
	ctx context.Context, k textKey,
) (parts []eventlog.Part, first int, key textKey, err error) {
	err = p.again(ctx, k, func() (err error) {
		i := p.run.FrameOf(k.at.Part)
		if p.run.Frames() == 0 {
			key = k.runKey()
		} else if key = k.frameKey(i); i == p.run.Frames() {
			return nil
		}
		parts, first, err = p.run.Unpack(ctx, i)
		return err
	})
	return parts, first, key, err
}

// again calls unpack, which unpacks a frame of p.run, and once more if the run has moved since it
// was found.
func (p *pick) again(ctx context.Context, k textKey, unpack func() error) error {
	err := unpack()
	if !errors.Is(err, eventlog.ErrMoved) {
		return err
	}
	p.v.texts.drop(k.runKey())
	p.run, p.scanned = eventlog.PackedRun{}, eventlog.PackedRun{}
	if err := p.read(ctx, k, p.v.texts.state(k.part)); err != nil {
		return err
	}
	return unpack()
}

// blockOf returns the texts of consecutive parts, the first of which is at a place. It copies the
// texts, because a part may be much larger than its text. A part without a text, such as records or
// a deleted note, has nil.
func blockOf(parts []eventlog.Part, at eventlog.PartRef) block {
	texts := make([][]byte, len(parts))
	for i := range parts {
		if text, err := eventlog.TextOf(parts[i], at); err == nil {
			texts[i] = text
		}
	}
	return block{first: at.Part, texts: inOnePiece(texts)}
}
