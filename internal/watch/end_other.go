//go:build !linux

package watch

// An ending is of no use here: no root is held, and the removal of one is an event.
type ending struct{}

func awaitEnd(string, func()) *ending { return nil }

func (*ending) follow() {}

func (*ending) close() {}
