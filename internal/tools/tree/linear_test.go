package tree_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A countOp is a call on the field count of a note: a read of it, or a write of one more than was read.
type countOp struct {
	note  int
	write bool
	to    int // of a write
}

// A countResult is the outcome of a call.
type countResult struct {
	value   int  // of a read
	refused bool // a write that was CONFLICT
}

// countModel is a note whose field is written only from what it is.
var countModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		var parts [linearNotes][]porcupine.Operation
		for _, o := range history {
			n := o.Input.(countOp).note
			parts[n] = append(parts[n], o)
		}
		return parts[:]
	},
	Init: func() any { return 0 },
	Step: func(state, in, out any) (bool, any) {
		now, op, result := state.(int), in.(countOp), out.(countResult)
		switch {
		case !op.write:
			return result.value == now, now
		case result.refused: // another write came first
			return now != op.to-1, now
		default:
			return now == op.to-1, op.to
		}
	},
}

// linearNotes is how many notes the agents of TestAgentsAreLinearizable use.
const linearNotes = 16

// A countHistory records calls with the times at which they began and ended.
type countHistory struct {
	start time.Time

	mu  sync.Mutex
	all []porcupine.Operation
}

// record records one call of a client.
func (h *countHistory) record(client int, op countOp, call func() (countResult, error)) error {
	began := time.Since(h.start)
	result, err := call()
	ended := time.Since(h.start)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{
		ClientId: client, Input: op, Output: result, Call: int64(began), Return: int64(ended),
	})
	return err
}

// TestAgentsAreLinearizable covers that reads and writes of 64 agents are linearizable for each note: each read has the
// value of the last write that ended before it or of one beside it, and a write takes effect once, or is CONFLICT
// because another one came first.
func TestAgentsAreLinearizable(t *testing.T) {
	const rounds = 6
	files := map[string]string{}
	for i := range linearNotes {
		files[fmt.Sprintf("n%d.md", i)] = "---\ncount: 0\n---\n\nText.\n"
	}
	p := open(t, files)
	h := &countHistory{start: time.Now()}
	var wg sync.WaitGroup
	for i := range agents {
		wg.Go(func() {
			a := agent{p.as(fmt.Sprint("agent ", i), "")}
			for range rounds {
				assert.NoError(t, a.countRecorded(t, h, i, rand.IntN(linearNotes)))
			}
		})
	}
	wg.Wait()
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(countModel, h.all, time.Minute))
}

// countRecorded reads the count of a note, and writes one more with the version token of the read.
func (a agent) countRecorded(t *testing.T, h *countHistory, client, note int) error {
	id := fmt.Sprint("n", note)
	var token any
	value := 0
	err := h.record(client, countOp{note: note}, func() (countResult, error) {
		read, err := a.ask(t, "get_node", args{"nodeId": id})
		if err != nil {
			return countResult{}, err
		}
		count, _ := read["node"].(args)["payload"].(args)["count"].(float64)
		token, value = read["versionToken"], int(count)
		return countResult{value: value}, nil
	})
	if err != nil {
		return err
	}
	return h.record(client, countOp{note, true, value + 1}, func() (countResult, error) {
		_, err := a.ask(t, "update_payload_property", args{
			"nodeId": id, "propertyName": "count", "newValue": value + 1, "versionToken": token,
		})
		if fault.Of(err).Code == fault.Conflict {
			return countResult{refused: true}, nil
		}
		return countResult{}, err
	})
}
