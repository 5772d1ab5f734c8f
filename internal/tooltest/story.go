package tooltest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
)

// A Story is calls that are made one after the other. Each way tells it on data of its own.
type Story struct {
	Name  string
	Steps []Step
}

// A Step is one call of a story, and what its answer must be.
type Step struct {
	Tool string
	Args string     // JSON; empty: none
	Code fault.Code // of the failure; empty: the call succeeds
	Want string     // JSON that the answer must contain, as Missing has it; empty: nothing more
}

// Tell makes the calls of a story over one way, and returns what is Comparable of the answers. A
// call that the way cannot carry is made over the other, so that the story goes on as it should;
// its answer is empty.
func (s Story) Tell(t testing.TB, over, other Way) []string {
	t.Helper()
	var answers []string
	for i, step := range s.Steps {
		c := NewCall(t, step.Tool, step.Args)
		answer, carried := over.Call(t, c)
		if !carried {
			_, carried = other.Call(t, c)
			require.True(t, carried, "step %d: %s can carry no call", i, other.Name)
			answers = append(answers, "")
			continue
		}
		answers = append(answers, Comparable(answer))
	}
	return answers
}

// Check checks the answers of a story. It goes on after a failure: one answer says little of the
// next.
func (s Story) Check(t testing.TB, answers []string) {
	t.Helper()
	for i, step := range s.Steps {
		answer := json.RawMessage(answers[i])
		what := fmt.Sprintf("step %d: %s %.300s: %.2000s", i, step.Tool, step.Args, answer)
		assert.Equal(t, step.Code, CodeOf(t, answer), what)
		if step.Want != "" {
			assert.Empty(t, Missing(json.RawMessage(step.Want), answer), what)
		}
	}
}
