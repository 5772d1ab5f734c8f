package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPageOfTheCloud(t *testing.T) {
	ms := time.Millisecond
	var b bytes.Buffer
	p := page{Cloud: &clouded{
		Functions: []bootstrap{
			{Name: "functions/mcp", Arch: "arm64", Size: size{20 << 20, 7 << 20}},
			{Name: "functions/mcp", Arch: "amd64", Size: size{21 << 20, 8 << 20}, Init: link{Waits: []time.Duration{12 * ms}}},
		},
		Calls:   []asTwo{{"raven_stats", []time.Duration{2 * ms}, []time.Duration{6 * ms}}},
		Commits: []sample{{Name: "8 × 8", Clients: 64, Took: time.Second, Waits: []time.Duration{ms, 2 * ms}}},
		Follow: following{
			Steps: []counted{
				{Name: "the call", requests: requests{Operations: map[string]int{"Query": 1, "PutItem": 1}}},
				{Name: "the file", requests: requests{Operations: map[string]int{"GET": 1, "PUT": 1}}},
				{Name: "a pass", requests: requests{Operations: map[string]int{"Query": 60}}},
			},
			Synced: []counted{{Name: "noticed", Took: 3 * ms}},
			ToFile: link{Waits: []time.Duration{7 * ms}}, Image: 9 * ms,
		},
	}}
	require.NoError(t, p.render(&b))
	for _, row := range []string{
		"| `raven_stats` | 2.0 ms | 6.0 ms | 3.0 |", "| 8 × 8 | 2.0 | 1.0 ms | 2.0 ms | 2.0 ms | none |",
		"| `functions/mcp` | arm64 | 20.0 MiB | 7.0 MiB |  |  |", "| 12.0 ms | 12.0 ms |",
		"| the call | 1 PutItem, 1 Query |", "| noticed |  | 3.0 ms |", "is\nthere 7.0 ms after", "an image is there 9.0 ms",
		"| the call | 1.4 |", "| the file | 5.4 |", "| a pass | 0.14 |", "| together | 9.9 |",
		"| commits a second of a vault, 8 × 8 writers | 100 commits/s | 2.0 commits/s |",
	} {
		require.Contains(t, b.String(), row)
	}
}
