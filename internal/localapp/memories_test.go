package localapp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
)

// The items that remember makes in the vault main.
const (
	memoryA, memoryB, memoryC = "mem_a", "mem_b", "mem_c"
	chapterA, chapterB        = "chapter_a", "chapter_b"
	chapterC                  = "chapter_c"
	wisdomA                   = "wisdom_a"
)

// memories are lines of an import: three memories that share a tag and a file, two chapters of
// them, and their wisdom.
var memories = func() string {
	var lines strings.Builder
	for i, id := range []string{memoryA, memoryB, memoryC} {
		fmt.Fprintf(&lines, `{"kind":"memory","id":%q,"intent":{"goal":"Mend wheel %d","task_type":"bug_fix"},`+
			`"outcome":{"success":true,"summary":"wheel %d turns"},"tags":["mill"],`+
			`"actions":[{"type":"file_edit","file_path":"src/wheel.go"}]}`+"\n", id, i, i)
	}
	fmt.Fprintf(&lines, `{"kind":"links","id":%q,"caused_by":[%q]}`+"\n", memoryB, memoryA)
	for _, id := range []string{chapterA, chapterB, chapterC} {
		fmt.Fprintf(&lines, `{"kind":"chapter","id":%q,"summary":"wheels","learnings":["grease it"],"tags":["mill"],`+
			`"memories":[%q,%q]}`+"\n", id, memoryA, memoryB)
	}
	fmt.Fprintf(&lines, `{"kind":"wisdom","id":%q,"summary":"wheels","tags":["mill"],"chapters":[%q,%q]}`+"\n",
		wisdomA, chapterA, chapterB)
	return lines.String()
}()

// remember imports memories into the vault main, and counts an access of one.
func remember(t testing.TB, inv tool.Invoker) {
	t.Helper()
	answer := done(t, inv, "memory_import", args{
		"vault": "main", "files": []args{{"path": "memories.jsonl", "content": memories}},
	})
	require.Contains(t, string(answer), `"created":3,"skipped":0,"others":5`)
	done(t, inv, "memory_recall", args{"vault": "main", "memory_id": memoryA, "depth": "summary"})
}

// memoryCalls are calls of the tools that change memories, about those of remember.
var memoryCalls = map[string]args{
	"memory_identity": {"action": "register", "specialization": "wheels"},
	"memory_store": {"intent": args{"goal": "Mend the sluice", "task_type": "bug_fix"},
		"outcome": args{"success": true, "summary": "it shuts"}},
	"memory_update_memory":  {"memory_id": memoryA, "importance": 0.9},
	"memory_link":           {"source_id": memoryC, "target_id": memoryA, "link_type": "caused_by"},
	"memory_create_chapter": {"memory_ids": []string{memoryA, memoryC}, "title": "Wheels"},
	"memory_synthesize":     {"chapter_ids": []string{chapterA, chapterB}},
	"memory_delete_memory":  {"memory_id": memoryB},
	"memory_delete_chapter": {"chapter_id": chapterC},
	"memory_delete_wisdom":  {"wisdom_id": wisdomA},
	"memory_import": {"files": []args{{"path": "more.jsonl", "content": `{"kind":"memory","id":"mem_d",` +
		`"intent":{"goal":"g","task_type":"other"},"outcome":{"success":true,"summary":"s"}}`}}},
}

// memoryReadings are arguments of the tools that read memories, in addition to those that their
// schemas require.
var memoryReadings = map[string]args{
	"memory_recall":        {"intent": "mend a wheel", "depth": "full"},
	"memory_complete":      {"kind": "memory", "prefix": "none has it"},
	"memory_trace":         {"memory_id": memoryB, "direction": "causes"},
	"memory_check_file":    {"file": "src/wheel.go"},
	"memory_history":       {"memory_id": memoryA},
	"memory_recall_wisdom": {"query": "wheels"},
}
