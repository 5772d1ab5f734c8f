package localapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A work is a change of memories by a client of a killed server. Its word is in no other work.
type work struct {
	kind  string // store, again, update, link, delete, import
	word  string
	key   string // the idempotency key; empty: none
	id    string // of the memory, where it is known
	acked bool
}

// workKinds are the kinds of works, by frequency. All except store and import create their memory
// first.
var workKinds = []string{"store", "store", "store", "again", "update", "link", "delete", "import"}

// importedAtOnce is the number of memories in an import of the kill test: too many for an item of
// the table.
const importedAtOnce = 5

// anchor is the memory that links refer to.
const anchor = "mem_anchor"

// stored returns the arguments that store the memory of a work.
func (w *work) stored() args {
	return args{
		"intent":  args{"goal": "goal " + w.word, "task_type": "bug_fix"},
		"outcome": args{"success": true, "summary": w.word}, "tags": []string{w.word}, "key": "key " + w.word,
	}
}

// do makes the call of the work; nil is an acknowledgement.
func (w *work) do(ctx context.Context, via tool.Invoker) error {
	name, in := "memory_store", w.stored()
	switch w.kind {
	case "update":
		name, in = "memory_update_memory", args{"memory_id": w.id, "tags": []string{w.word, "updated"}}
	case "link":
		name, in = "memory_link", args{"source_id": w.id, "target_id": anchor, "link_type": "caused_by"}
	case "delete":
		name, in = "memory_delete_memory", args{"memory_id": w.id}
	case "import":
		name, in = "memory_import", args{"files": []args{{"path": "m.jsonl", "content": w.lines()}}}
	}
	if w.key != "" {
		in["idempotency_key"] = w.key
	}
	answer, err := call(ctx, via, name, in)
	if err == nil && name == "memory_store" {
		var made struct {
			MemoryID string `json:"memory_id"`
		}
		err = json.Unmarshal(answer.Data, &made)
		w.id = made.MemoryID
	}
	return err
}

// lines returns the memories of an import.
func (w *work) lines() string {
	var b strings.Builder
	for i := range importedAtOnce {
		line := w.stored()
		delete(line, "key")
		line["id"] = fmt.Sprintf("mem_%s_%d", w.word, i)
		line["intent"] = args{"goal": w.word, "task_type": "other", "context": strings.Repeat(w.word+" ", 600)}
		data, err := json.Marshal(line)
		if err != nil {
			panic(err) // never: texts can be marshaled
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// write makes a work, and reports whether the server is alive.
func (w *work) write(t *testing.T, via tool.Invoker) bool {
	if w.kind != "store" && w.kind != "import" {
		first := &work{kind: "store", word: w.word}
		err := first.do(context.Background(), via)
		if w.id = first.id; err != nil {
			w.kind, w.key = "store", "" // it came to nothing more
			return false
		}
	}
	err := w.do(context.Background(), via)
	w.acked = err == nil
	if err != nil && !fault.Is(err, fault.Unavailable) {
		t.Errorf("%s %s: %v", w.kind, w.word, err)
	}
	return w.acked
}

// killDuringMemories lets clients write memories to a child, and kills it when so many of their works
// are acknowledged.
func killDuringMemories(t *testing.T, dir string, round, atLeast int) []*work {
	t.Helper()
	c := startChild(t, dir)
	via := client(c.url)
	var mu sync.Mutex
	var works []*work
	var clients sync.WaitGroup
	acks := make(chan struct{}, 1000)
	for id := range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				w := &work{kind: workKinds[rand.N(len(workKinds))], word: fmt.Sprintf("r%02dc%dn%03d", round, id, i)}
				if rand.N(2) == 0 {
					w.key = "of " + w.word
				}
				mu.Lock()
				works = append(works, w)
				mu.Unlock()
				if !w.write(t, via) {
					return
				}
				acks <- struct{}{}
			}
		})
	}
	for range atLeast {
		<-acks
	}
	c.kill()
	clients.Wait()
	return works
}

// A memoryLine is a line of an export of memories.
type memoryLine struct {
	Kind     string   `json:"kind"`
	ID       string   `json:"id"`
	Tags     []string `json:"tags"`
	Times    int      `json:"times"`
	CausedBy []string `json:"caused_by"`
}

// require requires that a work took effect once if it was acknowledged; otherwise at most once, and
// completely.
func (w *work) require(t *testing.T, byWord map[string][]memoryLine, links map[string]int) {
	t.Helper()
	found := byWord[w.word]
	if w.kind == "import" {
		require.Contains(t, []int{0, importedAtOnce}, len(found), "half of an import is there")
		require.True(t, !w.acked || len(found) == importedAtOnce, w.word)
		return
	}
	require.LessOrEqual(t, len(found), 1, "%s %s", w.kind, w.word)
	there := len(found) == 1
	switch w.kind {
	case "store":
		require.True(t, there || !w.acked, w.word)
	case "again":
		require.True(t, there, w.word)
		require.Contains(t, []int{0, 1, 2}, found[0].Times)
		require.True(t, !w.acked || found[0].Times == 2, "%s has %d", w.word, found[0].Times)
	case "update":
		require.True(t, there, w.word)
		require.True(t, !w.acked || len(found[0].Tags) == 2, w.word)
	case "link":
		require.True(t, there, w.word)
		require.True(t, !w.acked || links[w.id] == 1, w.word)
		require.LessOrEqual(t, links[w.id], 1)
	case "delete":
		require.True(t, !there || !w.acked, w.word)
	}
}

// exportedLines returns the lines of all pages of an export.
func exportedLines(t *testing.T, via tool.Invoker) (all []memoryLine) {
	t.Helper()
	for in := (args{}); ; {
		page := must(t, via, "memory_export", in)
		for _, file := range into[struct{ Files []struct{ Content string } }](t, page).Files {
			for line := range strings.Lines(file.Content) {
				var r memoryLine
				require.NoError(t, json.Unmarshal([]byte(line), &r))
				all = append(all, r)
			}
		}
		if page.Meta.Next == "" {
			return all
		}
		in["page_token"] = page.Meta.Next
	}
}

// requireRemembered compares the content of a vault with the acknowledged works, and its counters
// with a recount.
func requireRemembered(t *testing.T, via tool.Invoker, works []*work) {
	t.Helper()
	byWord, links, ids := map[string][]memoryLine{}, map[string]int{}, map[string]bool{}
	for _, r := range exportedLines(t, via) {
		switch r.Kind {
		case "memory":
			require.NotEmpty(t, r.Tags)
			byWord[r.Tags[0]], ids[r.ID] = append(byWord[r.Tags[0]], r), true
		case "links":
			require.Equal(t, []string{anchor}, r.CausedBy)
			links[r.ID]++
		}
	}
	for id := range links {
		require.True(t, ids[id], "links of a memory that is gone")
	}
	for _, w := range works {
		w.require(t, byWord, links)
	}
	counted := into[struct {
		MemoryCount int `json:"memory_count"`
	}](t, must(t, via, "memory_identity", args{"action": "info"}))
	require.Equal(t, len(ids), counted.MemoryCount)
}

// TestKilledWithMemories repeatedly kills a server to which many clients write memories, on one
// data directory: each acknowledged change exists once, no import is partial, no link has a missing
// target, the counters of the agent are those of a recount, and the log verifies.
func TestKilledWithMemories(t *testing.T) {
	t.Parallel()
	app, dir := openVault(t)
	must(t, local{app}, "memory_import", args{"files": []args{{"path": "m.jsonl", "content": fmt.Sprintf(
		`{"id":%q,"intent":{"goal":"anchor","task_type":"other"},"outcome":{"success":true,"summary":"a"},"tags":["anchor"]}`,
		anchor)}}})
	require.NoError(t, app.Close())
	var all []*work
	for round := range rounds(40, 10) {
		works := killDuringMemories(t, dir, round, 1+rand.N(8))
		all = append(all, works...)
		app := open(t, dir)
		for _, w := range works {
			if !w.acked && w.key != "" {
				require.NoError(t, w.do(t.Context(), local{app}), "%+v", w)
				w.acked = true
			}
		}
		requireRemembered(t, local{app}, all)
		if round%4 == 0 {
			requireIntact(t, local{app})
		}
		require.NoError(t, app.Close())
	}
	acked := 0
	for _, w := range all {
		if w.acked {
			acked++
		}
	}
	t.Logf("%d works, of which %d were acknowledged", len(all), acked)
}
