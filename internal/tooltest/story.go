package tooltest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Story is calls that are made one after the other. Each way tells it on data of its own.
type Story struct {
	Name  string
	Steps []Step
}

// A Step is one call of a story, and what its answer must be.
type Step struct {
	Tool string
	Args string     // JSON; empty: none; in it, $plan_token is that of the last plan
	Code fault.Code // of the failure; empty: the call succeeds
	Want string     // JSON that the answer must contain, as Missing has it; empty: nothing more
}

// Tell makes the calls of a story over one way, and returns what is Comparable of the answers. A
// call that the way cannot carry is made over the other, so that the story goes on as it should;
// its answer is empty.
func (s Story) Tell(t testing.TB, over, other Way) []string {
	t.Helper()
	var answers []string
	token := ""
	for i, step := range s.Steps {
		c := NewCall(t, step.Tool, strings.ReplaceAll(step.Args, "$plan_token", token))
		answer, carried := over.Call(t, c)
		if !carried {
			answer, carried = other.Call(t, c)
			token = cmp.Or(planToken(answer), token)
			require.True(t, carried, "step %d: %s can carry no call", i, other.Name)
			answers = append(answers, "")
			continue
		}
		token = cmp.Or(planToken(answer), token)
		answers = append(answers, Comparable(answer))
	}
	return answers
}

// planToken is the token of an answer that is a plan; empty if it is none.
func planToken(answer json.RawMessage) string {
	var plan struct {
		Data struct {
			Token string `json:"plan_token"`
		} `json:"data"`
	}
	_ = json.Unmarshal(answer, &plan) // an answer in another form has no plan
	return plan.Data.Token
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

// Missing says what of one JSON value is not in another: empty if all of it is. An object may have
// more keys than it should, and a list more entries between those that it should have, which must
// come in the same order. A null must be a null.
func Missing(want, has json.RawMessage) string {
	var w, h any
	if err := json.Unmarshal(want, &w); err != nil {
		return fmt.Sprintf("what is wanted is no JSON: %v", err)
	}
	if err := json.Unmarshal(has, &h); err != nil {
		return fmt.Sprintf("the answer is no JSON: %v", err)
	}
	return missing(w, h, "")
}

func missing(want, has any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		h, ok := has.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is no object: %v", at, has)
		}
		for name, value := range w {
			inner, ok := h[name]
			if !ok {
				return fmt.Sprintf("%s.%s is not there", at, name)
			}
			if problem := missing(value, inner, at+"."+name); problem != "" {
				return problem
			}
		}
	case []any:
		h, ok := has.([]any)
		if !ok {
			return fmt.Sprintf("%s is no list: %v", at, has)
		}
		return missingEntry(w, h, at)
	default:
		if want != has {
			return fmt.Sprintf("%s is %v, not %v", at, has, want)
		}
	}
	return ""
}

// missingEntry finds the entries of a list in another, one behind the other.
func missingEntry(want, has []any, at string) string {
	for i, w := range want {
		found := slices.IndexFunc(has, func(h any) bool { return missing(w, h, "") == "" })
		if found < 0 {
			where := fmt.Sprintf("%s[%d]", at, i)
			if len(has) == 1 {
				return missing(w, has[0], where)
			}
			return where + " is not there, or not in its place"
		}
		has = has[found+1:]
	}
	return ""
}
