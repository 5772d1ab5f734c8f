package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery"
)

//go:embed memories.md.tmpl
var memoriesText string

// A remembering is the cost of the memory tools in this process, on a vault with the given number
// of memories of about one kilobyte.
type remembering struct {
	Memories int
	Import   imported
	Calls    []noted
	Crowd    sample // concurrent stores by many agents
}

// The number of agents that store concurrently, and the goal for their rate per second.
const (
	crowdOfAgents = 64
	storesASecond = 500
)

// memoriesACall is the number of memories in one call of the import.
const memoriesACall = 1000

// measureMemories measures the memory tools, and writes the page.
func measureMemories(ctx context.Context, cfg config) error {
	return eachSize(cfg, "memories", func(s *suite, p *page) error {
		p.Memories = append(p.Memories, remembering{Memories: s.result.Notes})
		return s.memories(ctx, &p.Memories[len(p.Memories)-1])
	})
}

// memories measures a vault of one size.
func (s *suite) memories(ctx context.Context, out *remembering) error {
	r, err := rookery.Open(ctx, rookery.Config{Data: s.data()})
	if err != nil {
		return fmt.Errorf("open the data: %w", err)
	}
	return errors.Join(s.memoryCalls(ctx, inProcess(r), out), r.Close())
}

// memoryCalls imports the memories, and measures the calls.
func (s *suite) memoryCalls(ctx context.Context, by way, out *remembering) error {
	progress("%d memories: import", out.Memories)
	if err := createVault(ctx, by); err != nil {
		return err
	}
	for from := 0; from < out.Memories; from += memoriesACall {
		body, err := encode(linesOfMemories(from, min(from+memoriesACall, out.Memories)))
		if err != nil {
			return err
		}
		if err := out.Import.call(ctx, by, "memory_import", body); err != nil {
			return err
		}
	}
	var err error
	if out.Calls, err = s.askKinds(ctx, "memories", memoryKinds(out.Memories), by); err != nil {
		return err
	}
	progress("%d memories: %d agents store at once", out.Memories, crowdOfAgents)
	crowd := drawn(call{What: "store", Tool: "memory_store"}, variants, func(i int) in {
		store := newMemory(i)
		store["agent_id"] = fmt.Sprintf("agent-%d", i%crowdOfAgents)
		return store
	})
	out.Crowd, err = load{
		name: crowd.What, clients: crowdOfAgents, ops: s.cfg.ops, limit: s.cfg.limit,
		op: func(ctx context.Context, i int) error {
			_, err := by(ctx, crowd.Tool, crowd.args[i%len(crowd.args)])
			return err
		},
	}.run(ctx)
	return err
}

// workText is the text that each memory has in four places.
var workText = strings.Repeat("what was done and learnt of it ", 8)

// idOfMemory returns the id of a memory.
func idOfMemory(i int) string { return fmt.Sprintf("mem_%08d-0000-4000-8000-000000000000", i) }

// fileOfMemory returns the file of a memory. Several memories have the same file.
func fileOfMemory(i int) string { return fmt.Sprintf("src/pkg%d/file%d.go", i%50, i%2000) }

// newMemory returns a memory of about one kilobyte.
func newMemory(i int) in {
	tasks := []string{"bug_fix", "feature_add", "refactor", "investigation"}
	return in{
		"intent": in{"goal": fmt.Sprintf("repair component c%d of module m%d", i, i%97), "task_type": tasks[i%4],
			"context": workText},
		"outcome": in{"success": i%3 > 0, "summary": workText, "learnings": []string{workText}},
		"actions": []in{{"type": "file_edit", "file_path": fileOfMemory(i), "diff_summary": workText}},
		"tags":    []string{fmt.Sprintf("t%d", i%100), "common"},
	}
}

// linesOfMemories returns the arguments of an import of some memories. Each is caused by the one
// before it.
func linesOfMemories(from, to int) in {
	var lines strings.Builder
	for i := from; i < to; i++ {
		m := newMemory(i)
		m["id"], m["agent_id"], m["session_id"] =
			idOfMemory(i), fmt.Sprintf("agent-%d", i%crowdOfAgents), fmt.Sprint("s", i%1000)
		if i > from {
			m["links"] = in{"caused_by": []string{idOfMemory(i - 1)}}
		}
		line, err := encode(m)
		if err != nil {
			panic(err) // cannot happen: it consists of texts
		}
		lines.Write(bytes.TrimSpace(line))
		lines.WriteByte('\n')
	}
	return in{"vault": vaultName, "files": []in{{"path": "memories.jsonl", "content": lines.String()}}}
}

// byWords is the name of recall by words. At the smaller size its p99 has a goal too: byWordsLast,
// in milliseconds.
const (
	byWords     = "by words"
	byWordsLast = 5
)

// memoryKinds returns the kinds of calls on n memories. Those that write are last.
func memoryKinds(n int) []noted {
	id := func(i int) string { return idOfMemory(i * stride % n) }
	read := func(what, tool string, draw func(i int) in) noted {
		return noted{call: drawn(call{What: what, Tool: tool}, variants, draw), Small: 1, Large: 10}
	}
	return []noted{
		read("by id", "memory_recall", func(i int) in { return in{"memory_id": id(i), "depth": "outcome"} }),
		read("by file", "memory_recall", func(i int) in { return in{"file": fileOfMemory(i), "depth": "outcome"} }),
		read("by agent, kind of work and tag", "memory_recall", func(i int) in {
			return in{"agent_id": fmt.Sprintf("agent-%d", i%crowdOfAgents), "task_type": "bug_fix",
				"tags": []string{"common"}, "depth": "summary"}
		}),
		read(byWords, "memory_recall", func(i int) in {
			return in{"query": fmt.Sprintf("component c%d", i*stride%n), "depth": "outcome"}
		}),
		{call: drawn(call{What: "causes and effects", Tool: "memory_trace"}, variants, func(i int) in {
			return in{"memory_id": id(i), "direction": "both", "depth": "summary"}
		})},
		{call: drawn(call{What: "check of a file", Tool: "memory_check_file"}, variants, func(i int) in {
			return in{"file": fileOfMemory(i), "intended_action": "repair a component"}
		})},
		{call: drawn(call{What: "the newest of one's own", Tool: "memory_list"}, variants, func(i int) in {
			return in{"agent_id": fmt.Sprintf("agent-%d", i%crowdOfAgents)}
		})},
		{call: drawn(call{What: "store one", Tool: "memory_store"}, variants, newMemory), Small: 15, Large: 15},
		{call: drawn(call{What: "update one", Tool: "memory_update_memory"}, writeVariants, func(i int) in {
			return in{"memory_id": id(i), "tags": []string{fmt.Sprint("u", i)}}
		})},
	}
}

// Goals returns the goals for the size of the vault, with the measured numbers.
func (r remembering) Goals() []goal {
	var all []goal
	for _, c := range r.Calls {
		if want := c.goal(r.Memories); want > 0 {
			all = append(all, goal{"`" + c.Tool + "` " + c.What + ", p50", want, millis(c.Got.P(50)), "ms", false})
		}
		if c.What == byWords && len(c.Got.Waits) > 0 && r.Memories < largeSize {
			all = append(all,
				goal{"`" + c.Tool + "` " + c.What + ", p99", byWordsLast, millis(c.Got.P(99)), "ms", false})
		}
	}
	if len(r.Crowd.Waits) > 0 {
		all = append(all, goal{
			fmt.Sprintf("stores of %d agents at once", crowdOfAgents), storesASecond, r.Crowd.Rate(), "a second", true,
		})
	}
	return all
}
