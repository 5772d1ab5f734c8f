package bridge

import (
	"context"
	"net/http"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// pause is the time between two tries to reach a server that is about to change.
const pause = 20 * time.Millisecond

// exchange sends a message to the server and returns the lines of the answer.
func (b *bridge) exchange(ctx context.Context, m *message) [][]byte {
	if m.cut || len(m.body) > httptool.MaxBody {
		return b.refused(m, httpbody.TooLarge(httptool.MaxBody))
	}
	if b.opt.Vault != "" {
		if err := m.withVault(b.opt.Vault, b.known); err != nil {
			return b.refused(m, fault.Of(err))
		}
	}
	client, a, err := b.send(ctx, m)
	if err != nil {
		return b.refused(m, fault.Of(err))
	}
	lines, f := m.answered(client, a)
	if f != nil {
		return b.refused(m, f)
	}
	if m.method == initialize && len(lines) == 1 {
		b.negotiate(lines[0])
	}
	if m.silent && len(lines) > 0 {
		b.opt.Log.WarnContext(ctx, "the server refused a notification", "status", a.Status)
		return nil
	}
	return lines
}

// send sends a message. It is sent again if the server has not got it, or if it may be repeated: to
// the server that has taken the place of the one that does not answer, and with a newer token if
// there is one.
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
		if ctx.Err() != nil || err == nil && !denied || denied && renewed {
			return client, a, err
		}
		if err != nil && !b.again(a, m, first, &end) {
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
		case next == client && !wait(ctx, pause):
			return client, a, err
		}
		client = next
	}
}

// post sends a message once. Before it sends a change to a server that lost a message, it requires an answer
// to a request that changes nothing. A process that was killed can accept connections until its listener is
// closed, and would lose that change as well.
func (b *bridge) post(
	ctx context.Context, client *httptool.Client, m *message,
) (httptool.Answer, error) {
	if b.doubted.Load() == client && !m.repeatable(b.known) {
		if err := client.Answers(ctx); err != nil {
			return httptool.Answer{}, err
		}
	}
	h := b.header.Clone()
	m.header(h, b.negotiated())
	a, err := client.Post(ctx, b.opt.Path, h, m.body)
	switch {
	case err == nil:
		b.doubted.CompareAndSwap(client, nil)
	case a.Sent && ctx.Err() == nil:
		b.doubted.Store(client)
	}
	return a, err
}

// again reports whether a message without an answer is sent again: until the patience ends, and,
// where there is none, once if it was sent, for the connection may have been an old one.
func (b *bridge) again(a httptool.Answer, m *message, first bool, end *time.Time) bool {
	if a.Sent && !m.repeatable(b.known) {
		return false
	}
	if end.IsZero() {
		*end = time.Now().Add(b.opt.Server.Patience())
	}
	return time.Now().Before(*end) || first && a.Sent
}

// wait pauses; false if the context ended.
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
