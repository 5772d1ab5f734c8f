package table

import (
	"context"
	"time"
)

// sendBefore is the key of the time in a context.
type sendBefore struct{}

// SendBefore returns a context in which no write is sent after t, by the clock of the engine: an engine that
// sends requests checks it before each one, and fails without an effect. It is for a write that would be wrong
// if it came late, such as an append that builds on an earlier read. A later t than one that the context has
// already changes nothing.
func SendBefore(ctx context.Context, t time.Time) context.Context {
	if earlier, ok := SentBefore(ctx); ok && earlier.Before(t) {
		return ctx
	}
	return context.WithValue(ctx, sendBefore{}, t)
}

// SentBefore returns the time that SendBefore set; false means that there is none.
func SentBefore(ctx context.Context) (time.Time, bool) {
	t, ok := ctx.Value(sendBefore{}).(time.Time)
	return t, ok
}
