package memory_test

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/memory"
)

var (
	agents = []string{"ann", "bob", "agent_1"}
	tags   = []string{"auth", "jwt", "ünï", "a b"}
	files  = []string{"src/auth.ts", "src/oauth.ts", "./src/a/auth.ts", `src\win.ts`, "/src/auth.ts", "auth.ts", "src/a/b.go"}
	tasks  = []memory.TaskType{"bug_fix", "refactor", "other"}
)

// A world is an index and what it must say, as a plain list.
type world struct {
	x     *memory.Index
	seq   uint64
	clock int64
	all   map[string]*memory.Memory
	links map[string]*memory.Links
	born  map[string]int
}

func newWorld() *world {
	return &world{
		x: memory.Empty(), clock: 1_700_000_000_000, all: map[string]*memory.Memory{},
		links: map[string]*memory.Links{}, born: map[string]int{},
	}
}

func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// commit takes one commit in.
func (w *world) commit(changes ...memory.Change) {
	w.seq++
	for i := range changes {
		changes[i].Position = i
		changes[i].Place = memory.Place{Run: w.seq, Part: i}
	}
	w.x = w.x.With(memory.Commit{Seq: w.seq, Time: w.clock, Changes: changes})
}

// put stores or changes a memory.
func (w *world) put(id string, m *memory.Memory) memory.Change {
	if w.all[id] == nil {
		w.born[id] = len(w.born)
	}
	w.all[id] = m
	return memory.Change{Kind: memory.KindMemory, ID: id, Value: encoded(m)}
}

func drawMemory(t *rapid.T, at int64) *memory.Memory {
	m := &memory.Memory{
		V: 1, Agent: rapid.SampledFrom(agents).Draw(t, "agent"), Principal: "p",
		Session: rapid.SampledFrom([]string{memory.NoSession, "s1", "s2"}).Draw(t, "session"), Created: at,
		Intent:  memory.Intent{Goal: "goal", TaskType: rapid.SampledFrom(tasks).Draw(t, "task")},
		Outcome: memory.Outcome{Success: rapid.Bool().Draw(t, "success"), Summary: "came"},
		Tags:    rapid.SliceOfN(rapid.SampledFrom(tags), 0, 3).Draw(t, "tags"),
		// few, so that many are equal
		Importance: float64(rapid.IntRange(0, 2).Draw(t, "importance")) / 2,
	}
	for _, f := range rapid.SliceOfN(rapid.SampledFrom(files), 0, 3).Draw(t, "files") {
		m.Actions = append(m.Actions, memory.Action{Type: "file_edit", FilePath: f})
	}
	if rapid.IntRange(0, 3).Draw(t, "verified") == 0 {
		m.Outcome.VerifiedBy = &memory.Verification{Type: "test", Result: "ok"}
		m.Key = "k" + fmt.Sprint(at)
	}
	return m
}

// step makes one commit of any kind.
func (w *world) step(t *rapid.T) {
	ids := slices.Sorted(func(yield func(string) bool) {
		for id := range w.all {
			if !yield(id) {
				return
			}
		}
	})
	w.clock += int64(rapid.IntRange(0, 2).Draw(t, "passes"))
	kind := rapid.IntRange(0, 9).Draw(t, "what")
	if len(ids) == 0 {
		kind = 0
	}
	switch {
	case kind < 4:
		id := fmt.Sprintf("mem_%04x", rapid.IntRange(0, 1<<16-1).Draw(t, "id"))
		if w.all[id] == nil {
			w.commit(w.put(id, drawMemory(t, w.clock)))
		}
	case kind < 6:
		id := rapid.SampledFrom(ids).Draw(t, "changed")
		m := drawMemory(t, w.all[id].Created)
		m.Agent = w.all[id].Agent
		w.commit(w.put(id, m))
	case kind < 9:
		id := rapid.SampledFrom(ids).Draw(t, "source")
		l := &memory.Links{V: 1}
		for _, kind := range memory.LinkKinds() {
			for _, to := range rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, 2, rapid.ID[string]).Draw(t, kind) {
				if to != id {
					l.Add(kind, to)
				}
			}
		}
		w.links[id] = l
		w.commit(memory.Change{Kind: memory.KindLinks, ID: id, Value: encoded(l)})
	default:
		id := rapid.SampledFrom(ids).Draw(t, "gone")
		delete(w.all, id)
		delete(w.links, id)
		w.commit(memory.Change{Kind: memory.KindMemory, ID: id, Deleted: true},
			memory.Change{Kind: memory.KindLinks, ID: id, Deleted: true})
	}
}

// TestAsTheNaive holds that lookups, links and counters are those that going through everything gives, and that an
// image is the same index, to the byte.
func TestAsTheNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.step(t)
		}
		again, err := memory.ReadImage(string(w.x.AppendImage(nil)))
		require.NoError(t, err)
		require.Equal(t, w.x.AppendImage(nil), again.AppendImage(nil))
		require.Equal(t, w.x.Size(), again.Size())
		for _, x := range []*memory.Index{w.x, again} {
			w.requireFilters(t, x)
			w.requireFiles(t, x)
			w.requireLinks(t, x)
			w.requireTallies(t, x)
		}
	})
}

// sorted are ids in the order of rank.
func (w *world) sorted(has func(id string, m *memory.Memory) bool) []string {
	ids := []string{}
	for id, m := range w.all {
		if has(id, m) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		m, n := w.all[a], w.all[b]
		switch {
		case m.Importance != n.Importance:
			return sign(n.Importance - m.Importance)
		case m.Created != n.Created:
			return sign(float64(n.Created - m.Created))
		}
		ca, _ := w.x.Card(a)
		cb, _ := w.x.Card(b)
		return sign(float64(cb.Birth) - float64(ca.Birth))
	})
	return ids
}

func sign(f float64) int {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

func idsOf(all []*memory.Card) []string {
	ids := []string{}
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	return ids
}

func (w *world) requireFilters(t *rapid.T, x *memory.Index) {
	yes := true
	for _, f := range []memory.Filter{
		{}, {Agent: "ann"}, {TaskType: "refactor"}, {Tags: []string{"auth"}}, {Success: &yes},
		{Tags: []string{"jwt", "auth"}, Agent: "bob"}, {Since: w.clock - 3}, {Before: w.clock - 3, TaskType: "other"},
	} {
		want := w.sorted(func(_ string, m *memory.Memory) bool {
			return (f.Agent == "" || m.Agent == f.Agent) && (f.TaskType == "" || m.Intent.TaskType == f.TaskType) &&
				memory.HasTags(m.Tags, f.Tags) && (f.Success == nil || m.Outcome.Success) &&
				(f.Since == 0 || m.Created >= f.Since) && (f.Before == 0 || m.Created <= f.Before)
		})
		require.Equal(t, want, idsOf(slices.Collect(x.Ranked(f))), "%+v", f)
	}
	for id, m := range w.all {
		if m.Key != "" {
			c, ok := x.ByKey("p", m.Key)
			require.True(t, ok)
			require.Equal(t, m.Key, w.all[c.ID].Key, id)
		}
	}
}

// requireFiles compares the memories of files with those that going through all paths finds.
func (w *world) requireFiles(t *rapid.T, x *memory.Index) {
	for _, asked := range append([]string{"src/", "b.go", "/repo/src/auth.ts", "src/*.ts", "src/**", "nothing"}, files...) {
		clean := memory.CleanPath(asked)
		matches := func(p string) bool {
			switch {
			case p == clean:
				return false
			case strings.HasSuffix(clean, "/"):
				return strings.HasPrefix(p, clean)
			case strings.Contains(clean, "**"):
				return strings.HasPrefix(p, "src/")
			case strings.Contains(clean, "*"):
				ok, _ := path.Match(clean, p)
				return ok
			}
			return strings.HasSuffix(p, "/"+clean) || strings.HasSuffix(clean, "/"+p)
		}
		for exact, is := range map[bool]func(string) bool{true: func(p string) bool { return p == clean }, false: matches} {
			want := w.sorted(func(_ string, m *memory.Memory) bool {
				return slices.ContainsFunc(m.Files(), func(f memory.FileUse) bool { return is(memory.CleanPath(f.Path)) })
			})
			got := []string{}
			for _, m := range x.OfFile(asked, exact) {
				got = append(got, m.ID)
			}
			require.Equal(t, want, got, "%q %v", asked, exact)
		}
	}
}

func (w *world) requireLinks(t *rapid.T, x *memory.Index) {
	for id := range w.all {
		own := w.links[id]
		if own == nil {
			own = &memory.Links{}
		}
		has := func(list []string, wanted func(l *memory.Links) []string, out []string) {
			want := map[string]bool{}
			for _, to := range out {
				if w.all[to] != nil {
					want[to] = true
				}
			}
			for source, l := range w.links {
				if wanted != nil && w.all[source] != nil && slices.Contains(wanted(l), id) {
					want[source] = true
				}
			}
			require.Len(t, list, len(want))
			for _, to := range list {
				require.True(t, want[to])
			}
		}
		s := x.AllLinks(id)
		has(s.CausedBy, func(l *memory.Links) []string { return l.LedTo }, own.CausedBy)
		has(s.LedTo, func(l *memory.Links) []string { return l.CausedBy }, own.LedTo)
		has(s.RelatedTo, func(l *memory.Links) []string { return l.RelatedTo }, own.RelatedTo)
		has(s.Supersedes, nil, own.Supersedes)
		has(s.SupersededBy, func(l *memory.Links) []string { return l.Supersedes }, nil)
		has(s.BlockedBy, nil, own.BlockedBy)
		has(s.Blocks, func(l *memory.Links) []string { return l.BlockedBy }, nil)
	}
}

func (w *world) requireTallies(t *rapid.T, x *memory.Index) {
	require.Equal(t, len(w.all), x.Len())
	for _, agent := range agents {
		count, successes := 0, 0
		for _, m := range w.all {
			if m.Agent == agent {
				count++
				if m.Outcome.Success {
					successes++
				}
			}
		}
		tally := x.Tally(agent)
		require.Equal(t, []int{count, successes}, []int{tally.Memories, tally.Successes})
		require.Len(t, slices.Collect(x.NewestOf(agent, "")), count)
	}
}

// TestOldStays holds that an index does not change when another is made of it.
func TestOldStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		var indexes []*memory.Index
		var images [][]byte
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			w.step(t)
			indexes, images = append(indexes, w.x), append(images, w.x.AppendImage(nil))
		}
		for i, x := range indexes {
			require.Equal(t, images[i], x.AppendImage(nil))
		}
	})
}

// TestDamagedImage holds that no bytes make an image panic or take much memory.
func TestDamagedImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			w.step(t)
		}
		image := w.x.AppendImage(nil)
		at := rapid.IntRange(0, len(image)-1).Draw(t, "at")
		image[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		_, _ = memory.ReadImage(string(image))
		_, err := memory.ReadImage(string(image[:at]))
		if at > 0 {
			require.Error(t, err)
		}
	})
}

// TestTraceOfACycle holds that a trace of a thousand memories in a circle ends.
func TestTraceOfACycle(t *testing.T) {
	w := newWorld()
	const n = 1000
	id := func(i int) string { return fmt.Sprintf("mem_%04d", (i+n)%n) }
	for i := range n {
		m := &memory.Memory{Agent: "ann", Intent: memory.Intent{Goal: "g"}, Created: int64(i)}
		w.commit(w.put(id(i), m))
	}
	for i := range n {
		w.commit(memory.Change{Kind: memory.KindLinks, ID: id(i), Value: encoded(memory.Links{CausedBy: []string{id(i - 1)}})})
	}
	require.Len(t, w.x.Trace(id(0), 10, true, false), 10)
	require.Len(t, w.x.Trace(id(0), n, true, true), n-1)
}

func TestLinkIDs(t *testing.T) {
	require.Equal(t, memory.LinkID("a", memory.CausedBy, "b"), memory.LinkID("b", memory.LedTo, "a"))
	require.NotEqual(t, memory.LinkID("a", memory.CausedBy, "b"), memory.LinkID("b", memory.CausedBy, "a"))
	require.Regexp(t, `^link_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		memory.LinkID("a", memory.RelatedTo, "b"))
}

func TestMerge(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":{"b":1,"c":[1,2]}}`, `{"a":{"c":[3]}}`, `{"a":{"b":1,"c":[3]}}`},
		{`{"a":1,"b":2}`, `{"a":null}`, `{"b":2}`},
		{`{"a":1}`, `{"a":{"b":null,"c":9007199254740993}}`, `{"a":{"c":9007199254740993}}`},
		{`{"a":"<"}`, `{}`, `{"a":"<"}`},
	} {
		got, err := memory.Merge([]byte(c[0]), []byte(c[1]))
		require.NoError(t, err)
		require.Equal(t, c[2], string(got))
	}
}

// TestMarkdownAgain holds that a memory as Markdown is the same when it is read again.
func TestMarkdownAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMemory(t, 1_700_000_000_000)
		m.Intent.Goal = rapid.String().Draw(t, "goal")
		m.Outcome.Summary = rapid.String().Draw(t, "summary") + "\n---\n: \"x\""
		text, err := memory.Markdown("mem_1", m, &memory.Links{CausedBy: []string{"mem_2"}})
		require.NoError(t, err)
		line, ok, err := memory.FromMarkdown(text)
		require.NoError(t, err)
		require.True(t, ok)
		b, err := memory.ReadLine(line)
		require.NoError(t, err)
		got := &memory.Memory{}
		require.NoError(t, b.Decode(got))
		require.Equal(t, string(encoded(m)), string(encoded(got)))
		require.Equal(t, []string{"mem_2"}, b.Links.CausedBy)
	})
}
