package localapp_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// noon is the time at every place: a Saturday.
var noon = time.Date(2025, 2, 1, 14, 30, 0, 0, time.UTC)

// Canaries stand in the texts and fields of the fixture. No failure and no log line may hold one.
const (
	textCanary  = leaktest.Text
	fieldCanary = leaktest.Field
)

// fixture is the vault `main` of every place.
var fixture = map[string]string{
	"schema.yaml": `version: 1
types:
  person:
    description: Somebody
    default_path: people/
    name_field: name
    fields:
      name: { type: string, required: true }
      email: { type: string }
      phone: { type: string }
      company: { type: ref, target: company }
      tags: { type: "string[]" }
    traits: [due, priority]
  company:
    default_path: companies/
    name_field: name
    fields:
      name: { type: string, required: true }
  meeting:
    fields:
      time: { type: datetime }
      attendees: { type: "ref[]", target: person }
    traits: [due]
  project:
    default_path: projects/
    name_field: title
    fields:
      title: { type: string, required: true }
      status: { type: enum, values: [planned, active, done], default: planned }
      lead: { type: ref, target: person, required: true }
      started: { type: date }
    default_template: plan
  book:
    default_path: books/
    fields:
      title: { type: string, required: true }
      rating: { type: number, min: 1, max: 5 }
      read: { type: bool }
traits:
  due: { type: date, description: When it has to be done }
  priority: { type: enum, values: [low, medium, high], default: medium }
templates:
  plan: { file: templates/plan.md }
  gone: { file: templates/gone.md }
`,
	"raven.yaml":        "daily_directory: daily\nqueries:\n  tasks: { types: [project], traits: [due] }\n",
	"templates/plan.md": "# {{title}}\n\nBegun {{date}}.\n",
	"people/alice.md": "---\ntype: person\nname: Alice # the first\nemail: quokka@example.test\n" +
		"phone: \"555\"\ntags: [engineering, platform]\n---\n\n# Alice\n\nKeeps a zebrafinch.\n\n" +
		"## Notes\n\n- Likes tea\n\n### Deep\n\nHidden.\n\n## Tasks\n\n- twice\n- twice\n",
	"people/bob.md":       "---\ntype: person\nname: Bob\n---\n\n# Bob\n",
	"people/windows.md":   "\ufeff---\r\ntype: person\r\nname: Win\r\n---\r\n\r\n# Win\r\n\r\n- a\r\n",
	"projects/mill.md":    "---\ntype: project\ntitle: Mill\nlead: \"[[people/alice]]\"\n---\n# Mill\n",
	"projects/canal.md":   "---\ntype: project\ntitle: Canal\nstatus: active\nlead: \"[[people/bob]]\"\n---\n# Canal\n",
	"meetings/plan.md":    "---\ntype: meeting\ntime: 2025-02-01T14:00\nattendees: [\"[[people/alice]]\"]\n---\n# Planning\n",
	"daily/2025-01-31.md": "---\ntype: date\n---\n\n# Friday, January 31, 2025\n\n- @due(2025-02-03) zebrafinch\n",
	"inbox.md":            "# Inbox\n\n- a line\n",
	"broken.md":           "---\ntype: [person\n---\n\nzebrafinch\n",
	"ünï/코드.md":           "# Kode\n",
}

// A place is a data directory with the fixture that is open and served.
type place struct {
	dir  string
	app  *localapp.App
	base string // URL of the server
	logs *lockedBuffer
}

// A lockedBuffer is safe for concurrent writes.
type lockedBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func atNoon() time.Time { return noon }

// allTools are the tools of the product without data: their descriptions can be used, but they
// cannot be called.
var allTools = sync.OnceValue(func() []*tool.Tool { return localapp.Tools(nil) })

// newPlace opens a place.
func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), logs: &lockedBuffer{}}
	app, err := openApp(t.Context(), localapp.Config{
		Data: p.dir, Now: atNoon,
		Log: leaktest.Logger(t, p.logs),
	})
	require.NoError(t, err)
	p.app = app
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	writeFixture(t, p.catalogue())
	handler := app.Handler("1.2.3", nil)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p.base = server.URL
	return p
}

// catalogue returns an Invoker that calls the tools of the place as the local principal.
func (p *place) catalogue() tool.Invoker {
	return tooltest.As(p.app.Catalogue, auth.LocalCaller())
}

// writeFixture writes the fixture to a data directory.
func writeFixture(t testing.TB, inv tool.Invoker) {
	t.Helper()
	done(t, inv, "team_vault_create", map[string]any{"name": "main"})
	done(t, inv, "team_vault_import", map[string]any{"vault": "main", "notes": notesOf(fixture)})
}

// notesOf returns files in the form for an import.
func notesOf(files map[string]string) []map[string]string {
	var notes []map[string]string
	for _, path := range slices.Sorted(maps.Keys(files)) {
		notes = append(notes, map[string]string{"path": path, "text": files[path]})
	}
	return notes
}

// done calls a tool that must succeed.
func done(t testing.TB, inv tool.Invoker, name string, in map[string]any) json.RawMessage {
	t.Helper()
	raw, err := tool.Marshal(in)
	require.NoError(t, err)
	answer, err := inv.Invoke(t.Context(), name, raw)
	require.NoError(t, err, "%s %s: %s", name, raw, answer)
	return answer
}

// A wayIn is one way in, at a place that it creates when it is needed.
type wayIn struct {
	name string
	open func(t testing.TB) *entrance
}

// An entrance is a way in to a place of its own.
type entrance struct {
	way   tooltest.Way
	other tooltest.Way // carries every call
	dir   string
	logs  *lockedBuffer
}

// call makes a call over the way, or over the other way if this one does not support the call.
func (e *entrance) call(t testing.TB, c tooltest.Call) json.RawMessage {
	t.Helper()
	answer, carried := e.way.Call(t, c)
	if !carried {
		answer, carried = e.other.Call(t, c)
		require.True(t, carried)
	}
	return answer
}

// state returns the versions of the tenant and its vaults, and all files of the vaults.
func (e *entrance) state(t testing.TB) (string, map[string]string) {
	t.Helper()
	versions, _ := e.other.Call(t, tooltest.NewCall(t, "team_vault_list", ""))
	require.Empty(t, tooltest.CodeOf(t, versions))
	return tooltest.Comparable(versions), filesIn(t, e.dir)
}

// waysIn returns all ways in to the product. The first one supports every call.
func waysIn() []wayIn {
	over := func(name string, way func(t testing.TB, p *place) tooltest.Way) wayIn {
		return wayIn{name, func(t testing.TB) *entrance {
			p := newPlace(t)
			other := tooltest.Invoking("catalogue", p.catalogue())
			return &entrance{way(t, p), other, p.dir, p.logs}
		}}
	}
	return []wayIn{
		over("catalogue", func(_ testing.TB, p *place) tooltest.Way {
			return tooltest.Invoking("catalogue", p.catalogue())
		}),
		{"package", openPackage},
		over("http", func(_ testing.TB, p *place) tooltest.Way {
			return tooltest.Invoking("http", &httptool.Client{Base: p.base})
		}),
		over("http route", func(_ testing.TB, p *place) tooltest.Way {
			return tooltest.Routes(p.app.Catalogue, p.base)
		}),
		over("mcp", func(t testing.TB, p *place) tooltest.Way {
			c := tooltest.NewMCPClient(p.base+mcptool.Path+"/x/all", nil)
			t.Cleanup(func() { _ = c.Close() }) // its server is about to stop, too
			return tooltest.Invoking("mcp", c)
		}),
		over("mcp set", func(t testing.TB, p *place) tooltest.Way {
			return tooltest.Set(t, p.app.Catalogue, p.base)
		}),
		over("cli", func(_ testing.TB, p *place) tooltest.Way {
			return tooltest.Commands(allTools(),
				tooltest.InProcess(p.app.Catalogue, auth.LocalCaller()))
		}),
		over("cli --input", func(_ testing.TB, p *place) tooltest.Way {
			return tooltest.Inputs(allTools(), tooltest.Served(p.base))
		}),
	}
}

// openPackage is the way through the package that other modules import.
func openPackage(t testing.TB) *entrance {
	dir, logs := t.TempDir(), &lockedBuffer{}
	r, err := rookery.Open(t.Context(), rookery.Config{
		Data: dir, Now: atNoon, Log: leaktest.Logger(t, logs),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	writeFixture(t, r)
	way := tooltest.Invoking("package", r)
	return &entrance{way, way, dir, logs}
}

// everyWay runs stories over every way in, with processes that sleep between calls, and on the
// functions of AWS Lambda, each on its own data, and requires the same answers. Stories in one list
// are distributed over the ways; with ROOKERY_SOAK each runs over all.
func everyWay(t *testing.T, stories []tooltest.Story) {
	t.Parallel()
	for n, s := range stories {
		t.Run(s.Name, func(t *testing.T) {
			var first []string
			ways := append(waysIn(), asleep())
			if !endsItsTenant(s) {
				ways = append(ways, functions()...)
			}
			for i, in := range ways {
				if i > 0 && (n+i)%2 == 0 && len(stories) > 1 && !soaked() {
					continue
				}
				t.Run(in.name, func(t *testing.T) {
					if i > 0 {
						t.Parallel()
					}
					e := in.open(t)
					if i == 0 {
						e.way = tooltest.Following(e.way, e.other, allTools())
					}
					answers := s.Tell(t, e.way, e.other)
					if i == 0 {
						s.Check(t, answers)
						first = answers
						return
					}
					requireSame(t, s, first, answers)
				})
			}
		})
	}
}

// requireSame requires that a story had the same answers, except for calls that a way does not
// support.
func requireSame(t *testing.T, s tooltest.Story, first, answers []string) {
	require.Len(t, answers, len(first))
	for i, answer := range answers {
		if answer != "" {
			assert.Equal(t, first[i], answer, "step %d: %s %s", i, s.Steps[i].Tool, s.Steps[i].Args)
		}
	}
}

// notes returns the files of the vaults of a place.
func (p *place) notes(t testing.TB) map[string]string {
	t.Helper()
	return filesIn(t, p.dir)
}

// filesIn returns the files of the vaults in a data directory, except for those that a later
// compaction writes.
func filesIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	root := filepath.Join(dir, "tenants")
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "/.raven/audit.") {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root+"/")] = string(text)
		return err
	}))
	return files
}
