package bridge

import (
	"context"
	"net/http"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/httptool"
)

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
