package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestWordsAreExplained: what is said of a memory that was found by words, and how sure it is.
func TestWordsAreExplained(t *testing.T) {
	p := open(t)
	p.store(t, "rotate the signing keys of the ferry service", true)
	p.store(t, "describe the harbour", true)
	_, out := p.recall(t, args{"query": "rotate signing keys unheardof", "explain": true})
	m := list(out, "memories")[0]
	why := m["explanation"].(args)
	require.Equal(t, "fuzzy", why["match"])
	require.Equal(t, true, m["fuzzy"])
	require.Equal(t, []string{"rotate", "signing", "keys"}, texts(why["matched"]))
	require.Equal(t, []string{"unheardof"}, texts(why["missing"]))
	require.Equal(t, "records-1", why["fit"])
	require.Positive(t, why["parts"].(args)["text"])
	require.LessOrEqual(t, m["confidence"], .95)
	_, out = p.recall(t, args{"query": "rotate the signing keys", "explain": true})
	m = list(out, "memories")[0]
	require.Equal(t, "exact", m["explanation"].(args)["match"])
	require.Nil(t, m["fuzzy"])
	_, out = p.recall(t, args{"query": "rotate unheardof", "task_type": "bug_fix", "explain": true})
	require.Equal(t, "structural", list(out, "memories")[0]["explanation"].(args)["match"])
}

// TestConfidenceByKind: a memory with one text is a turn of a conversation, one with a goal and an outcome is a record.
func TestConfidenceByKind(t *testing.T) {
	p := open(t)
	for _, summary := range []string{"", "the goal", "something else"} {
		in := memoryOf("the goal")
		in["outcome"] = args{"success": true, "summary": summary}
		p.do(t, "store", in)
	}
	_, out := p.recall(t, args{"query": "goal", "explain": true})
	fits := map[string]int{}
	for _, m := range list(out, "memories") {
		fits[m["explanation"].(args)["fit"].(string)]++
	}
	require.Equal(t, map[string]int{"turns-1": 2, "records-1": 1}, fits)
}

// TestQuotesInAnIntentExcludeNothing: what stands in quotes raises the label, no more.
func TestQuotesInAnIntentExcludeNothing(t *testing.T) {
	p := open(t)
	p.store(t, "the harbour light broke at night", true)
	p.store(t, "a light broke, the harbour was dark", true)
	_, out := p.recall(t, args{"intent": `why "harbour light" failed`, "explain": true})
	found := list(out, "memories")
	require.Len(t, found, 2)
	require.Equal(t, "exact", found[0]["explanation"].(args)["match"])
	require.Equal(t, "fuzzy", found[1]["explanation"].(args)["match"])
}

// TestLongIntents checks that an intent of 1 MiB, such as a pasted log, neither fails nor hides what
// its first words and the whole text of a goal find.
func TestLongIntents(t *testing.T) {
	p := open(t)
	goal := strings.Repeat("calibrate the ü sensor ", 64<<10/24)
	for _, goal := range []string{"unpack the lighthouse lens", goal} {
		p.store(t, goal, true)
	}
	for _, argument := range []string{"intent", "query"} {
		for text, want := range map[string]string{
			"unpack the lighthouse lens " + strings.Repeat("-z\" ", 1<<18-8): "unpack the lighthouse lens", goal: goal,
		} {
			_, out := p.recall(t, args{argument: text})
			require.Equal(t, want, list(out, "memories")[0]["intent"].(args)["goal"])
		}
		p.refused(t, fault.InvalidQuery, "recall", args{argument: strings.Repeat("x", 2<<20+1), "depth": "summary"})
	}
}

// TestTheNextStepOfASessionIsFound: a memory that has no word of the query is found by the one before it, within a
// session that has a name.
func TestTheNextStepOfASessionIsFound(t *testing.T) {
	p := open(t)
	p.store(t, "look for the cause of the flaky upload", true)
	p.store(t, "raised the timeout", true)
	goals, _ := p.recall(t, args{"query": "flaky upload"})
	require.Equal(t, []string{"look for the cause of the flaky upload"}, goals, "the session default is no thread")
	for _, goal := range []string{"trace the slow query of the invoice page", "added an index"} {
		in := memoryOf(goal)
		in["session"] = "s1"
		p.do(t, "store", in)
	}
	goals, _ = p.recall(t, args{"query": "slow query invoice"})
	require.Equal(t, []string{"trace the slow query of the invoice page", "added an index"}, goals)
	p.pass(5 * time.Hour)
	in := memoryOf("cleaned up")
	in["session"] = "s1"
	p.do(t, "store", in)
	goals, _ = p.recall(t, args{"query": "index"})
	require.NotContains(t, goals, "cleaned up")
}

// TestEqualScoresGoByMerit: of memories that fit equally, those that another supersedes come last, and the important
// ones first.
func TestEqualScoresGoByMerit(t *testing.T) {
	p := open(t)
	old := p.store(t, "pin the compiler", true, args{"importance": 1})
	minor := p.store(t, "pin the compiler", true, args{"importance": .1})
	major := p.store(t, "pin the compiler", true, args{"importance": .9})
	p.do(t, "link", args{"source_id": major, "target_id": old, "link_type": "supersedes"})
	_, out := p.recall(t, args{"query": "compiler"})
	var ids []string
	for _, m := range list(out, "memories") {
		ids = append(ids, fmt.Sprint(m["id"]))
	}
	require.Equal(t, []string{major, minor, old}, ids)
}

// memoryOf is what is stored for a goal.
func memoryOf(goal string) args {
	return args{
		"intent": args{"goal": goal, "task_type": "bug_fix"}, "outcome": args{"success": true, "summary": "done"},
	}
}
