package tree_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// agents is how many agents work on one vault.
const agents = 64

// TestManyAgents covers that 64 agents on one vault lose nothing: each counts up a field of a note, from what it read
// with the version token of that, and tags a section that all tag. Each write is one version.
func TestManyAgents(t *testing.T) {
	const notes, rounds = 8, 3
	files := map[string]string{"all.md": "# All\n\n## Shared\n\ntext\n"}
	for i := range notes {
		files[fmt.Sprintf("n%d.md", i)] = "---\ncount: 0\n---\n\nText.\n"
	}
	p := open(t, files)
	before := version(t, p.token(t))
	var versions sync.Map
	var wg sync.WaitGroup
	for i := range agents {
		wg.Go(func() {
			a := agent{p.as(fmt.Sprint("agent ", i), "")}
			for range rounds {
				token, err := a.untilDone(func() (string, error) { return a.count(t, fmt.Sprintf("n%d", i%notes)) })
				if !assert.NoError(t, err) {
					return
				}
				_, twice := versions.LoadOrStore(token, i)
				assert.False(t, twice, "two writes with the version %s", token)
			}
			token, err := a.untilDone(func() (string, error) { return a.tag(t, "all#shared", fmt.Sprint("by", i)) })
			assert.NoError(t, err)
			_, twice := versions.LoadOrStore(token, i)
			assert.False(t, twice, "two writes with the version %s", token)
		})
	}
	wg.Wait()
	require.Equal(t, before+agents*(rounds+1), version(t, p.token(t)), "each write is one version")
	for i := range notes {
		node := p.data(t, "get_node", args{"nodeId": fmt.Sprint("n", i)})["node"].(args)
		require.Equal(t, args{"count": float64(rounds * agents / notes)}, node["payload"])
	}
	tags := p.data(t, "get_node", args{"nodeId": "all#shared"})["node"].(args)["tags"]
	var want []any
	for i := range agents {
		want = append(want, fmt.Sprint("by", i))
	}
	require.ElementsMatch(t, want, tags)
}

// version is the number of a version token.
func version(t testing.TB, token string) int {
	var n int
	_, err := fmt.Sscanf(token, "v%d", &n)
	require.NoError(t, err)
	return n
}

// An agent makes calls beside others.
type agent struct{ *place }

// ask is the answer of a call.
func (a agent) ask(t *testing.T, name string, in args) (out args, err error) {
	in["vault"], in["envelope"] = "v", false
	data, err := tool.Marshal(in)
	if err != nil {
		return nil, err
	}
	answer, err := a.Invoke(t.Context(), "tree_"+name, data)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(answer, &out)
}

// count counts up a field of a note, from what it has.
func (a agent) count(t *testing.T, id string) (token string, err error) {
	read, err := a.ask(t, "get_node", args{"nodeId": id})
	if err != nil {
		return "", err
	}
	count, _ := read["node"].(args)["payload"].(args)["count"].(float64)
	written, err := a.ask(t, "update_payload_property", args{
		"nodeId": id, "propertyName": "count", "newValue": count + 1, "versionToken": read["versionToken"],
	})
	if err != nil {
		return "", err
	}
	return written["versionToken"].(string), nil
}

// tag tags a node.
func (a agent) tag(t *testing.T, id, tag string) (token string, err error) {
	read, err := a.ask(t, "get_node", args{"nodeId": id})
	if err != nil {
		return "", err
	}
	written, err := a.ask(t, "tag_node", args{"nodeId": id, "tags": []string{tag}, "versionToken": read["versionToken"]})
	if err != nil {
		return "", err
	}
	return written["versionToken"].(string), nil
}

// untilDone repeats a call for as long as others were faster. A conflict says which version is the latest.
func (a agent) untilDone(call func() (string, error)) (token string, err error) {
	for {
		token, err = call()
		if err == nil {
			return token, nil
		}
		f := fault.Of(err)
		switch {
		case f.Code != fault.Conflict:
			return "", err
		case f.Details["latestVersion"] == nil || f.Details["changed"] == nil:
			return "", errors.New("a conflict that does not say what changed")
		}
	}
}

// TestManyAgentsMove covers that agents that move, sort and edit the same sections lose nothing: each move is one
// version, and in the end each section is there once, with its text, under its identity.
func TestManyAgentsMove(t *testing.T) {
	const movers, rounds, notes = 8, 6, 3
	files := map[string]string{"refs.md": ""}
	uids := map[string]string{}
	for i := range notes {
		files[fmt.Sprintf("n%d.md", i)] = "# Note\n"
	}
	for i := range movers {
		files["n0.md"] += fmt.Sprintf("\n## S%d\n\ntext of %d\n", i, i)
		files["refs.md"] += fmt.Sprintf("[[n0#s%d]]\n", i)
	}
	p := open(t, files)
	for i := range movers {
		id := fmt.Sprintf("n0#s%d", i)
		uids[id] = p.data(t, "get_node", args{"nodeId": id})["node"].(args)["uid"].(string)
	}
	before := version(t, p.token(t))
	var wg sync.WaitGroup
	for i := range movers {
		wg.Go(func() {
			a := agent{p.as(fmt.Sprint("agent ", i), "")}
			for k := range rounds {
				_, err := a.untilDone(func() (string, error) {
					return a.move(t, uids[fmt.Sprintf("n0#s%d", i)], fmt.Sprintf("n%d", (i+k+1)%notes))
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, version(t, p.token(t)), before+movers*rounds)
	all := p.files(t)
	for i := range movers {
		node := p.data(t, "get_node", args{"nodeId": uids[fmt.Sprintf("n0#s%d", i)]})["node"].(args)
		require.Equal(t, fmt.Sprintf("text of %d", i), node["body"])
		require.Contains(t, all["refs.md"], "[["+node["nodeId"].(string)+"]]")
	}
	require.Equal(t, movers, strings.Count(all["n0.md"]+all["n1.md"]+all["n2.md"], "## S"))
}

// move moves a section below a note.
func (a agent) move(t *testing.T, uid, to string) (token string, err error) {
	read, err := a.ask(t, "get_node", args{"nodeId": uid})
	if err != nil {
		return "", err
	}
	written, err := a.ask(t, "move_node", args{"nodeId": uid, "newParentId": to, "versionToken": read["versionToken"]})
	if err != nil {
		return "", err
	}
	return written["versionToken"].(string), nil
}
