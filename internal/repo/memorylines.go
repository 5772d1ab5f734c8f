package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/memory"
)

// MemoryLines yields the lines of an export of the memories in a state. The order suits an import:
// agents, memories by age, links, chapters, wisdom. The first skip lines are omitted, and their
// values are not read. It ends with the first error.
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

// A memoryLines passes lines to yield until yield returns false or an error occurs.
type memoryLines struct {
	skip  int // lines still to be omitted
	ended bool
	yield func(memory.Line, error) bool
}

// add yields one line. It does not call value for lines that are skipped.
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
