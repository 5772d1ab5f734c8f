package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/table"
)

// Erasing the history of a note or item, without its log (log.md §2.8):
//
// 1. BeginErasing sets Control.Erasing, so that a pass looks for the commit even if the process
// ends right after writing it. 2. A commit lists the parts to be emptied in a record (Draft.Erase).
// Readers drop them from their state when they apply it. 3. Erases sets Control.Erasing again, in
// case a pass has cleared it in between. 4. When all consumers have passed the commit, a pass
// (eraseDue) takes images with the parts out of use and deletes them, empties the parts in the
// table, payload objects and segments, calls Pass.Erased, and sets Control.Anew for files that
// contain the texts. 5. A pass after SweepAgain does the same once more, and clears
// Control.Erasing.
//
// The headers are not changed, so the chain of hashes still verifies. Verify accepts an empty part
// only if a later commit lists it.

// An Erasing records in the control item that histories are being erased.
type Erasing struct {
	From uint64    `json:"from"`           // the commits that erase come after this one
	Upto uint64    `json:"upto,omitempty"` // the last of them whose parts were emptied; 0: none yet
	At   time.Time `json:"at,omitzero"`    // when they were emptied; they are emptied once more SweepAgain later
}

// ErasurePending reports whether the parts that commit seq erases still have to be emptied. If seq
// is 0, it reports whether a pass is due that empties parts.
func (c *Control) ErasurePending(seq uint64) bool {
	e := c.Erasing
	if seq == 0 {
		return e != nil && e.Upto == 0
	}
	return c.Erased < seq || e != nil && e.From < seq && e.Upto < seq
}

// kindErased is the kind of the record that lists the erased parts of the log. It contains their
// places, not their contents.
const kindErased = "erased"

// An erasedParts is the value of such a record: for each part the first commit of its run, and the
// number of the part in the run.
type erasedParts struct {
	Parts [][2]uint64 `json:"parts"`
}

// ErasedParts returns the positions of the parts that this commit erases.
func (c *Commit) ErasedParts() []PartRef {
	var all []PartRef
	for _, r := range c.Records {
		var e erasedParts
		if r.Kind != kindErased || json.Unmarshal(r.Value, &e) != nil {
			continue
		}
		for _, p := range e.Parts {
			all = append(all, PartRef{p[0], int(p[1])})
		}
	}
	return all
}

// Erases returns how many parts of the log this commit erases.
func (c *Commit) Erases() int { return len(c.ErasedParts()) }

// Erase stages the record which lists the parts of the log that the commit erases. They are emptied
// by a pass of Compact after every consumer has passed the commit. It must be called once for a
// draft.
func (d *Draft[S]) Erase(parts []PartRef) error {
	var value erasedParts
	for _, p := range parts {
		value.Parts = append(value.Parts, [2]uint64{p.Run, uint64(p.Part)}) //nolint:gosec // a part has a place
	}
	return d.Record(kindErased, "history", value)
}

// Erases records in the control item that the parts which commit seq erases must be emptied. This
// is necessary although BeginErasing did it before the commit: a pass for another erasure may have
// run in between.
func (l *Log[S]) Erases(ctx context.Context, seq uint64) error {
	return l.Change(ctx, func(c *Control) bool {
		switch {
		case c.Erasing == nil:
			c.Erasing = &Erasing{From: seq - 1}
		case c.Erasing.Upto == 0 || c.Erasing.Upto >= seq:
			return false
		default:
			c.Erasing = &Erasing{From: min(c.Erasing.From, seq-1)}
		}
		return true
	})
}

// BeginErasing records in the control item, before the erasing commit is written, after which
// commit Compact must look for it.
func (l *Log[S]) BeginErasing(ctx context.Context, head uint64) error {
	return l.Change(ctx, func(c *Control) bool {
		if c.Erasing == nil {
			c.Erasing = &Erasing{From: head}
		}
		c.Erasing.Upto = 0
		return true
	})
}

// A partSet is a set of parts to be emptied: by the first commit of the run and the number of the
// part in the run.
type partSet map[uint64]map[int]bool

// add adds parts to the set.
func (s partSet) add(all []PartRef) {
	for _, p := range all {
		if s[p.Run] == nil {
			s[p.Run] = map[int]bool{}
		}
		s[p.Run][p.Part] = true
	}
}

// eraseDue empties the parts that erasing commits name, once every consumer has passed these
// commits. It does so again after SweepAgain: a process that was suspended may have written old
// data once more.
func (l *Log[S]) eraseDue(ctx context.Context, f Compaction, p Pass[S]) error {
	c, err := l.Control(ctx)
	if err != nil || c.Erasing == nil {
		return err
	}
	// The second run is due SweepAgain after the first one, by a clock that is known to be right.
	again := c.Erasing.Upto > 0
	if again && (l.opt.Now().Sub(c.Erasing.At) < SweepAgain || !f.clocked()) {
		return nil
	}
	parts, last, err := l.erasedAfter(ctx, c.Erasing.From)
	if err != nil {
		return err
	}
	// If there is no erasing commit yet, it may still be on its way for appendLife.
	mayCome := last == 0 && (l.opt.Now().Sub(l.head.Load().time) < appendLife || !f.clocked())
	if mayCome || c.behind(f) < last {
		return nil // the commit may still arrive, or a consumer has not passed it
	}
	imaged := last > 0 && c.Image != nil
	if imaged { // bring the sections up to date from those of the image before it is deleted
		if _, _, err := p.Newest(ctx); err != nil {
			return err
		}
	}
	// The order matters: the parts are emptied first, and recorded as emptied last. After a crash
	// the next pass repeats everything.
	if err := l.eraseParts(ctx, parts, last); err != nil {
		return err
	}
	if last > 0 {
		if err := p.Erased(ctx); err != nil {
			return err
		}
	}
	if imaged && f.Later {
		l.WantImage()
	} else if imaged {
		f.All = true
		err = l.foldImage(ctx, f, p)
	}
	return errors.Join(err, l.Change(ctx, func(c *Control) bool {
		switch {
		case c.Erasing == nil:
			return false
		case last == 0 || again && c.Erasing.Upto == last:
			c.Erasing = nil
		default:
			c.Erasing.Upto, c.Erasing.At, c.Anew = last, l.opt.Now().UTC(), true
		}
		return true
	}))
}

// erasedAfter returns the parts that the erasing commits after from name, and the last of these
// commits; 0: there is none.
func (l *Log[S]) erasedAfter(ctx context.Context, from uint64) (parts partSet, last uint64, err error) {
	parts = partSet{}
	for commit, err := range l.Commits(ctx, from+1) {
		if err != nil {
			return nil, 0, err
		}
		if all := commit.ErasedParts(); len(all) > 0 {
			parts.add(all)
			last = commit.Seq
		}
	}
	return parts, last, nil
}

// eraseParts deletes the images of commits before last, and empties parts in the table, in payload
// objects and in segments. It does nothing if last is 0.
func (l *Log[S]) eraseParts(ctx context.Context, parts partSet, last uint64) error {
	if last == 0 {
		return nil
	}
	// The images must be out of use before the parts are emptied, because they contain the erased
	// texts. Control.Erased also tells concurrent compaction passes that segments they have built
	// may contain erased parts.
	err := l.Change(ctx, func(c *Control) bool {
		c.Erased = max(c.Erased, last)
		if c.Image != nil && c.Image.Seq < last {
			c.Image = nil
		}
		if c.Waiting != nil && c.Waiting.Seq < last {
			c.Waiting = nil
		}
		var kept []Image
		for _, i := range c.Images {
			if i.Seq >= last {
				kept = append(kept, i)
			}
		}
		c.Images = kept
		return true
	})
	if err != nil {
		return err
	}
	if err := l.eraseImages(ctx, last); err != nil {
		return err
	}
	for run, of := range parts {
		if err := l.emptyInTable(ctx, run, of); err != nil {
			return err
		}
	}
	if err := l.emptyInSegments(ctx, parts); err != nil {
		return err
	}
	if _, err := blob.EraseKept(ctx, l.opt.Bucket, ""); err != nil { // rewritten objects have earlier versions
		return NotCompacted(err)
	}
	return nil
}

// eraseImages deletes the images of commits before `before`.
func (l *Log[S]) eraseImages(ctx context.Context, before uint64) error {
	var old []string
	for o, err := range l.opt.Bucket.List(ctx, imagePrefix) {
		if err != nil {
			return fmt.Errorf("list images: %w", err)
		}
		seq, err := strconv.ParseUint(o.Key[strings.LastIndexByte(o.Key, '/')+1:], 10, 64)
		if err == nil && seq < before {
			old = append(old, o.Key)
		}
	}
	for _, key := range old {
		if err := l.opt.Bucket.Delete(ctx, key); err != nil {
			return NotCompacted(err)
		}
	}
	return l.removeImageItems(ctx, func(seq uint64, _ int, _ time.Time) bool { return seq < before })
}

// emptyInTable empties parts of the run that begins with commit first, in the table and in its
// payload object. If the run has left the table, it deletes the payload objects instead: they are
// no longer used.
func (l *Log[S]) emptyInTable(ctx context.Context, first uint64, parts map[int]bool) error {
	for {
		key := table.Key{Part: l.opt.Part, Sort: runKey(first)}
		it, err := l.opt.Table.Get(ctx, key)
		if errors.Is(err, table.ErrNotFound) {
			return l.erasePayloads(ctx, first)
		}
		if err != nil {
			return Unreadable(ctx, err)
		}
		r, packed, err := l.packed(ctx, it)
		if err != nil {
			return err
		}
		packed, changed, err := l.code.redact(packed, parts)
		if err != nil || !changed {
			return err
		}
		if r.Object != "" {
			if _, err := l.opt.Bucket.Put(ctx, r.Object, packed, blob.Always); err != nil {
				return NotCompacted(err)
			}
			return nil
		}
		next := table.Item{Key: key, Data: withPayload(r.raw, packed)}
		var conflict *table.Conflict
		err = l.opt.Table.Commit(ctx, table.Replace(it, next))
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

// erasePayloads deletes the payload objects for runs that begin with commit first, including those
// of lost appends.
func (l *Log[S]) erasePayloads(ctx context.Context, first uint64) error {
	prefix := fmt.Sprintf("%s%012d-", payloadPrefix, first)
	if _, err := blob.Erase(ctx, l.opt.Bucket, prefix); err != nil {
		return NotCompacted(err)
	}
	return nil
}

// emptyInSegments empties parts of runs that are in segments.
func (l *Log[S]) emptyInSegments(ctx context.Context, parts partSet) error {
	l.segments.forget()
	holders := map[uint64]bool{}
	for run := range parts {
		d, err := l.segments.holding(ctx, run)
		if errors.Is(err, errNoSegment) {
			continue
		}
		if err != nil {
			return err
		}
		holders[d.First] = true
	}
	for first := range holders {
		if err := l.emptySegment(ctx, first, parts); err != nil {
			return err
		}
	}
	return nil
}

// emptySegment rewrites the segment that begins with commit first. The offsets of its runs change;
// readers with a cached directory notice that by the tag of the object.
func (l *Log[S]) emptySegment(ctx context.Context, first uint64, parts partSet) error {
	for {
		data, tag, err := l.opt.Bucket.Get(ctx, segmentKey(first), 0, -1)
		if err != nil {
			return segmentUnread(ctx, first, err)
		}
		next, changed, err := l.code.emptyRuns(data, parts)
		if err != nil {
			return brokenSegment(first, err)
		}
		if !changed {
			return nil
		}
		_, err = l.opt.Bucket.Put(ctx, segmentKey(first), next, blob.IfTag(tag))
		if errors.Is(err, blob.ErrCondition) {
			continue
		}
		l.segments.forget()
		if err != nil {
			return NotCompacted(err)
		}
		return nil
	}
}

// emptyRuns returns the segment data with the given parts emptied. changed is false if all are
// empty already; next is nil then.
func (c *codec) emptyRuns(data []byte, parts partSet) (next []byte, changed bool, err error) {
	d, err := readDirectory(data)
	if err != nil {
		return nil, false, err
	}
	w := &segmentWriter{body: make([]byte, 0, len(data))}
	rest := data[d.start:]
	for _, at := range d.Runs {
		if at.Len > int64(len(rest)) {
			return nil, false, errors.New("it is cut off")
		}
		r, packed, err := readItem(rest[:at.Len:at.Len])
		if err != nil {
			return nil, false, err
		}
		packed, one, err := c.redact(packed, parts[r.First])
		if err != nil {
			return nil, false, err
		}
		rest, changed = rest[at.Len:], changed || one
		w.add(r, packed)
	}
	if !changed {
		return nil, false, nil
	}
	next, err = w.bytes()
	return next, true, err
}

// redact returns the payload with the given parts emptied: they have neither data nor salt. changed
// is false if nothing had to be emptied; then next is packed. Only the frames that contain one of
// the parts are unpacked; the others are copied.
func (c *codec) redact(packed []byte, parts map[int]bool) (next []byte, changed bool, err error) {
	if len(parts) == 0 {
		return packed, false, nil
	}
	frames, err := framesOf(packed)
	if err != nil {
		return nil, false, err
	}
	if frames == nil {
		all, err := c.unpack(packed)
		if err != nil || !empty(all, 0, parts) {
			return packed, false, err
		}
		next, _ = c.pack(all)
		return next, true, nil
	}
	var w frameWriter
	for _, f := range frames {
		one, err := c.redactFrame(&w, packed, f, parts)
		if err != nil {
			return nil, false, err
		}
		changed = changed || one
	}
	if !changed {
		return packed, false, nil
	}
	return w.payload(), true, nil
}

// hasAny reports whether the frame contains one of the parts.
func (f frame) hasAny(parts map[int]bool) bool {
	for part := range parts {
		if part >= f.first && part < f.first+f.parts {
			return true
		}
	}
	return false
}

// redactFrame adds one of the frames of a payload to w, with the given parts emptied. It reports
// whether one of them had data.
func (c *codec) redactFrame(w *frameWriter, packed []byte, f frame, parts map[int]bool) (changed bool, err error) {
	if f.hasAny(parts) {
		all, err := c.unpackFrame(packed[f.off:f.end], f)
		if err != nil {
			return false, err
		}
		if empty(all, f.first, parts) {
			var raw []byte
			for _, p := range all {
				raw = p.appendTo(raw)
			}
			w.add(f.parts, c.enc.EncodeAll(raw, nil))
			return true, nil
		}
	}
	w.add(f.parts, packed[f.off:f.end])
	return false, nil
}

// empty empties the given parts among some parts of a run, the first of which has the number first.
// It reports whether one of them had data.
func empty(some []Part, first int, parts map[int]bool) (changed bool) {
	for i := range some {
		if parts[first+i] && len(some[i].Data) > 0 {
			some[i], changed = Part{}, true
		}
	}
	return changed
}
