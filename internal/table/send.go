package table

import (
	"context"
	"time"
)

// sendBefore is the context key of the time.
type sendBefore struct{}

// SendBefore returns a context with which no write is sent after t, by the implementation's clock.
// An implementation that sends requests checks this before each one, and fails without an effect.
// It is meant for writes that would be wrong if they were late, such as an append that is based on
// an earlier read. It never extends an earlier limit in ctx.
func SendBefore(ctx context.Context, t time.Time) context.Context {
	if earlier, ok := SentBefore(ctx); ok && earlier.Before(t) {
		return ctx
	}
	return context.WithValue(ctx, sendBefore{}, t)
}

// SentBefore returns the time that SendBefore set, or false if there is none.
func SentBefore(ctx context.Context) (time.Time, bool) {
	t, ok := ctx.Value(sendBefore{}).(time.Time)
	return t, ok
}
