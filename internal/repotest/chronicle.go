package repotest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A chronicle is a vault with a random history, and what was true at each of its versions.
type chronicle struct {
	t *testing.T
	Engine
	clock  *Clock
	r      *rand.Rand
	author Author
	calls  int
	did    map[string]int // by event

	live   *repo.Vault   // tells of every commit; it is made anew now and then
	others []*repo.Vault // processes that stand still for long, and write now and then
	keyed  []keyedCall

	mu    sync.Mutex
	told  []telling         // by version; the first is that of the empty vault
	asked map[uint64]string // the answers of a version when it was the newest
}

// A telling is what was true of a version.
type telling struct {
	image  []byte // of the index
	commit []byte // in JSON
	time   time.Time
}

// A keyedCall is a call with an idempotency key that made a commit.
type keyedCall struct {
	change
	seq  uint64
	made time.Time
}

// follower is the consumer whose cursor a process begins behind that tells of commits.
const follower = "follower"

func newChronicle(t *testing.T, e Engine, seed uint64) *chronicle {
	p := newPlace(e, fmt.Sprint("one state ", seed), nil)
	c := &chronicle{
		t: t, Engine: p.Engine, clock: p.clock, r: rand.New(rand.NewPCG(seed, 0)),
		asked: map[uint64]string{}, did: map[string]int{},
		told: []telling{{image: index.Empty().AppendImage(nil)}},
	}
	c.author = NewAuthor(c.r)
	c.live = c.process(0)
	call := eventlog.Call{Who: eventlog.Who{Principal: "ann"}, Tool: "create", Request: []byte("create")}
	require.NoError(t, c.live.Create(t.Context(), call, []eventlog.Note{
		{Path: vault.SchemaFile, Text: []byte(c.author.Schema())},
	}))
	for range 2 {
		c.others = append(c.others, c.fresh())
	}
	return c
}

// fresh opens the vault as a process of its own would, that tells nobody of commits. It keeps few past
// states, so that they are made anew.
func (c *chronicle) fresh() *repo.Vault {
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "v", Part: Part, Table: c.Table, Bucket: c.Bucket, Now: c.clock.Now,
		Texts: repo.NewTexts(1 << 17), Pasts: repo.NewSnapshotCache(1), ImageItems: c.Items,
	})
	require.NoError(c.t, err)
	return v
}

// process opens the vault as one that tells of each commit behind a cursor.
func (c *chronicle) process(from uint64) *repo.Vault {
	v := c.fresh()
	v.Follow(teller{c}, from)
	return v
}

// version is the newest version that was told of.
func (c *chronicle) version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(len(c.told) - 1)
}

// A teller keeps what commits came to. One that it is told of again has to come to the same.
type teller struct{ *chronicle }

var _ repo.Follower = teller{}

// Guard implements repo.Follower.
func (teller) Guard(context.Context, vault.Path, *index.File) error { return nil }

// Settled implements repo.Follower.
func (teller) Settled(context.Context) {}

// Unread implements repo.Follower.
func (teller) Unread(string) (repo.LeftFile, bool) { return repo.LeftFile{}, false }

// Applied implements repo.Follower.
func (l teller) Applied(_, after *index.Index, commit *eventlog.Commit) {
	told := telling{after.AppendImage(nil), commitJSON(l.t, commit), commit.Time}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch n := uint64(len(l.told)); {
	case commit.Seq == n:
		l.told = append(l.told, told)
	case commit.Seq > n:
		l.t.Errorf("told of v%d, but not of v%d", commit.Seq, n)
	default:
		was := l.told[commit.Seq]
		if !bytes.Equal(was.commit, told.commit) || !bytes.Equal(was.image, told.image) {
			l.t.Errorf("v%d came to something else when it was told of again:\n%s\n%s\n%s",
				commit.Seq, was.commit, told.commit, difference(was.image, after))
		}
	}
}

// commitJSON is all that a commit says.
func commitJSON(t *testing.T, c *eventlog.Commit) []byte {
	data, err := json.Marshal(c)
	if err != nil {
		t.Errorf("encode commit %d: %v", c.Seq, err)
	}
	return data
}
