package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

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
