package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Merge is a value in which the members of a patch take the place of its own: objects are merged, lists and
// everything else are replaced, and null takes a member away (JSON Merge Patch, RFC 7386). Both are JSON objects.
func Merge(value, patch []byte) ([]byte, error) {
	var v, p any
	for data, into := range map[*any][]byte{&v: value, &p: patch} {
		dec := json.NewDecoder(bytes.NewReader(into))
		dec.UseNumber()
		if err := dec.Decode(data); err != nil {
			return nil, fmt.Errorf("merge a memory: %w", err)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(merge(v, p))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func merge(value, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	v, ok := value.(map[string]any)
	if !ok {
		v = map[string]any{}
	}
	for name, member := range p {
		if member == nil {
			delete(v, name)
			continue
		}
		v[name] = merge(v[name], member)
	}
	return v
}

// A FileUse is a file that a memory is about, and what was done to it.
type FileUse struct {
	Path string
	Uses Uses
}

// Uses is a set of what was done to a file: a bit for each of useNames.
type Uses uint8

// useNames are the types of actions, and what is said of a file that is only named as one that matters.
var useNames = []string{
	"relevant", "file_read", "file_edit", "file_create", "file_delete", "command_run", "search", "external_query",
}

// Names are the names of the uses.
func (u Uses) Names() []string {
	var all []string
	for i, name := range useNames {
		if u&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return all
}

// Files are the files that a memory is about, in the order in which it first names them: those of its actions,
// then those that it calls relevant.
func (m *Memory) Files() []FileUse {
	var all []FileUse
	use := func(path, how string) {
		if path == "" {
			return
		}
		i := slices.IndexFunc(all, func(f FileUse) bool { return f.Path == path })
		if i < 0 {
			i = len(all)
			all = append(all, FileUse{Path: path})
		}
		if bit := slices.Index(useNames, how); bit >= 0 {
			all[i].Uses |= 1 << bit
		}
	}
	for i := range m.Actions {
		use(m.Actions[i].FilePath, m.Actions[i].Type)
	}
	if m.Perception != nil {
		for _, f := range m.Perception.RelevantFiles {
			use(f.Path, useNames[0])
		}
	}
	return all
}

// EmbeddingText is what a vector of a memory is made of (reference/memory.md §A3).
func (m *Memory) EmbeddingText() string {
	lines := []string{"Task: " + m.Intent.Goal, "Type: " + m.Intent.TaskType}
	if m.Intent.Context != "" {
		lines = append(lines, "Context: "+m.Intent.Context)
	}
	lines = append(lines, "Outcome: "+m.Outcome.Summary)
	if len(m.Outcome.Learnings) > 0 {
		lines = append(lines, "Learnings: "+strings.Join(m.Outcome.Learnings, "; "))
	}
	if m.Reasoning != nil && m.Reasoning.ApproachChosen != "" {
		lines = append(lines, "Approach: "+m.Reasoning.ApproachChosen)
	}
	return strings.Join(lines, "\n")
}

// Text is everything that is said in a memory but for what was learnt, a thing a line, by which it is found.
func (m *Memory) Text() string {
	var b strings.Builder
	say := func(texts ...string) {
		for _, text := range texts {
			if text != "" {
				b.WriteString(text)
				b.WriteByte('\n')
			}
		}
	}
	say(m.Intent.Goal, m.Intent.Context)
	say(m.Intent.Constraints...)
	say(m.Outcome.Summary)
	say(m.Outcome.FailureReason)
	say(m.Outcome.FollowUpNeeded...)
	if v := m.Outcome.VerifiedBy; v != nil {
		say(v.Command, v.Result)
	}
	if r := m.Reasoning; r != nil {
		say(r.ApproachChosen, r.WhyChosen)
		for _, a := range r.AlternativesConsidered {
			say(a.Approach, a.WhyRejected)
		}
		say(r.Assumptions...)
		say(r.RisksIdentified...)
	}
	m.Perception.say(say)
	for i := range m.Actions {
		m.Actions[i].say(say)
	}
	return b.String()
}

func (p *Perception) say(say func(...string)) {
	if p == nil {
		return
	}
	for _, o := range p.Observations {
		say(o.What, o.Where, o.Significance)
	}
	for _, f := range p.RelevantFiles {
		say(f.Path, f.Relevance, f.StateSummary)
	}
	say(p.PatternsNoticed...)
	say(p.Anomalies...)
}

func (a *Action) say(say func(...string)) {
	say(a.FilePath, a.DiffSummary, a.Command, a.Query, a.Scope)
	if a.Result != nil {
		say(a.Result.OutputSummary, a.Result.Error)
	}
}
