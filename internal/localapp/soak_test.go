package localapp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tool"
)

// soakClients write at once, soakEdits each. ROOKERY_SOAK=1 runs them all.
const (
	soakClients = 64
	soakEdits   = 100
)

func edits() int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return soakEdits
	}
	return soakEdits / 5
}

const soakSchema = `version: 1
types:
  item:
    default_path: items/
    name_field: title
    fields:
      title: { type: string }
      value: { type: string }
`

// A noteState is the model of one note: when it changed, and its content.
type noteState struct {
	version uint64
	reads   int      // that have seen it so
	value   string   // of the field
	token   string   // a word in the text that edits exchange for another
	lines   []string // added at the end
}

// text returns the whole file of a note in this state.
func (s noteState) text() string {
	return "---\ntype: item\ntitle: Item\nvalue: " + s.value + "\n---\n\n# Item\n\ntoken=" +
		s.token + ".\n\n- begin\n" + strings.Join(s.lines, "")
}

// The kinds of calls of the soak.
const (
	opRead = iota
	opSet
	opAdd
	opEdit
)

// An op is one call on one note.
type op struct {
	kind      int
	note      string
	word      string // the word that it writes, and no other op
	old       string // of an edit: the token that it replaces
	ifVersion uint64
	key       string
}

// An outcome is the answer to an op.
type outcome struct {
	code    fault.Code // empty: it succeeded
	version uint64
	line    int    // of an add
	text    string // of a read

	// What follows from the versions of all answers: the acknowledged write of the same note before
	// this op and, for a write, how many reads saw its effect. Without it the search for an order
	// would have too many cases.
	before uint64
	reads  int
}

// model returns the model of one note, created at a version. Versions are part of the contract, so
// writes are linearized in their order: each follows the acknowledged one before it.
func model(made uint64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return noteState{version: made, value: "none", token: "none"} },
		Step: func(state, in, out any) (bool, any) {
			return step(state.(noteState), in.(op), out.(outcome))
		},
		Equal: func(a, b any) bool {
			one, other := a.(noteState), b.(noteState)
			return one.version == other.version && one.reads == other.reads
		},
	}
}

// step reports whether a note in this state can give this answer, and returns its next state.
func step(s noteState, in op, out outcome) (bool, noteState) {
	stale := in.ifVersion != 0 && s.version > in.ifVersion
	switch {
	case out.code == fault.Conflict:
		return stale, s
	case out.code == fault.InvalidValue:
		return in.kind == opEdit && in.old != s.token, s
	case in.kind == opRead:
		ok := out.before == s.version && out.text == s.text()
		s.reads++
		return ok, s
	case stale || out.before != s.version || out.reads != s.reads || out.code != "":
		return false, s
	}
	next := s
	next.version, next.reads = out.version, 0
	switch in.kind {
	case opSet:
		next.value = in.word
	case opAdd:
		next.lines = append(slices.Clip(s.lines), "- "+in.word+"\n")
		return out.line == strings.Count(next.text(), "\n"), next
	case opEdit:
		next.token = in.word
		return s.token == in.old, next
	}
	return true, next
}

// do makes the call of an op.
func (o op) do(ctx context.Context, i tool.Invoker) (outcome, bool, error) {
	in := args{"id": o.note}
	if o.ifVersion != 0 {
		in["if_version"] = fmt.Sprintf("v%d", o.ifVersion)
	}
	if o.key != "" {
		in["idempotency_key"] = o.key
	}
	name := "raven_read"
	switch o.kind {
	case opRead:
		in = args{"path": o.note}
	case opSet:
		name, in["set"] = "raven_set", args{"value": o.word}
	case opAdd:
		name, in["to"], in["text"] = "raven_add", o.note, o.word
		delete(in, "id")
	case opEdit:
		name, in["old_str"], in["new_str"] = "raven_edit", "token="+o.old+".", "token="+o.word+"."
	}
	a, err := call(ctx, i, name, in)
	if err != nil {
		return outcome{code: fault.Of(err).Code}, false, nil
	}
	var data struct {
		Content string
		Line    int
	}
	if err := json.Unmarshal(a.Data, &data); err != nil {
		return outcome{}, false, err
	}
	out := outcome{line: data.Line, text: data.Content}
	_, err = fmt.Sscanf(a.Meta.Version, "v%d", &out.version)
	return out, a.Meta.Replayed, err
}

// A recorder records the observations of the clients.
type recorder struct {
	mu    sync.Mutex
	start time.Time
	ops   map[string][]porcupine.Operation // by note
}

func (r *recorder) add(client int, o op, called time.Duration, out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops[o.note] = append(r.ops[o.note], porcupine.Operation{
		ClientId: client, Input: o, Output: out,
		Call: called.Nanoseconds(), Return: time.Since(r.start).Nanoseconds(),
	})
}

// A soaker is one client of the soak.
type soaker struct {
	id    int
	notes []string
	via   tool.Invoker
	rec   *recorder
	rng   *rand.Rand

	token   map[string]string // as last read, by note
	version map[string]uint64 // as last seen, by note
}

// run makes n edits, with reads between them.
func (s *soaker) run(ctx context.Context, n int) error {
	for i := range n {
		o := op{note: s.notes[s.rng.IntN(len(s.notes))]}
		if i%4 == 0 || s.token[o.note] == "" {
			if err := s.do(ctx, o); err != nil {
				return err
			}
		}
		o.kind = opSet + s.rng.IntN(3)
		o.word = fmt.Sprintf("c%02d-%03d", s.id, i)
		o.old = s.token[o.note]
		if s.rng.IntN(4) == 0 {
			o.ifVersion = s.version[o.note]
		}
		if s.rng.IntN(3) == 0 {
			o.key = "key of " + o.word
		}
		if err := s.do(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// do makes a call and records it. A call with a key is repeated, afterwards or concurrently: it has
// one effect and one answer.
func (s *soaker) do(ctx context.Context, o op) error {
	called := time.Since(s.rec.start)
	out, err := s.answered(ctx, o)
	if err != nil {
		return err
	}
	if o.kind == opRead && out.code != "" {
		return fmt.Errorf("read %s: %s", o.note, out.code)
	}
	s.rec.add(s.id, o, called, out)
	if out.code == "" {
		s.version[o.note] = out.version
	}
	if o.kind == opRead {
		_, rest, _ := strings.Cut(out.text, "token=")
		s.token[o.note], _, _ = strings.Cut(rest, ".")
	}
	return nil
}

func (s *soaker) answered(ctx context.Context, o op) (outcome, error) {
	if o.key == "" {
		out, _, err := o.do(ctx, s.via)
		return out, err
	}
	type result struct {
		out      outcome
		replayed bool
		err      error
	}
	twin := make(chan result, 1)
	go func() {
		out, replayed, err := o.do(ctx, s.via)
		twin <- result{out, replayed, err}
	}()
	out, replayed, err := o.do(ctx, s.via)
	other := <-twin
	switch {
	case err != nil || other.err != nil:
		return out, fmt.Errorf("a call with a key: %w, %w", err, other.err)
	case out.code != "": // both were refused, or its twin found another state
		return other.out, nil
	case other.out.code != "":
		return out, nil
	case out != other.out:
		return out, fmt.Errorf("twins differ: %+v and %+v", out, other.out)
	case replayed == other.replayed:
		return out, fmt.Errorf("of twins one is the first: %v, %v", replayed, other.replayed)
	}
	return out, nil
}

// TestNothingLost lets many clients edit one note, and many notes, over HTTP. Every acknowledged
// edit is in the text, in the log and in the index; no refused one is; and the observations of each
// note's clients are linearizable.
func TestNothingLost(t *testing.T) {
	t.Parallel()
	for name, notes := range map[string][]string{
		"one note":   {"items/one"},
		"many notes": {"items/a", "items/b", "items/c", "items/d", "items/e", "items/f", "items/g"},
	} {
		t.Run(name, func(t *testing.T) {
			app, dir := openVault(t)
			via, stop := serve(t, app)
			files := map[string]string{"schema.yaml": soakSchema}
			fresh := noteState{value: "none", token: "none"}
			for _, id := range notes {
				files[id+".md"] = fresh.text()
			}
			made := put(t, via, files).version(t)
			rec := &recorder{start: time.Now(), ops: map[string][]porcupine.Operation{}}
			soak(t, rec, via, notes)
			texts := map[string]string{}
			for _, id := range notes {
				texts[id] = requireNothingLost(t, via, id, made, rec.ops[id])
			}
			stop()
			require.NoError(t, app.Close())
			found := stored(t, dir)
			for id, text := range texts {
				require.Equal(t, text, found[id+".md"])
			}
			requireAudited(t, repotest.TakeAudit(found), rec.ops)
			app = open(t, dir)
			opened(t, app)
			for id, text := range texts {
				require.Equal(t, text, read(t, local{app}, id))
			}
			require.NoError(t, app.Close())
		})
	}
}

// opened waits until the vault's log is read. A call during a longer reading is UNAVAILABLE, and
// the reading continues.
func opened(t *testing.T, app *localapp.App) {
	t.Helper()
	for range 10 {
		_, err := call(t.Context(), local{app}, "raven_stats", nil)
		if !fault.Is(err, fault.Unavailable) {
			require.NoError(t, err)
			return
		}
	}
	require.Fail(t, "the vault does not open")
}

// soak runs all clients to their end.
func soak(t *testing.T, rec *recorder, via tool.Invoker, notes []string) {
	t.Helper()
	failed := make(chan error, soakClients)
	for id := range soakClients {
		s := &soaker{
			id: id, notes: notes, via: via, rec: rec, rng: rand.New(rand.NewPCG(1, uint64(id))),
			token: map[string]string{}, version: map[string]uint64{},
		}
		go func() { failed <- s.run(t.Context(), edits()) }()
	}
	for range soakClients {
		require.NoError(t, <-failed)
	}
}

// requireNothingLost compares the observations of the clients of a note with each other, and with
// its text at the end.
func requireNothingLost(
	t *testing.T, via tool.Invoker, id string, made uint64, ops []porcupine.Operation,
) string {
	t.Helper()
	written := chain(made, ops)
	counts := map[fault.Code]int{}
	for _, o := range ops {
		counts[o.Output.(outcome).code]++
	}
	t.Logf("%s: %d writes, answers by code %v", id, len(written), counts)
	require.NotEmpty(t, written)
	result := porcupine.CheckOperationsTimeout(model(made), ops, 10*time.Minute)
	require.Equal(t, porcupine.Ok, result, "%s is not linearizable", id)

	last := noteState{version: made, value: "none", token: "none"}
	for _, o := range written {
		last.reads = o.Output.(outcome).reads
		ok, next := step(last, o.Input.(op), o.Output.(outcome))
		require.True(t, ok, "%+v", o)
		last = next
	}
	require.Equal(t, last.text(), read(t, via, id))
	object := into[struct {
		Object struct{ Fields map[string]any }
	}](t, must(t, via, "raven_object_get", args{"id": id})).Object
	require.Equal(t, last.value, object.Fields["value"])
	listed := into[struct{ Items []struct{ ID string } }](t,
		must(t, via, "raven_object_list", args{"type": "item", "field": args{"value": last.value}}))
	require.Contains(t, listed.Items, struct{ ID string }{id})
	return last.text()
}

// chain sets the acknowledged write before each op, and returns the writes in the order of their
// versions.
func chain(made uint64, ops []porcupine.Operation) []porcupine.Operation {
	versions, reads := []uint64{made}, map[uint64]int{}
	for _, o := range ops {
		if out := o.Output.(outcome); out.code == "" && o.Input.(op).kind != opRead {
			versions = append(versions, out.version)
		}
	}
	slices.Sort(versions)
	for i, o := range ops {
		out := o.Output.(outcome)
		at, found := slices.BinarySearch(versions, out.version)
		if isRead := o.Input.(op).kind == opRead; !isRead && at > 0 {
			out.before = versions[at-1]
		} else if isRead {
			if !found {
				at--
			}
			out.before = versions[at]
			reads[out.before]++
		}
		ops[i].Output = out
	}
	return writes(ops, reads)
}

// writes returns the acknowledged writes by version, each with the number of reads before it.
func writes(ops []porcupine.Operation, reads map[uint64]int) []porcupine.Operation {
	var all []porcupine.Operation
	for i, o := range ops {
		if out := o.Output.(outcome); out.code == "" && o.Input.(op).kind != opRead {
			out.reads = reads[out.before]
			ops[i].Output = out
			all = append(all, ops[i])
		}
	}
	slices.SortFunc(all, func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Output.(outcome).version, b.Output.(outcome).version)
	})
	return all
}

// An auditLine is one line of the audit log, with the members that the soak uses.
type auditLine struct {
	Op, ID, Version string
	Changes         map[string]json.RawMessage
}

// requireAudited requires that the log has each acknowledged write once, and nothing else.
func requireAudited(t *testing.T, log string, ops map[string][]porcupine.Operation) {
	t.Helper()
	told := map[string]auditLine{}
	for line := range strings.Lines(log) {
		var a auditLine
		require.NoError(t, json.Unmarshal([]byte(line), &a))
		if a.Op == "update" {
			require.NotContains(t, told, a.Version, "two updates of one note in a commit")
			told[a.Version] = a
		}
	}
	for id, all := range ops {
		for _, o := range all {
			in, out := o.Input.(op), o.Output.(outcome)
			if in.kind == opRead || out.code != "" {
				require.False(t, in.word != "" && strings.Contains(log, in.word), in.word)
				continue
			}
			version := fmt.Sprintf("v%d", out.version)
			line := told[version]
			require.Equal(t, id, line.ID, version)
			if in.kind == opSet {
				require.Contains(t, string(line.Changes["value"]), `"new":"`+in.word+`"`)
			}
			delete(told, version)
		}
	}
	require.Empty(t, told, "nobody was told of these writes")
}
