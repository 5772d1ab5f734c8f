package raven_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// batchSchema is the schema of the vaults of these tests.
const batchSchema = `types:
  person:
    default_path: people/
    name_field: name
    fields:
      name: {type: string, required: true}
      email: {type: string}
      rating: {type: number, min: 1, max: 5}
  project:
    default_path: projects/
    fields:
      lead: {type: ref, target: person}
traits:
  due: {type: date}
  status: {type: enum, values: [todo, done], default: todo}
`

// batchVault are its files.
var batchVault = map[string]string{
	"schema.yaml":     batchSchema,
	"people/freya.md": "---\ntype: person\nname: Freya\n---\n\n# Freya\n\n- @due(2026-03-05) @id(call) Call [[people/thor]]\n",
	"people/thor.md":  "---\ntype: person\nname: Thor\n---\n\n# Thor\n",
}

// op is an operation of a batch.
func op(name, entity string, data args) args {
	o := args{"op": name, "data": data}
	if entity != "" {
		o["entity"] = entity
	}
	return o
}

// A batchData is the data of an answer.
type batchData struct {
	DryRun  bool `json:"dry_run"`
	Results []struct {
		Index      int
		Op, Entity string
		OK         bool
		Data       json.RawMessage
		Error      *fault.Fault
	}
	RolledBack *bool                           `json:"rolled_back"`
	Files      []struct{ Path, Action string } `json:"would_modify_files"`
}

// TestBatchDoesEverything covers each kind of operation, and that later ones see what earlier ones did.
func TestBatchDoesEverything(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	var data batchData
	e := p.must(t, "raven_batch", args{"operations": list{
		op("create", "object", args{"type": "page", "path": "meetings/planning"}),
		op("create", "trait", args{
			"trait_type": "due", "value": "2026-03-04", "parent_id": "meetings/planning", "content": "@id(agenda) Send agenda"}),
		op("update", "trait", args{"id": "agenda", "set": args{"status": "done"}}),
		op("create", "object", args{"type": "person", "title": "Sif"}),
		op("update", "object", args{"id": "people/sif", "set": args{"email": "s@example.test"}}),
		op("unset", "", args{"id": "people/sif", "unset": list{"email"}}),
		op("add", "", args{"text": "See [[people/sif]]", "to": "meetings/planning"}),
		op("edit", "object", args{"id": "meetings/planning", "old_str": "See", "new_str": "Ask"}),
		op("upsert", "", args{"type": "person", "title": "Freya", "fields": args{"rating": 5}}),
		op("delete", "trait", args{"id": "call"}),
		op("delete", "object", args{"id": "people/thor"}),
		op("move", "", args{"source": "people/sif", "destination": "team/"}),
		op("reclassify", "object", args{"id": "team/sif", "type": "page"}),
	}}, &data)
	require.Len(t, data.Results, 13)
	for i, r := range data.Results {
		require.True(t, r.OK, "operation %d: %v", i, r.Error)
		require.Equal(t, i, r.Index)
		require.NotContains(t, string(r.Data), `"object":`)
	}
	require.Nil(t, data.RolledBack)
	require.EqualValues(t, 13, e.Meta["total_operations"])
	require.EqualValues(t, 13, e.Meta["successful"])
	require.EqualValues(t, 0, e.Meta["failed"])
	texts := p.texts(t)
	require.True(t, strings.HasPrefix(texts["meetings/planning.md"], "---\ntype: page\n---\n"))
	require.Contains(t, texts["meetings/planning.md"], "Ask [[team/sif]]", "the move of a later operation")
	require.Contains(t, texts["meetings/planning.md"], "@status(done)")
	require.NotContains(t, texts, "people/sif.md")
	require.Contains(t, texts["team/sif.md"], "type: page")
	require.NotContains(t, texts["team/sif.md"], "email")
	require.Contains(t, texts["people/freya.md"], "rating: 5")
	require.NotContains(t, texts, "people/thor.md")
	require.EqualValues(t, 3, p.version(t), "the batch is one commit")
}

// An outcome of operations: w is one that works, x is one that fails.
func operations(shape string) (all list) {
	for i, c := range shape {
		if c == 'w' {
			all = append(all, op("create", "object", args{"type": "page", "path": fmt.Sprintf("new/n%d", i)}))
		} else {
			all = append(all, op("update", "object", args{"id": fmt.Sprintf("gone/%d", i), "set": args{"a": "b"}}))
		}
	}
	return all
}

// TestBatchOptions covers each row of the table of options, for every place of failures, with and without a
// repetition under the same key.
func TestBatchOptions(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"www", "xww", "wwx", "xxx", "wxw"} {
		for _, atomic := range []bool{true, false} {
			for _, stop := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s atomic %v stop %v", shape, atomic, stop), func(t *testing.T) {
					t.Parallel()
					testBatchOptions(t, shape, atomic, stop)
				})
			}
		}
	}
}

func testBatchOptions(t *testing.T, shape string, atomic, stop bool) {
	p := open(t, batchVault)
	first := strings.IndexByte(shape, 'x')
	tried, written := shape, strings.Count(shape, "w")
	if first >= 0 && stop {
		tried = shape[:first+1]
		written = first
	}
	if first >= 0 && atomic {
		written = 0
	}
	in := args{"operations": operations(shape), "idempotency_key": "k",
		"options": args{"atomic": atomic, "stop_on_error": stop}}
	before := p.version(t)
	e := p.answer(t, "raven_batch", in)
	var data batchData
	require.NoError(t, json.Unmarshal(e.Data, &data))
	require.Len(t, data.Results, len(tried))
	for i, r := range data.Results {
		require.Equal(t, tried[i] == 'w', r.OK)
		if !r.OK {
			require.Equal(t, fault.NotFound, r.Error.Code)
		}
	}
	require.EqualValues(t, len(shape), e.Meta["total_operations"])
	require.EqualValues(t, strings.Count(tried, "w"), e.Meta["successful"])
	require.EqualValues(t, strings.Count(tried, "x"), e.Meta["failed"])
	if fails := first >= 0 && (atomic || stop); fails {
		require.False(t, e.OK)
		require.Equal(t, fault.BatchFailed, e.Error.Code)
		require.Equal(t, first, *e.Error.FailedAt)
		require.Equal(t, "NOT_FOUND", e.Error.Details["cause"])
		require.Equal(t, atomic, *data.RolledBack)
	} else {
		require.True(t, e.OK)
		require.Nil(t, data.RolledBack)
	}
	made := 0
	for path := range p.texts(t) {
		if strings.HasPrefix(path, "new/") {
			made++
		}
	}
	require.Equal(t, written, made)
	after := p.version(t)
	require.Equal(t, written > 0, after > before)
	require.Equal(t, fmt.Sprintf("v%d", after), e.Meta["version"])

	again := p.answer(t, "raven_batch", in)
	require.Equal(t, e.OK, again.OK)
	require.JSONEq(t, string(e.Data), string(again.Data))
	require.Equal(t, written > 0, again.Meta["replayed"] == true, "nothing written uses no key")
	require.Equal(t, after, p.version(t))
	if e.Error != nil {
		require.Equal(t, e.Error.Message, again.Error.Message)
		require.Equal(t, e.Error.FailedAt, again.Error.FailedAt)
	}
}

// TestBatchPlan covers that a dry run says what the batch then does, and writes nothing.
func TestBatchPlan(t *testing.T) {
	t.Parallel()
	for name, dry := range map[string]args{
		"argument": {"dry_run": true}, "option": {"options": args{"dry_run": true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, batchVault)
			in := args{"operations": operations("www")}
			for k, v := range dry {
				in[k] = v
			}
			var data, ran batchData
			p.must(t, "raven_batch", in, &data)
			require.True(t, data.DryRun)
			require.Len(t, data.Files, 3)
			for _, r := range data.Results {
				require.Contains(t, string(r.Data), "would_create")
				require.NotContains(t, string(r.Data), "would_modify_files")
			}
			require.EqualValues(t, 2, p.version(t))
			p.must(t, "raven_batch", args{"operations": operations("www")}, &ran)
			for i, r := range ran.Results {
				var planned struct {
					Create struct{ ID string } `json:"would_create"`
				}
				var made struct{ ID string }
				require.NoError(t, json.Unmarshal(data.Results[i].Data, &planned))
				require.NoError(t, json.Unmarshal(r.Data, &made))
				require.Equal(t, planned.Create.ID, made.ID)
			}
			e := p.answer(t, "raven_batch", args{"operations": operations("wx"), "dry_run": true, "atomic": false})
			require.Equal(t, fault.BatchFailed, e.Error.Code)
		})
	}
}

// TestBatchRefused covers what is refused before anything runs.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	many := list{}
	for range 101 {
		many = append(many, operations("w")...)
	}
	page := args{"type": "page", "path": "x"}
	for name, c := range map[string]struct {
		in       args
		code     fault.Code
		failedAt int
		cause    string
	}{
		"nothing":         {in: args{"operations": list{}}, code: fault.MissingRequired},
		"too many":        {in: args{"operations": many}, code: fault.BatchTooLarge},
		"said twice":      {in: args{"operations": operations("w"), "atomic": true, "options": args{"atomic": false}}, code: fault.InvalidValue},
		"dry said twice":  {in: args{"operations": operations("w"), "dry_run": true, "options": args{"dry_run": false}}, code: fault.InvalidValue},
		"unknown op":      {in: args{"operations": list{op("create", "object", page), op("make", "object", page)}, "atomic": false}, code: fault.BatchFailed, failedAt: 1, cause: "INVALID_VALUE"},
		"no entity":       {in: args{"operations": list{op("create", "", page)}}, code: fault.BatchFailed, cause: "MISSING_REQUIRED"},
		"wrong entity":    {in: args{"operations": list{op("create", "file", page)}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"add of a trait":  {in: args{"operations": list{op("add", "trait", args{"text": "x"})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"data is a list":  {in: args{"operations": list{args{"op": "add", "data": list{}}}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"data is null":    {in: args{"operations": list{args{"op": "add", "data": nil}}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"unknown in data": {in: args{"operations": list{op("create", "object", args{"type": "page", "pth": "x"})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"vault in data":   {in: args{"operations": list{op("create", "object", args{"type": "page", "path": "x", "vault": "v"})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"erase in data":   {in: args{"operations": list{op("delete", "object", args{"id": "people/thor", "erase": true})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"query in data":   {in: args{"operations": list{op("update", "object", args{"query": "type:person", "set": args{"rating": 1}})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"move of nothing": {in: args{"operations": list{op("move", "", args{"destination": "x/"})}}, code: fault.BatchFailed, cause: "MISSING_REQUIRED"},
		"move of a trait": {in: args{"operations": list{op("move", "trait", args{"source": "call", "destination": "x/"})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"key in data":     {in: args{"operations": list{op("delete", "object", args{"id": "people/thor", "idempotency_key": "k"})}}, code: fault.BatchFailed, cause: "INVALID_VALUE"},
		"missing in data": {in: args{"operations": list{op("create", "object", args{"path": "x"})}}, code: fault.BatchFailed, cause: "MISSING_REQUIRED"},
		"nothing to set":  {in: args{"operations": list{op("update", "object", args{"id": "people/thor"})}}, code: fault.BatchFailed, cause: "MISSING_REQUIRED"},
		"no edit":         {in: args{"operations": list{op("edit", "", args{"id": "people/thor"})}}, code: fault.BatchFailed, cause: "MISSING_REQUIRED"},
	} {
		before := p.version(t)
		e := p.answer(t, "raven_batch", c.in)
		require.False(t, e.OK, name)
		require.Equal(t, c.code, e.Error.Code, "%s: %s", name, e.Error.Message)
		if c.code == fault.BatchFailed {
			require.Equal(t, c.failedAt, *e.Error.FailedAt, name)
			require.Equal(t, c.cause, e.Error.Details["cause"], name)
		}
		require.Equal(t, before, p.version(t), name)
	}
}

// TestBatchNamesWhatExists requires the names of a refused operation that exist in its result.
func TestBatchNamesWhatExists(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	page := args{"type": "page", "path": "x"}
	var data batchData
	e := p.answer(t, "raven_batch", args{"operations": list{
		op("create", "", page), op("create", "file", page), op("make", "object", page), op("add", "trait", page),
	}})
	require.NoError(t, json.Unmarshal(e.Data, &data))
	var got []string
	for _, r := range data.Results {
		got = append(got, r.Op+" "+r.Entity)
	}
	require.Equal(t, []string{"create ", "create ", " object", "add trait"}, got)
}

// TestBatchNetFiles requires that files which a batch creates and removes again are neither in its plan nor
// among the changed files.
func TestBatchNetFiles(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	in := args{"operations": list{
		op("create", "object", args{"type": "page", "path": "a"}),
		op("move", "", args{"source": "a", "destination": "b"}),
		op("create", "object", args{"type": "page", "path": "c"}),
		op("delete", "object", args{"id": "c"}),
	}}
	var data batchData
	plan := maps.Clone(in)
	plan["dry_run"] = true
	p.must(t, "raven_batch", plan, &data)
	require.Len(t, data.Files, 1)
	require.Equal(t, "b.md create", data.Files[0].Path+" "+data.Files[0].Action)
	e := p.must(t, "raven_batch", in, nil)
	require.Equal(t, "b.md", e.Meta["file_modified"])
	require.Equal(t, []any{"b.md", ".trash/c.md"}, e.Meta["files_modified"])
}

// TestBatchIfVersion covers that a batch is CONFLICT where what it names has changed, whatever else is wrong.
func TestBatchIfVersion(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	p.must(t, "raven_set", args{"id": "people/thor", "set": args{"email": "t@example.test"}}, nil)
	in := func(id string) args {
		return args{"if_version": "v2", "operations": list{
			op("update", "object", args{"id": id, "set": args{"rating": 9}}),
			op("update", "object", args{"id": id, "set": args{"email": "x@example.test"}}),
		}}
	}
	require.Equal(t, fault.Conflict, p.answer(t, "raven_batch", in("people/thor")).Error.Code)
	require.Equal(t, fault.BatchFailed, p.answer(t, "raven_batch", in("people/freya")).Error.Code)
}

// TestBatchWarnsByOperation covers that warnings name their operation, and that an operation warns of its own
// references only.
func TestBatchWarnsByOperation(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	e := p.must(t, "raven_batch", args{"operations": list{
		op("add", "", args{"text": "one [[people/sif]]", "to": "people/freya"}),
		op("add", "", args{"text": "two", "to": "people/freya"}),
		op("add", "", args{"text": "three [[people/hel]]", "to": "people/freya"}),
	}}, nil)
	require.Len(t, e.Warnings, 2)
	require.EqualValues(t, 0, e.Warnings[0].Fields["index"])
	require.EqualValues(t, 2, e.Warnings[1].Fields["index"])
	require.Equal(t, "people/hel", e.Warnings[1].Fields["ref"])
}

// TestBatchStateIsThatOfTheLog covers that the state after random batches, some of whose operations fail, is to the
// byte the one that a rebuild from the log makes.
func TestBatchStateIsThatOfTheLog(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := open(t, batchVault)
		for range 6 {
			all := list{}
			for i := range 12 {
				id := fmt.Sprintf("notes/n%d", r.IntN(3))
				all = append(all, []any{
					op("create", "object", args{"type": "page", "path": id, "content": "# A\n\n## B\n\n- @due(2026-03-01) one\n"}),
					op("delete", "object", args{"id": id}),
					op("create", "trait", args{"trait_type": "due", "value": "today", "parent_id": id, "content": "same"}),
					op("create", "trait", args{"trait_type": "due", "value": "today", "parent_id": id + "#b", "content": fmt.Sprint("task", i)}),
					op("edit", "", args{"id": id, "old_str": "## B", "new_str": "## C"}),
					op("edit", "", args{"id": id, "old_str": "## C", "new_str": "## B"}),
					op("edit", "", args{"id": id, "old_str": "one", "new_str": "@id(pin) one"}),
					op("add", "", args{"to": id, "text": "@due(tomorrow) same [[notes/n1#b]]"}),
					op("move", "", args{"source": id, "destination": fmt.Sprintf("notes/n%d", r.IntN(3))}),
					op("move", "", args{"source": id, "destination": "Notes/N1"}),
					op("reclassify", "", args{"id": id, "type": []string{"person", "page"}[r.IntN(2)], "fields": args{"name": "N"}}),
				}[r.IntN(11)])
			}
			p.answer(t, "raven_batch", args{"operations": all, "atomic": false, "stop_on_error": false})
		}
		live, err := p.vault(t).Read(t.Context())
		require.NoError(t, err)
		again, err := p.vault(t).Rebuild(t.Context(), true)
		require.NoError(t, err)
		require.Equal(t, again.AppendImage(nil), live.AppendImage(nil), "seed %d", seed)
	}
}

// TestBatchIsWholeUnderFaults covers that a batch of 100 operations is written as a whole or not at all, when a
// call of the store fails before or after it has an effect, and that a repetition with the same key has one effect.
func TestBatchIsWholeUnderFaults(t *testing.T) {
	t.Parallel()
	const most = 6 // more calls of the table than a batch makes
	for n := 1; n <= most; n++ {
		for _, kind := range []tabletest.Fault{tabletest.Before, tabletest.After} {
			p := open(t, batchVault)
			inner := p.table
			p.serve(t)
			p.version(t) // the calls of a start are not counted
			flaky := tabletest.NewFlaky(inner, tabletest.At(n, kind))
			p.table = switched{inner, flaky}.table()
			p.serve(t)
			all := list{}
			for i := range 100 {
				all = append(all, op("create", "object", args{"type": "page", "path": fmt.Sprintf("new/n%03d", i)}))
			}
			in := args{"operations": all, "idempotency_key": "k"}
			e := p.answer(t, "raven_batch", in)
			p.table = inner
			p.serve(t)
			made := strings.Count(strings.Join(paths(p.texts(t)), "\n"), "new/")
			require.Contains(t, []int{0, 100}, made, "fault %v at %d", kind, n)
			if e.OK {
				require.Equal(t, 100, made)
			}
			require.True(t, p.answer(t, "raven_batch", in).OK)
			require.Equal(t, 100, strings.Count(strings.Join(paths(p.texts(t)), "\n"), "new/"))
		}
	}
}

// switched is a table and the one that stands in for it.
type switched struct{ inner, outer table.Table }

func (s switched) table() table.Table { return s.outer }

func paths(texts map[string]string) (all []string) {
	for path := range texts {
		all = append(all, path)
	}
	return all
}

// TestBatchesRace covers that batches which run at once are each whole, on the same notes and on others.
func TestBatchesRace(t *testing.T) {
	t.Parallel()
	p := open(t, batchVault)
	const batches = 8
	var running sync.WaitGroup
	for i := range batches {
		running.Go(func() {
			e := p.answer(t, "raven_batch", args{"operations": list{
				op("add", "", args{"text": fmt.Sprintf("first of %d", i), "to": "people/thor"}),
				op("create", "object", args{"type": "page", "path": fmt.Sprintf("own/%d", i)}),
				op("add", "", args{"text": fmt.Sprintf("second of %d", i), "to": "people/thor"}),
			}})
			require.True(t, e.OK, "%v", e.Error)
		})
	}
	running.Wait()
	texts := p.texts(t)
	for i := range batches {
		require.Contains(t, texts, fmt.Sprintf("own/%d.md", i))
		require.Contains(t, texts["people/thor.md"], fmt.Sprintf("- first of %d\n- second of %d\n", i, i),
			"what one batch adds is together")
	}
	var won, lost int
	var mu sync.Mutex
	for range batches {
		running.Go(func() {
			e := p.answer(t, "raven_batch", args{"operations": list{
				op("delete", "object", args{"id": "own/0"}), op("create", "object", args{"type": "page", "path": "only/one"}),
			}})
			mu.Lock()
			defer mu.Unlock()
			if e.OK {
				won++
			} else {
				lost++
				require.Equal(t, fault.BatchFailed, e.Error.Code)
			}
		})
	}
	running.Wait()
	require.Equal(t, 1, won)
	require.Equal(t, batches-1, lost)
}

// FuzzBatch covers that no input makes a batch fail in a way that the tool does not know, and that a dry run writes
// nothing. Each operation has a result, or the batch says at which it stopped.
func FuzzBatch(f *testing.F) {
	p := open(f, batchVault)
	for _, s := range []string{
		`[{"op":"create","entity":"object","data":{"type":"page","path":"a/b"}},{"op":"move","data":{"source":"a/b","destination":"c/"}}]`,
		`[{"op":"update","entity":"trait","data":{"id":"call","value":"today"}},{"op":"delete","entity":"object","data":{"id":"people/thor"}}]`,
		`[{"op":"edit","data":{"id":"people/freya","edits":[{"old_str":"Call","new_str":"[[x]]"}]}},{"op":"unset","data":{"id":"people/freya","unset":["name"]}}]`,
		`[{"op":"upsert","data":{"type":"person","title":"\u0000","content":"---"}},{"op":"reclassify","data":{"id":"people/thor","type":"page","force":true}}]`,
		`[{"op":"add","data":{"text":"@due(x) [[a|b]]","to":"people/freya#freya"}},{"op":"create","entity":"trait","data":{"trait_type":"due","value":[1],"parent_id":"people/thor","content":"\n"}}]`,
		`[]`, `{}`, `null`, `[{"op":1}]`, `[{"op":"add","data":{"text":{"a":[[[]]]}}}]`,
	} {
		f.Add(s, true, true)
		f.Add(s, false, false)
	}
	f.Fuzz(func(t *testing.T, operations string, atomic, stop bool) {
		if !json.Valid([]byte(operations)) {
			t.Skip()
		}
		before := p.version(t)
		e := p.answer(t, "raven_batch", args{
			"operations": json.RawMessage(operations), "atomic": atomic, "stop_on_error": stop, "dry_run": true,
		})
		require.Equal(t, before, p.version(t))
		if e.Error != nil {
			require.NotEqual(t, fault.Internal, e.Error.Code)
		}
		var data batchData
		if len(e.Data) > 0 {
			require.NoError(t, json.Unmarshal(e.Data, &data))
		}
		for i, r := range data.Results {
			require.True(t, r.OK != (r.Error != nil), "operation %d", i)
		}
	})
}

// FuzzLog covers that no arguments make the log fail in a way that the tool does not know, and that what one page shows
// the next does not show again.
func FuzzLog(f *testing.F) {
	p := open(f, batchVault)
	p.must(f, "raven_set", args{"id": "people/thor", "set": args{"email": "t@example.test"}}, nil)
	for _, s := range []string{
		`{"all":true}`, `{"since":"yesterday","until":"2026-13-01"}`, `{"id":"people/thor#x"}`, `{"op":"erase","entity":"file"}`,
		`{"path":"/","actor":"\u0000","type":"person"}`, `{"until":"past","as_of":"v1"}`, `{"page_token":"t1.","limit":0}`, `{}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		var in args
		if json.Unmarshal([]byte(arguments), &in) != nil || in == nil {
			t.Skip()
		}
		in["limit"] = 2
		type page struct {
			Entries []json.RawMessage
		}
		seen := map[string]bool{}
		for range 20 {
			e := p.answer(t, "raven_log", in)
			if e.Error != nil {
				require.NotEqual(t, fault.Internal, e.Error.Code)
				return
			}
			var data page
			require.NoError(t, json.Unmarshal(e.Data, &data))
			for _, entry := range data.Entries {
				require.False(t, seen[string(entry)], "%s", entry)
				seen[string(entry)] = true
			}
			next, _ := e.Meta["next_page_token"].(string)
			if next == "" {
				return
			}
			in["page_token"] = next
		}
	})
}
