package job

import (
	"context"
	"errors"
	"fmt"
)

// A Handler handles a message. It may be called several times for the same message. If it returns
// an error, the message is delivered again; ErrMessage means that the message can never be handled.
type Handler func(ctx context.Context, m Message) error

// A Worker handles the messages of a queue: it finds the handler of a message by its kind. It is
// safe for concurrent use if its handlers are.
type Worker struct {
	// Handlers are the handlers by message kind.
	Handlers map[string]Handler

	// Bury puts the body of a message into the dead-letter queue.
	Bury func(ctx context.Context, body []byte) error
}

// Work handles a message. A message that this release can never handle is buried immediately,
// without an error; after any other error the message must be delivered again.
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

// handle is Work without burying: it returns ErrMessage instead. A panic becomes an error.
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
