package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// maxLine is the number of bytes that are kept of a line. It is larger than a body that the server
// accepts, so that the id of a message that is too large is found wherever it is in the line.
const maxLine = 4 * httptool.MaxBody

// A line is one line of the input, without spaces around it. A line with err set has no text: it is
// the last one.
type line struct {
	text []byte
	cut  bool  // it is longer than maxLine
	err  error // the input ended
}

// read sends the lines of the input until it ends, or until done is closed. Empty lines are left
// out. The last value has the error of the input, io.EOF at its end.
func read(in io.Reader, lines chan<- line, done <-chan struct{}) {
	r := bufio.NewReaderSize(in, 64<<10)
	send := func(l line) bool {
		select {
		case lines <- l:
			return l.err == nil
		case <-done:
			return false
		}
	}
	for {
		l := readLine(r)
		err := l.err
		if l.err = nil; len(l.text) > 0 && !send(l) {
			return
		}
		if err != nil {
			send(line{err: err})
			return
		}
	}
}

// readLine reads one line, of which it keeps at most maxLine bytes. The last line need not have a
// newline: it is returned together with io.EOF.
func readLine(r *bufio.Reader) line {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		// The rest of a line that is too long is read and dropped, so that the next line begins at
		// its start.
		if room := maxLine - len(l.text); len(part) > room {
			part, l.cut = part[:room], true
		}
		l.text = append(l.text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.text, l.err = bytes.TrimSpace(l.text), err
			return l
		}
	}
}

// An output writes lines. closed is closed at the first error, because nothing reads the lines any
// more; later lines are dropped. It is safe for concurrent use.
type output struct {
	writing sync.Mutex
	to      io.Writer
	closed  chan struct{}
	gone    bool
}

// write writes one line with a newline in one call of Write.
func (o *output) write(text []byte) {
	o.writing.Lock()
	defer o.writing.Unlock()
	if o.gone {
		return
	}
	if _, err := o.to.Write(append(text, '\n')); err != nil {
		o.gone = true
		close(o.closed)
	}
}

// A flight is a message that has no answer yet. Its fields are guarded by the lock of by.
type flight struct {
	open      int // ids that were not cancelled
	cancelled bool
	stop      context.CancelFunc
	flights   *flights
}

// flights are the messages that have no answer yet, by the ids of their requests, so that a
// cancellation finds its message.
type flights struct {
	lock sync.Mutex
	all  map[string]*flight
}

// begin adds a message with the ids of its requests. A cancellation may arrive before bind is
// called. An id that is in use already is replaced.
func (f *flights) begin(ids []json.RawMessage) *flight {
	f.lock.Lock()
	defer f.lock.Unlock()
	one := &flight{flights: f, open: len(ids)}
	for _, id := range ids {
		f.all[string(id)] = one
	}
	return one
}

// bind sets the function that ends a message, and calls it if the message was cancelled already.
func (f *flights) bind(one *flight, stop context.CancelFunc) {
	f.lock.Lock()
	defer f.lock.Unlock()
	if one.stop = stop; one.cancelled {
		stop()
	}
}

// end removes a message. Ids that a later message uses stay.
func (f *flights) end(ids []json.RawMessage, one *flight) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, id := range ids {
		if f.all[string(id)] == one {
			delete(f.all, string(id))
		}
	}
}

// cancel cancels the request with an id. The message ends when all of its requests are cancelled.
// An unknown id is ignored: its message was answered.
func (f *flights) cancel(id json.RawMessage) {
	f.lock.Lock()
	defer f.lock.Unlock()
	one := f.all[string(id)]
	if one == nil {
		return
	}
	delete(f.all, string(id))
	if one.open--; one.open > 0 {
		return
	}
	one.cancelled = true
	if one.stop != nil {
		one.stop()
	}
}

// isCancelled reports whether all requests of the message were cancelled.
func (o *flight) isCancelled() bool {
	o.flights.lock.Lock()
	defer o.flights.lock.Unlock()
	return o.cancelled
}

// pause is the time between two attempts to reach a server that is being replaced.
const pause = 20 * time.Millisecond

// exchange sends a message to the server and returns the lines of the answer. Every failure becomes
// an answer, so the client never waits for a message in vain. A message that is too large is not
// sent. The vault of the options is added first, because it can change the body.
func (b *bridge) exchange(ctx context.Context, m *message) [][]byte {
	if m.cut || len(m.body) > httptool.MaxBody {
		return b.refusalLines(m, httpbody.TooLarge(httptool.MaxBody))
	}
	if b.opt.Vault != "" {
		if err := m.withVault(b.opt.Vault, b.known); err != nil {
			return b.refusalLines(m, fault.Of(err))
		}
	}
	client, a, err := b.send(ctx, m)
	if err != nil {
		return b.refusalLines(m, fault.Of(err))
	}
	lines, f := m.answerLines(client, a)
	if f != nil {
		return b.refusalLines(m, f)
	}
	if m.method == initialize && len(lines) == 1 {
		b.negotiate(lines[0])
	}
	// A notification must not be answered, even if the server refused it with a message.
	if m.silent && len(lines) > 0 {
		b.opt.Log.WarnContext(ctx, "the server refused a notification", "status", a.Status)
		return nil
	}
	return lines
}

// send sends a message and returns the answer with the client that got it. It sends the message
// again if the server has not received it, or if it is repeatable: to the server that has replaced
// the one that does not answer, until Patience ends. If the token was refused, it tries once with a
// newer one. The answer of the last attempt is returned.
func (b *bridge) send(ctx context.Context, m *message) (*httptool.Client, httptool.Answer, error) {
	var end time.Time // of the patience
	var renewed bool
	client, err := b.opt.Server.Find(ctx, nil)
	if err != nil {
		return nil, httptool.Answer{}, err
	}
	for first := true; ; first = false {
		a, err := b.post(ctx, client, m)
		denied := err == nil && a.Status == http.StatusUnauthorized
		// An answer other than a refused token is final, whatever it says, and so is a second
		// refusal.
		if ctx.Err() != nil || err == nil && !denied || denied && renewed {
			return client, a, err
		}
		if err != nil && !b.shouldRetry(a, m, first, &end) {
			return client, a, err
		}
		next, lost := b.opt.Server.Find(ctx, client)
		switch {
		case lost != nil:
			return client, a, lost
		case denied && next == client:
			return client, a, nil
		case denied:
			renewed = true
		// The server is the same: it is asked again after a pause, as long as again allows.
		case next == client && !wait(ctx, pause):
			return client, a, err
		}
		client = next
	}
}

// post sends a message once. Before it sends a change to a server that lost a message, it requires
// an answer to a request that changes nothing. A process that was killed can accept connections
// until its listener is closed, and would lose that change as well. A server counts as one that
// lost a message if a request was sent and no answer came; its next answer clears that.
func (b *bridge) post(
	ctx context.Context, client *httptool.Client, m *message,
) (httptool.Answer, error) {
	if b.suspect.Load() == client && !m.repeatable(b.known) {
		if err := client.Answers(ctx); err != nil {
			return httptool.Answer{}, err
		}
	}
	h := b.header.Clone()
	m.header(h, b.negotiated())
	a, err := client.Post(ctx, b.opt.Path, h, m.body)
	switch {
	case err == nil:
		b.suspect.CompareAndSwap(client, nil)
	case a.Sent && ctx.Err() == nil:
		b.suspect.Store(client)
	}
	return a, err
}

// shouldRetry reports whether a message without an answer is sent again: until the patience ends and, if
// there is none, once if it was sent, because the connection may have been an old one that the
// server had closed. end is set at the first call.
func (b *bridge) shouldRetry(a httptool.Answer, m *message, first bool, end *time.Time) bool {
	if a.Sent && !m.repeatable(b.known) {
		return false
	}
	if end.IsZero() {
		*end = time.Now().Add(b.opt.Server.Patience())
	}
	return time.Now().Before(*end) || first && a.Sent
}

// wait waits for d. It returns false if the context ended before.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
