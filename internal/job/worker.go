package job

import (
	"context"
	"errors"
	"fmt"
)

// A Handler does the work that a message names. It may be called again for the same message. An error says that the
// message is to come again; ErrMessage, that it never can be worked on.
type Handler func(ctx context.Context, m Message) error

// A Worker works on the messages of a queue.
type Worker struct {
	// Handlers are those of all messages, by their kinds.
	Handlers map[string]Handler

	// Bury puts the body of a message among the dead letters.
	Bury func(ctx context.Context, body []byte) error
}

// Work works on a message. One that this release can never work on is buried at once, and that is no error; after any
// other failure the message is to come again.
func (w *Worker) Work(ctx context.Context, body []byte) error {
	err := w.handle(ctx, body)
	if !errors.Is(err, ErrMessage) {
		return err
	}
	if err := w.Bury(ctx, body); err != nil {
		return fmt.Errorf("bury a message: %w", err)
	}
	return nil
}

// handle is Work, but for what is to be buried. A panic is an error.
func (w *Worker) handle(ctx context.Context, body []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	m, err := ParseMessage(body)
	if err != nil {
		return err
	}
	do, ok := w.Handlers[m.Kind]
	if !ok {
		return ErrMessage
	}
	return do(ctx, m)
}
