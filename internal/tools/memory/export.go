package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// The formats of an export, and the name of the file in the format jsonl.
const (
	formatLines    = "jsonl"
	formatMarkdown = "markdown"
	linesFile      = "memories.jsonl"
)

// An exportIn is the input of memory_export. AgentID and Tags select memories; without them the
// whole content of the family is exported. PageToken and the version that it contains override
// as_of.
type exportIn struct {
	tool.Vault
	// JSON Lines of everything, or a file of Markdown for each memory
	Format string `json:"format,omitempty" enum:"jsonl,markdown" default:"jsonl"`
	// only memories of this agent
	AgentID string `json:"agent_id,omitempty" complete:"agent"`
	// only memories with all of these
	Tags []string `json:"tags,omitempty" size:"tag"`
	// meta.next_page_token of the page before
	PageToken string `json:"page_token,omitempty" means:"token" size:"token"`
	tool.AsOf
}

// An exportOut is the output of memory_export: one page. Memories is the number of memories on the
// page; the other items are not counted.
type exportOut struct {
	tool.Aside `json:"-"`
	Format     string `json:"format"`
	// on this page
	Memories int `json:"memories"`
	// the command line writes them instead
	Files []exportFile `json:"files"`
}

// An exportFile is one file of an export, or one part of a file. Part is the number of the part,
// from 1; it is 0 for a file that is never split. The parts of a file, joined in order, are its
// content.
type exportFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// for a file in several pieces: the number of this piece, from 1; concatenate them
	Part int `json:"part,omitempty"`
}

// export returns the tool that exports memories, as JSON lines or as one Markdown file for each
// memory.
func (f tools) export() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "memory_export", Short: "export", Family: Family, Title: "Export memories",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/memories/export"},
		Commands: []tool.Command{{Words: "memory export"}},
		Output:   &tool.Files{Arg: "files", Body: "content", Any: true, Single: true},
	}, f.exportMemories)
}

// mostExported is the maximum size of a page in bytes, before its content is encoded as JSON
// strings of the answer. A single larger memory is still exported.
const mostExported = 1 << 20

// exportMemories returns one page of an export. All pages are of the version of the first page,
// which the page token contains. So changes during an export have no effect on it, and the position
// in it can be a number of items: their order is the same for every page.
func (f tools) exportMemories(ctx context.Context, c auth.Caller, in exportIn) (exportOut, error) {
	out := exportOut{Format: in.Format, Files: []exportFile{}}
	at, err := readExportPosition(in.PageToken)
	if err != nil {
		return out, err
	}
	if at.version > 0 { // all pages are of one version
		in.AsOf = tool.AsOf{AsOf: eventlog.Version(at.version)}
	}
	v, err := f.view(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return out, err
	}
	e := &exporter{view: v, out: &out, in: &in, at: at}
	e.at.version = v.Index.Version()
	more, err := e.page(ctx)
	if err != nil {
		return out, err
	}
	out.Note("version", v.Version())
	out.Note("count", out.Memories)
	out.Note("has_more", more)
	if more {
		out.Note("next_page_token", tool.Token(e.at.String()))
	}
	return out, nil
}

// An exportPosition is the position at which a page begins: the version of all pages, the number of
// items in the earlier pages, and the number of the last part of memories.jsonl. The zero value is
// the start of an export of the newest version.
type exportPosition struct {
	version uint64 // 0: not chosen yet
	skip    int    // items in the earlier pages
	part    int    // number of the last part of memories.jsonl
}

// String returns the position as the key of a page token: "version:skip:part", in decimal.
func (p exportPosition) String() string {
	return fmt.Sprintf("%d:%d:%d", p.version, p.skip, p.part)
}

// readExportPosition parses a page token. An empty token is the zero exportPosition, the start. A
// token of another list is INVALID_QUERY.
func readExportPosition(token string) (p exportPosition, err error) {
	key, err := tool.ReadToken("page_token", token, Family)
	if err != nil || key == "" {
		return p, err
	}
	if n, err := fmt.Sscanf(key, "%d:%d:%d", &p.version, &p.skip, &p.part); n != 3 || err != nil || p.skip < 0 {
		return p, state.OtherList(Family)
	}
	return p, nil
}

// An exporter builds one page of an export. An item is encoded before it is known whether it fits
// on the page: only then is its size known. If it does not fit, it is dropped, and the next page
// encodes it again.
type exporter struct {
	view
	out *exportOut
	in  *exportIn
	at  exportPosition // the position, which moves with each item

	size  int    // bytes of the items on the page
	lines []byte // the part of memories.jsonl on the page
}

// page fills the output, and reports whether more pages follow. It skips the items of the earlier
// pages without reading their values. The first item of a page is added even if it alone exceeds
// mostExported, because otherwise the export would never end.
func (e *exporter) page(ctx context.Context) (more bool, err error) {
	n, first := 0, e.at.skip
	for thing, err := range e.items(ctx) {
		if err != nil {
			return false, err
		}
		if n++; n <= e.at.skip {
			continue
		}
		file, size, err := thing()
		if err != nil {
			return false, err
		}
		if e.size += size; e.size > mostExported && n-1 > first { // the item begins the next page
			more = true
			break
		}
		if file.Path != "" {
			e.out.Files = append(e.out.Files, file)
		}
		e.at.skip = n
	}
	if len(e.lines) > 0 {
		e.at.part++
		e.out.Files = append(e.out.Files, exportFile{linesFile, string(e.lines), e.at.part})
	}
	return more, nil
}

// An encodeItem encodes one exported item and returns its size in bytes. The result is a file or,
// for an item that it adds as a line of memories.jsonl, the zero exportFile. It is a function, so
// that the items of earlier pages can be skipped without being encoded.
type encodeItem func() (exportFile, int, error)

// items yields the exported items in an order that an import accepts: agents, memories by age,
// links, chapters, wisdom. The format markdown has only the memories. With a filter, agents,
// chapters and wisdom are omitted, because they can contain more than the filter selects.
//
// Links follow all memories, because an import accepts a link only if both of its memories exist.
//
// The context is checked before each memory and its links, but not for the other kinds, of which a
// vault has few items.
func (e *exporter) items(ctx context.Context) iter.Seq2[encodeItem, error] {
	filter := memory.Filter{Agent: e.in.AgentID, Tags: e.in.Tags}
	whole := filter.Agent == "" && len(filter.Tags) == 0
	return func(yield func(encodeItem, error) bool) {
		lines, going := e.in.Format == formatLines, state.KeepGoing(ctx)
		if lines && whole && !each(e, yield, memory.KindAgent, e.memories.Agents()) {
			return
		}
		for c := range e.memories.Oldest() {
			if !going() {
				yield(nil, ctx.Err())
				return
			}
			if filter.Has(c) && !yield(func() (exportFile, int, error) { return e.memory(ctx, c) }, nil) {
				return
			}
		}
		if !lines {
			return
		}
		for c := range e.memories.Oldest() {
			if !going() {
				yield(nil, ctx.Err())
				return
			}
			l := e.memories.Links(c.ID).Links
			if filter.Has(c) && len(l.Targets()) > 0 &&
				!yield(func() (exportFile, int, error) { return e.line(memory.KindLinks, c.ID, l) }, nil) {
				return
			}
		}
		if whole && each(e, yield, memory.KindChapter, e.memories.Chapters()) {
			each(e, yield, memory.KindWisdom, e.memories.AllWisdom())
		}
	}
}

// each yields items that are stored as one value. It reports whether the consumer wants more. The
// index contains their values, so it reads nothing from the log.
func each[T any](
	e *exporter, yield func(encodeItem, error) bool, kind string, all iter.Seq[*memory.Item[T]],
) bool {
	for k := range all {
		if !yield(func() (exportFile, int, error) { return e.line(kind, k.ID, k.Value) }, nil) {
			return false
		}
	}
	return true
}

// line encodes an item and adds it as a line, if it fits on the page. The size is returned in
// either case, without the line break. The line is the value with two members added, its kind and
// its id; see memory.Line.
func (e *exporter) line(kind, id string, value any) (exportFile, int, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return exportFile{}, 0, err
	}
	data, err := tool.Marshal(memory.Line{Kind: kind, ID: id, Value: raw})
	if err != nil {
		return exportFile{}, 0, err
	}
	if e.size+len(data) <= mostExported || len(e.lines) == 0 {
		e.lines = append(append(e.lines, data...), '\n')
	}
	return exportFile{}, len(data), nil
}

// memory encodes one memory, as a line or as a Markdown file, and counts it if it fits on the page.
// It reads the value of the memory, which the index does not contain. A Markdown file contains the
// outgoing links of the memory; in the format jsonl they are lines of their own.
func (e *exporter) memory(ctx context.Context, c *memory.Card) (exportFile, int, error) {
	m, err := e.Vault.Memory(ctx, c)
	if err != nil {
		return exportFile{}, 0, err
	}
	if e.in.Format == formatLines {
		before := len(e.lines)
		file, size, err := e.line(memory.KindMemory, c.ID, m)
		if len(e.lines) > before {
			e.out.Memories++
		}
		return file, size, err
	}
	text, err := memory.Markdown(c.ID, m, new(e.memories.Links(c.ID).Links))
	if err != nil {
		return exportFile{}, 0, err
	}
	if e.size+len(text) <= mostExported || len(e.out.Files) == 0 {
		e.out.Memories++
	}
	return exportFile{Path: c.FileName(), Content: text}, len(text), nil
}
