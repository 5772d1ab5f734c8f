package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/localcloud"
)

// rated is a sample of so many operations in a second.
func rated(n int) sample {
	return sample{Took: time.Second, Waits: make([]time.Duration, n)}
}

func TestRatioIsOfTurnsThatFollowEachOther(t *testing.T) {
	p := pair{
		Bare:  []sample{rated(100), rated(1000), rated(10)},
		Whole: []sample{rated(90), rated(950), rated(2)},
	}
	require.InDelta(t, 0.9, p.Ratio(), 1e-9)
	require.InDelta(t, 100, p.BareRate(), 1e-9)
	require.InDelta(t, 90, p.WholeRate(), 1e-9)
	require.InDelta(t, 0.925, middle([]float64{0.95, 0.9}), 1e-9)
}

func TestPageOfAHostedServer(t *testing.T) {
	of := func(what string, d time.Duration) link {
		return link{What: what, Waits: []time.Duration{d}, Mean: 2 * d}
	}
	p := &page{Command: "go run ./bench -only hosted", Hosted: &hosting{
		Chain: []link{of(linkNone, 10*time.Microsecond), of(linkAPI, 25*time.Microsecond),
			of(linkJWT, 75*time.Microsecond)},
		Tokens: tokened{
			Count: 10_000, Open: 300 * time.Millisecond, List: of("", time.Millisecond),
			CreateFew:  []time.Duration{2 * time.Millisecond},
			CreateMany: []time.Duration{3 * time.Millisecond},
			Verify:     of(linkMany, 26*time.Microsecond),
		},
		Sizes: []compared{{Notes: 1000, Loads: []pair{
			{Name: mixed, Clients: 64, Bare: []sample{rated(100)}, Whole: []sample{rated(80)}},
		}}},
	}}
	var b bytes.Buffer
	require.NoError(t, p.render(&b))
	for _, want := range []string{
		"| what stands in between, of a call with an API token, p50 | ≤ 50 µs | 15.0 µs | met |",
		"verified before, p50 | ≤ 50 µs | 65.0 µs | missed by 15.0 µs (30 %) |",
		"clients: 64: the rate, of that with nothing in between | ≥ 90 % | 80.0 % | missed by 10.0 %",
		"| an API token | 25.0 µs | 25.0 µs | 50.0 µs | 15.0 µs | 30.0 µs |",
		"## 10,000 API tokens in a tenant", "| make one of the last | 3.0 ms | 3.0 ms |",
		"answered after 300 ms", "| " + mixed + " | 64 | 100 | 80.0 | 80 % | 0.00 ms | 0.00 ms |",
	} {
		require.Contains(t, b.String(), want)
	}
}

// TestHostRefusesAndCounts holds that what is measured with everything in between has it there: a call
// without a token that proves something does not pass, one with it does, and what is measured without is
// not asked for one.
func TestHostRefusesAndCounts(t *testing.T) {
	i, err := localcloud.NewIssuer(t.Context(), "127.0.0.1:0", hostURL)
	require.NoError(t, err)
	defer i.Close()
	h, err := openHost(t.Context(), t.TempDir(), i.URL, idleTools()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, h.Close()) }()
	c := chain{h, t.Context()}
	require.NoError(t, c.plain())
	api, err := c.createToken("one")
	require.NoError(t, err)
	jwt, err := i.Token(in{"sub": "somebody"})
	require.NoError(t, err)
	for _, token := range []string{api, jwt} {
		require.NoError(t, c.invoke(token, "bench_look"))
		require.NoError(t, c.invoke(token, "bench_touch"))
	}
	require.Error(t, c.invoke(api+"a", "bench_look"))
	require.Error(t, c.invoke(jwt[:len(jwt)-8]+"AAAAAAAA", "bench_look"))
}

// BenchmarkChain measures a call of a tool that does nothing, with nothing in between and with everything.
func BenchmarkChain(b *testing.B) {
	i, err := localcloud.NewIssuer(b.Context(), "127.0.0.1:0", hostURL)
	require.NoError(b, err)
	defer i.Close()
	h, err := openHost(b.Context(), b.TempDir(), i.URL, idleTools()...)
	require.NoError(b, err)
	defer func() { require.NoError(b, h.Close()) }()
	c := chain{h, b.Context()}
	api, err := c.createToken("one")
	require.NoError(b, err)
	jwt, err := i.Token(in{"sub": "somebody"})
	require.NoError(b, err)
	for name, call := range map[string]func() error{
		"nothing": c.plain,
		"API":     func() error { return c.invoke(api, "bench_look") },
		"JWT":     func() error { return c.invoke(jwt, "bench_look") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
