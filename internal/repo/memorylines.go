package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"rookery/internal/index"
	"rookery/internal/memory"
)

// MemoryLines yields what an export has of the memories of a state, in an order in which an import takes them: agents,
// memories by their age, links, chapters, wisdom. Of the first of them, which are skipped, no value is read.
func (v *Vault) MemoryLines(ctx context.Context, x *memory.Index, skip int) iter.Seq2[memory.Line, error] {
	return func(yield func(memory.Line, error) bool) {
		l := &memoryLines{skip: skip, yield: yield}
		for k := range x.Agents() {
			l.add(memory.KindAgent, k.ID, func() (json.RawMessage, error) { return json.Marshal(k.Value) })
		}
		for c := range x.Oldest() {
			l.add(memory.KindMemory, c.ID, func() (json.RawMessage, error) { return v.Text(ctx, index.Body(c.Place)) })
		}
		for c := range x.Oldest() {
			if links := x.Links(c.ID).Links; len(links.Targets()) > 0 {
				l.add(memory.KindLinks, c.ID, func() (json.RawMessage, error) { return json.Marshal(links) })
			}
		}
		for k := range x.Chapters() {
			l.add(memory.KindChapter, k.ID, func() (json.RawMessage, error) { return json.Marshal(k.Value) })
		}
		for k := range x.AllWisdom() {
			l.add(memory.KindWisdom, k.ID, func() (json.RawMessage, error) { return json.Marshal(k.Value) })
		}
	}
}

// memoryLines yields lines until nobody wants more.
type memoryLines struct {
	skip  int
	ended bool
	yield func(memory.Line, error) bool
}

func (l *memoryLines) add(kind, id string, value func() (json.RawMessage, error)) {
	if l.skip > 0 {
		l.skip--
		return
	}
	if l.ended {
		return
	}
	data, err := value()
	if err != nil {
		err = fmt.Errorf("read %s %s: %w", kind, id, err)
	}
	l.ended = !l.yield(memory.Line{Kind: kind, ID: id, Value: data}, err) || err != nil
}
