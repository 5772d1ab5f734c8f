package eventlog

import (
	"context"
	"time"
)

// A foreseen is a control item that was read before the log, and when.
type foreseen struct {
	control Control
	at      time.Time
}

// foreseenLife is how long a start may use a foreseen control item: much shorter than the life of a
// superseded image.
const foreseenLife = time.Minute

// firstControl returns the control item for a start: the foreseen one if it is recent, which is
// used once, or else the current one.
func (l *Log[S]) firstControl(ctx context.Context) (Control, error) {
	if f := l.foreseen.Swap(nil); f != nil {
		if age := l.opt.Now().Sub(f.at); 0 <= age && age < foreseenLife {
			return f.control, nil
		}
	}
	return l.Control(ctx)
}

// Foresee reads the current control item, and keeps it for a Read that follows within a minute, so
// that a start does not read it again. It returns ErrNoLog if the log does not exist.
func (l *Log[S]) Foresee(ctx context.Context) (Control, error) {
	c, err := l.Control(ctx)
	if err == nil {
		l.foreseen.Store(&foreseen{c, l.opt.Now()})
	}
	return c, err
}
