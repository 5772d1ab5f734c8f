package localapp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// BenchmarkErase measures the time until a note is erased with its history, in a data directory
// with 10,000 notes of which 1,000 were changed since. The goal is one second, if nothing else
// runs. Of consecutive erasures, each but the first waits for the image that the one before it made
// necessary.
func BenchmarkErase(b *testing.B) {
	const notes, changes = 10_000, 1000
	cfg := localapp.Config{Data: b.TempDir()}
	app, err := openApp(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	ids := fillVault(b, local{app}, notes)
	var clients sync.WaitGroup
	for client := range 64 {
		clients.Go(func() {
			for i := client; i < changes; i += 64 {
				must(b, local{app}, "raven_set", args{"id": ids[i], "set": args{"remark": fmt.Sprint("s", i)}})
			}
		})
	}
	clients.Wait()
	if err := app.Close(); err != nil {
		b.Fatal(err)
	}
	if app, err = openApp(b.Context(), cfg); err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	via := local{app}
	i := 0
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			settle(b)
			b.StartTimer()
			eraseWhole(b, via, ids[i])
			i++
		}
	})
	b.Run("in a row", func(b *testing.B) {
		for b.Loop() {
			eraseWhole(b, via, ids[i])
			i++
		}
	})
}

// fillVault creates the vault v with notes of the corpus, and returns the ids of those that have
// fields.
func fillVault(b *testing.B, via local, notes int) (ids []string) {
	b.Helper()
	must(b, via, "team_vault_create", args{"name": "v"})
	files, size := map[string]string{}, 0
	flush := func() {
		put(b, via, files)
		clear(files)
		size = 0
	}
	for f := range corpus.Vault(1, notes) {
		if size += len(f.Text); size > 2<<20 || len(files) == 1000 {
			flush()
		}
		files[f.Path] = f.Text
		if id, isNote := strings.CutSuffix(f.Path, ".md"); isNote && !strings.HasPrefix(f.Path, "daily/") {
			ids = append(ids, id)
		}
	}
	flush()
	return ids
}

// eraseWhole erases a note, and waits for its job.
func eraseWhole(b *testing.B, via local, id string) {
	b.Helper()
	type state struct{ ID, State string }
	var erased struct{ Job state }
	answer := must(b, via, "raven_delete", args{"id": id, "erase": true, "force": true})
	require.NoError(b, json.Unmarshal(answer.Data, &erased))
	for job := erased.Job; job.State != "done"; {
		time.Sleep(10 * time.Millisecond)
		answer = must(b, via, "team_job_get", args{"id": job.ID})
		require.NoError(b, json.Unmarshal(answer.Data, &job))
	}
}
