package access_test

import (
	"testing"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/forwarded"
)

// BenchmarkFlight measures the cost of the shares for a call that does not wait.
func BenchmarkFlight(b *testing.B) {
	s := access.NewShares(access.ShareOptions{Calls: 256})
	crowd := forwarded.NewAddressLimiter(2048, forwarded.Proxies{})
	for b.Loop() {
		leave, ok := crowd.Acquire("192.0.2.1:4711")
		f, err := s.Begin(caller("a", "ann"))
		if err != nil || !ok || f.Take(300) != nil || f.Run(b.Context()) != nil {
			b.Fatal("refused")
		}
		f.Answered(2000)
		f.End()
		leave()
	}
}
