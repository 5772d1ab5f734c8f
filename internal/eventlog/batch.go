package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A batch contains the writers of one run, and the results of their functions on the state before
// it.
type batch[S any] struct {
	head     *head[S]
	batch    []*writer[S] // in order
	rest     []*writer[S] // the writers that did not fit
	outcomes []outcome    // of the writers in batch
	drafts   []*Draft[S]  // the drafts to be written
	at       PartRef      // of the next draft
	size     int          // bytes of payload so far
	header   int          // bytes of header so far
}

// An outcome is the result that a writer gets if the run is written.
type outcome struct {
	receipt Receipt
	err     error
	commits bool // the outcome depends on the run being written
}

// compose runs the functions of the writers one after the other, each on the state that the drafts
// before it leave. When the payload exceeds maxRunSize or the header maxHeader, the run is closed;
// the draft that exceeds it is still in the run. A call that fails, is refused or changes nothing
// has an outcome, but no draft.
func (l *Log[S]) compose(ctx context.Context, h *head[S], ws []*writer[S]) *batch[S] {
	m := &batch[S]{head: h, at: PartRef{Run: h.seq + 1}}
	for i, w := range ws {
		// The run is full. The remaining writers are put into the next run.
		if m.size > maxRunSize || m.header > maxHeader {
			m.rest = ws[i:]
			break
		}
		m.batch = append(m.batch, w)
		m.outcomes = append(m.outcomes, l.attempt(ctx, m, w))
	}
	return m
}

// attempt runs the function of one writer. A panic in the function becomes the error of that call
// alone.
//
// The order of the checks is part of the contract. A repeated call gets its earlier answer although
// the log has become read-only since, so the key is looked up before the status is checked. A log
// that is sealed answers no call. The draft is applied before it is added, so that a commit which
// cannot be applied never gets into the log.
func (l *Log[S]) attempt(_ context.Context, m *batch[S], w *writer[S]) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = outcome{err: fault.Panicked("in "+w.call.Tool, p)}
		}
	}()
	if err := w.ctx.Err(); err != nil {
		return outcome{err: err}
	}
	if m.status() == Sealed {
		return outcome{err: ErrNoLog} // also for a repeated call that asks for its earlier answer
	}
	// The keys of the last day must be complete before a key can be called new.
	if w.key != nil && !w.call.DryRun {
		if err := l.keys.need(w.ctx); err != nil {
			return outcome{err: err}
		}
	}
	if o, known := l.known(m, w); known {
		return o
	}
	d := l.draft(m, w)
	if err := w.call.Allowed(m.status()); err != nil {
		return outcome{err: err}
	}
	answer, err := w.run(d)
	if err != nil {
		return outcome{err: err}
	}
	// A call that changes nothing reports the state that it saw. With an idempotency key it is
	// written nevertheless, to store the answer.
	receipt := Receipt{Seq: m.last().Seq}
	if w.call.DryRun || d.empty() && w.key == nil {
		return outcome{receipt: receipt}
	}
	receipt = Receipt{Seq: d.commit.Seq, Changed: !d.empty()}
	if err := l.keep(d, w, answer); err != nil {
		return outcome{err: err}
	}
	if err := d.fits(); err != nil {
		return outcome{err: err}
	}
	d.State() // if the commit cannot be applied, the panic fails the call and nothing is written
	d.forgetParsed()
	m.add(d)
	return outcome{receipt: receipt, commits: true}
}

// known returns the outcome of a writer whose idempotency key was used before, in the log or by an
// earlier writer of the same batch. It returns false if the key is new or the call has none.
func (l *Log[S]) known(m *batch[S], w *writer[S]) (outcome, bool) {
	if w.key == nil || w.call.DryRun {
		return outcome{}, false
	}
	for _, d := range m.drafts {
		if d.sameKey(w.key) {
			k := d.commit.Key
			err := sameRequest(k.Request, w.call.Request)
			return outcome{Receipt{Seq: d.commit.Seq, Replayed: k.Answer}, err, true}, true
		}
	}
	u, ok := l.keys.find(w.key, l.opt.Now())
	if !ok {
		return outcome{}, false
	}
	if err := sameRequest(u.request, w.call.Request); err != nil {
		return outcome{err: err}, true
	}
	answer, err := l.Part(w.ctx, u.answer)
	if err != nil {
		return outcome{err: err}, true
	}
	if len(answer.Data) == 0 {
		return outcome{err: answerErased(u.seq)}, true
	}
	return outcome{receipt: Receipt{Seq: u.seq, Replayed: answer.Data[1:]}}, true
}

// draft returns an empty draft on top of the drafts in the batch. Its time is never before that of
// the commit before it.
func (l *Log[S]) draft(m *batch[S], w *writer[S]) *Draft[S] {
	before, last := m.head.state, m.last()
	if n := len(m.drafts); n > 0 {
		before = m.drafts[n-1].State()
	}
	// Times in the log never decrease, even if the clock of this process is behind.
	now := l.opt.Now().UTC()
	if now.Before(last.Time) {
		now = last.Time
	}
	return &Draft[S]{
		call: w.call, at: m.at, durable: m.head.state, before: before, after: before,
		latest: last.Seq, status: m.status(), fold: l.opt.Apply,
		step: l.opt.Step, adopt: l.opt.Adopt,
		earlier: m.drafts[:len(m.drafts):len(m.drafts)],
		commit: Commit{
			Seq: last.Seq + 1, Call: w.id, Time: now.Truncate(time.Millisecond),
			Who: w.call.Who, Tool: w.call.Tool,
		},
	}
}

// keep adds the idempotency key and the answer to the draft. It is not called for calls that failed
// or were refused, nor for dry runs: those use up no key. It returns QUOTA_EXCEEDED if the limit of
// keys within a day is reached.
func (l *Log[S]) keep(d *Draft[S], w *writer[S], answer any) error {
	if w.key == nil {
		return nil
	}
	if err := l.keys.room(l.opt.Now(), l.opt.MaxKeys); err != nil {
		return err
	}
	data, err := Encode(answer)
	if err != nil {
		return fmt.Errorf("encode the answer of %s: %w", w.call.Tool, err)
	}
	d.commit.Key = &Key{Hash: w.key, Request: w.call.Request, Answer: data}
	d.stale = d.stale || d.empty() // a commit of the key alone is a commit to the state too
	return nil
}

// add adds a draft to the run.
func (m *batch[S]) add(d *Draft[S]) {
	m.drafts = append(m.drafts, d)
	m.size += d.size()
	m.header += d.header()
	m.at.Part += d.commit.AnswerPart()
	if d.commit.Key != nil {
		m.at.Part++
	}
}

// last returns the commit before the next one. Only its Seq and Time are set.
func (m *batch[S]) last() Commit {
	if n := len(m.drafts); n > 0 {
		return m.drafts[n-1].commit
	}
	return Commit{Seq: m.head.seq, Time: m.head.time}
}

// status returns the status of the log after the drafts in the batch.
func (m *batch[S]) status() Status {
	s := m.head.status
	for _, d := range m.drafts {
		s = cmp.Or(d.commit.Status, s)
	}
	return s
}

// commits returns the commits of the drafts, in order.
func (m *batch[S]) commits() []*Commit {
	var all []*Commit
	for _, d := range m.drafts {
		all = append(all, &d.commit)
	}
	return all
}

// seal records in the header of the run how long its calls have taken until now.
func (m *batch[S]) seal(r *Run, now time.Time) {
	for i, d := range m.drafts {
		d.commit.Took = d.call.took(now)
		r.Commits[i].Took = d.commit.Took.Milliseconds()
	}
}

// took returns how long the call has taken, in whole milliseconds, rounded up. 0 means that the
// start of the call is not known.
func (c Call) took(now time.Time) time.Duration {
	if c.Began.IsZero() {
		return 0
	}
	return (max(now.Sub(c.Began), 0) + time.Millisecond - 1).Truncate(time.Millisecond)
}

// send marks the writers whose commits are about to be written. It returns false if one of them has
// given up: that writer was told that nothing was written, so the run must not be written with its
// commit.
func (m *batch[S]) send() bool {
	for i, w := range m.batch {
		if m.outcomes[i].commits && !w.send() {
			return false
		}
	}
	return true
}

// settle delivers the outcomes to the writers of the batch. If err is not nil, the run was not
// written or may not have been, and all writers get err if the batch has drafts: even a refusal may
// depend on a draft of the same run.
func (m *batch[S]) settle(err error) {
	for i, w := range m.batch {
		o := m.outcomes[i]
		if err != nil && (len(m.drafts) > 0) {
			o = outcome{err: err}
		}
		w.finish(o.receipt, o.err)
	}
}
