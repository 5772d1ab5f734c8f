package localapp_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tool"
)

// The variables that make the test binary serve this data directory, or this folder with its state
// in that directory, instead of running tests.
const (
	dataVariable   = "ROOKERY_LOCALAPP_DATA"
	folderVariable = "ROOKERY_LOCALAPP_FOLDER"
	stateVariable  = "ROOKERY_LOCALAPP_STATE"
	publicVariable = "ROOKERY_LOCALAPP_PUBLIC" // its public URL, if it has one
)

func TestMain(m *testing.M) {
	cfg := localapp.Config{
		Data: os.Getenv(dataVariable), Folder: os.Getenv(folderVariable),
		State: os.Getenv(stateVariable), Server: config.Config{
			PublicURL: os.Getenv(publicVariable), Limits: config.Limits{MutationsPerMinute: 1000},
		},
	}
	if cfg.Data == "" && cfg.Folder == "" {
		os.Exit(cloudtest.Main(m))
	}
	if err := serveForEver(cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveForEver serves a directory or a folder and announces its address, until its input ends.
func serveForEver(cfg localapp.Config) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	app, err := openApp(ctx, cfg)
	if err != nil {
		return err
	}
	l, err := localapp.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return errors.Join(app.Serve(ctx, l, "test"), app.Close())
}

// A child is another process that serves a data directory, or a folder.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	url string
}

func startChild(t *testing.T, dir string) *child {
	t.Helper()
	return startChildWith(t, dataVariable+"="+dir)
}

// startChildWith starts a child with additional variables in its environment.
func startChildWith(t *testing.T, env ...string) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, in: in}
	t.Cleanup(func() { c.kill() })
	c.url, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "the child did not begin to serve")
	c.url = strings.TrimSpace(c.url)
	return c
}

// kill ends the child with SIGKILL, and waits until it has ended.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be gone already
	_ = c.cmd.Wait()
}

// stop lets the child end normally.
func (c *child) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, c.in.Close())
	require.NoError(t, c.cmd.Wait())
}

// A killedWrite is one write by a client of a killed server. Its word is in no other write.
type killedWrite struct {
	kind  string // set, add, edit, new, delete, import, batch
	word  string
	key   string
	note  string // of set, add and edit: one of the standing notes; else a note of its own
	acked bool
}

// kinds are the kinds of writes, by frequency. A delete creates its note first.
var kinds = []string{"set", "set", "add", "add", "add", "edit", "new", "delete", "import", "batch", "batch"}

// standing are the notes to which all rounds write.
var standing = []string{"items/a", "items/b", "items/c", "items/d"}

// batchSize is the number of notes in an import of the kill test. They are too large for an item of
// the table even when they are compressed, so a payload object must exist before the commit.
const batchSize = 5

// do makes the call of the write; nil is an acknowledgement.
func (d *killedWrite) do(ctx context.Context, via tool.Invoker) error {
	in := args{"id": d.note}
	if d.key != "" {
		in["idempotency_key"] = d.key
	}
	name := "raven_" + d.kind
	switch d.kind {
	case "set":
		in["set"] = args{"value": d.word}
	case "add":
		in["to"], in["text"] = d.note, d.word
		delete(in, "id")
	case "edit":
		in["old_str"], in["new_str"] = "- begin\n", "- begin\n- edit "+d.word+"\n"
	case "new":
		in["type"], in["title"], in["path"] = "item", d.word, d.note
		delete(in, "id")
	case "batch":
		in["operations"] = d.operations()
		delete(in, "id")
	case "import":
		name = "team_vault_import"
		in["notes"] = listOf(d.batch())
		delete(in, "id")
	}
	_, err := call(ctx, via, name, in)
	return err
}

// batch returns the notes of an import.
func (d *killedWrite) batch() map[string]string {
	files := map[string]string{}
	for i := range batchSize {
		text := d.word + "\n"
		for len(text) < 8<<10 {
			text += fmt.Sprintf("%x\n", sha256.Sum256([]byte(text)))
		}
		files[fmt.Sprintf("%s/%02d.md", d.note, i)] = text
	}
	return files
}

// batchNotes is the number of notes that a batch of the kill test creates, each with a line that a
// second operation adds.
const batchNotes = 5

// operations returns the operations of a batch.
func (d *killedWrite) operations() []args {
	var all []args
	for i := range batchNotes {
		path := fmt.Sprintf("%s/%02d", d.note, i)
		all = append(all,
			args{"op": "create", "entity": "object", "data": args{"type": "item", "title": d.word, "path": path}},
			args{"op": "add", "data": args{"text": d.word, "to": path}})
	}
	return all
}

// newKilledWrite returns a random write. Only the end of the server can make it fail.
func newKilledWrite(word string) *killedWrite {
	d := &killedWrite{kind: kinds[rand.N(len(kinds))], word: word, note: "own/" + word}
	switch d.kind {
	case "set", "add", "edit":
		d.note = standing[rand.N(len(standing))]
	}
	if rand.N(2) == 0 {
		d.key = "key of " + word
	}
	return d
}

// killDuringWrites lets clients write to a child, and kills it when so many of their writes are acknowledged,
// whatever the state of the others.
func killDuringWrites(t *testing.T, dir string, round int, atLeast int) []*killedWrite {
	t.Helper()
	c := startChild(t, dir)
	via := client(c.url)
	var mu sync.Mutex
	var deeds []*killedWrite
	var clients sync.WaitGroup
	acks := make(chan struct{}, 1000)
	for id := range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				d := newKilledWrite(fmt.Sprintf("r%02d-c%d-%03d", round, id, i))
				mu.Lock()
				deeds = append(deeds, d)
				mu.Unlock()
				if !write(t, via, d) {
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
	return deeds
}

// write makes a write, and reports whether the server is alive.
func write(t *testing.T, via tool.Invoker, d *killedWrite) bool {
	if d.kind == "delete" {
		made := *d
		made.kind, made.key = "new", ""
		if made.do(context.Background(), via) != nil {
			d.kind, d.key = "new", "" // it came to nothing more
			return false
		}
	}
	err := d.do(context.Background(), via)
	d.acked = err == nil
	if err != nil && !fault.Is(err, fault.Unavailable) {
		t.Errorf("%s %s: %v", d.kind, d.word, err)
	}
	return d.acked
}

// TestKilled repeatedly kills a server to which many clients write, on one data directory. Each
// acknowledged write exists once, no import is partial, no file is incomplete, and the folder has
// the state of the log (issue 3, §3.2). With ROOKERY_SOAK it is killed three times as often.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 16
	if soaked() {
		rounds = 50
	}
	app, dir := openVault(t)
	files := map[string]string{"schema.yaml": soakSchema}
	for _, id := range standing {
		files[id+".md"] = noteState{value: "none", token: "none"}.text()
	}
	put(t, local{app}, files)
	require.NoError(t, app.Close())
	var all []*killedWrite
	for round := range rounds {
		deeds := killDuringWrites(t, dir, round, 1+rand.N(8))
		all = append(all, deeds...)
		app := open(t, dir)
		requireRepeated(t, local{app}, deeds)
		requireTold(t, local{app}, dir, all)
		if round%10 == 0 {
			requireIntact(t, local{app})
		}
		require.NoError(t, app.Close())
	}
	acked := 0
	for _, d := range all {
		if d.acked {
			acked++
		}
	}
	app = open(t, dir)
	requireIntact(t, local{app})
	require.NoError(t, app.Close())
	t.Logf("%d deeds, of which %d were acknowledged", len(all), acked)
	requireInStep(t, dir)
}

// requireRepeated repeats the writes that have a key and an unknown outcome. They are acknowledged
// then.
func requireRepeated(t *testing.T, via tool.Invoker, deeds []*killedWrite) {
	t.Helper()
	for _, d := range deeds {
		if d.acked || d.key == "" {
			continue
		}
		require.NoError(t, d.do(t.Context(), via), "%+v", d)
		d.acked = true
	}
}

// requireTold compares the log, the texts and the files with the acknowledged writes.
func requireTold(t *testing.T, via tool.Invoker, dir string, deeds []*killedWrite) {
	t.Helper()
	told := export(t, via)
	found := told
	if !asleepNow() {
		found = folder(t, folderOf(dir))
	}
	audit := auditOf(t, told[".raven/audit.log"])
	for path, text := range told {
		if path != ".raven/audit.log" { // which follows within a second
			require.True(t, text == found[path], "%s is not what the log says", path)
		}
	}
	repotest.TakeAudit(found)
	for path := range found {
		_, ok := told[path]
		require.True(t, ok || strings.HasPrefix(path, ".trash/"), "%s is no file of a note", path)
	}
	for _, d := range deeds {
		d.require(t, found, audit) // the findings are the acknowledged writes
	}
}

// requireIntact requires that the log verifies, and that no file of ours is taken for an edit or is
// missing.
func requireIntact(t *testing.T, via tool.Invoker) {
	t.Helper()
	told := into[reindexed](t, must(t, via, "raven_reindex", args{"full": true}))
	require.Empty(t, told.Errors)
	require.Zero(t, told.touched())
}

// auditOf returns the events of an audit log, by operation and id, and how often each value was
// set. It requires that no event exists twice.
func auditOf(t *testing.T, log string) map[string]int {
	t.Helper()
	counts, seen := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(log) {
		var a auditLine
		require.NoError(t, json.Unmarshal([]byte(line), &a), line)
		key := a.Version + " " + a.Op + " " + a.ID
		require.False(t, seen[key], "%s is told twice", key)
		seen[key] = true
		counts[a.Op+" "+a.ID]++
		var value struct{ New string }
		if raw, ok := a.Changes["value"]; ok {
			require.NoError(t, json.Unmarshal(raw, &value))
			counts["value "+value.New]++
		}
	}
	return counts
}

// require requires that a write took effect once if it was acknowledged; otherwise at most once, and
// completely.
func (d *killedWrite) require(t *testing.T, files map[string]string, audit map[string]int) {
	t.Helper()
	n := 0
	switch d.kind {
	case "set":
		n = audit["value "+d.word]
	case "add":
		n = strings.Count(files[d.note+".md"], "- "+d.word+"\n")
	case "edit":
		n = strings.Count(files[d.note+".md"], "- edit "+d.word+"\n")
	case "new":
		n = audit["create "+d.note]
		require.Equal(t, n == 1, files[d.note+".md"] != "", d.word)
	case "delete":
		n = audit["delete "+d.note]
		require.Equal(t, n == 0, files[d.note+".md"] != "", d.word)
		if !asleepNow() { // an export has no trash
			require.Equal(t, n == 1, files[".trash/"+d.note+".md"] != "", d.word)
		}
	case "batch":
		there := 0
		for i := range batchNotes {
			path := fmt.Sprintf("%s/%02d.md", d.note, i)
			require.Equal(t, files[path] != "", strings.Contains(files[path], "- "+d.word+"\n"), path)
			if files[path] != "" {
				there++
			}
		}
		require.Contains(t, []int{0, batchNotes}, there, "half of a batch is there")
		n = audit["create "+d.note+"/00"]
		require.Equal(t, n == 1, there == batchNotes)
	case "import":
		there := 0
		for path, text := range d.batch() {
			if files[path] == text {
				there++
			}
			require.Equal(t, files[path] != "", files[path] == text, path)
		}
		require.Contains(t, []int{0, batchSize}, there, "half of an import is there")
		n = audit["create "+d.note+"/00"]
		require.Equal(t, n == 1, there == batchSize)
	}
	if d.acked {
		require.Equal(t, 1, n, "%s %s was acknowledged", d.kind, d.word)
	}
	require.LessOrEqual(t, n, 1, "%s %s", d.kind, d.word)
}
