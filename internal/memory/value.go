package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Merge applies a JSON Merge Patch (RFC 7386) to a value: objects are merged, lists and other
// values are replaced, and null removes a member. Both must be JSON objects. Numbers keep their
// digits.
//
// The result is JSON without HTML escapes. Its members are sorted by name.
func Merge(value, patch []byte) ([]byte, error) {
	var v, p any
	for data, into := range map[*any][]byte{&v: value, &p: patch} {
		dec := json.NewDecoder(bytes.NewReader(into))
		// Integers above 2^53 must not lose digits.
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

// merge applies a patch to a parsed value, which it changes.
func merge(value, patch any) any {
	p, ok := patch.(map[string]any)
	// A patch that is not an object replaces the value.
	if !ok {
		return patch
	}
	v, ok := value.(map[string]any)
	if !ok {
		// An object replaces a value that is not one.
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

// A FileUse is a file that a memory is about, and its uses.
type FileUse struct {
	Path string
	Uses Uses
}

// Uses is a set of uses of a file: a bit for each element of useNames. It is part of the format
// of images.
//
// Bit i stands for useNames[i].
type Uses uint8

// useNames are the names of the uses: the types of actions, and "relevant" for a file that is
// only listed as relevant.
var useNames = []string{
	"relevant", "file_read", "file_edit", "file_create", "file_delete", "command_run", "search", "external_query",
}

// Files returns the files that a memory is about, in the order of their first occurrence: the
// files of its actions, then those listed as relevant.
//
// A file that occurs several times has the uses of all its occurrences.
func (m *Memory) Files() []FileUse {
	var all []FileUse
	use := func(path, how string) {
		if path == "" {
			return
		}
		// Several actions on a file are one FileUse.
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

// Text returns the searched text of a memory: all its texts except the learnings, one per line.
//
// The learnings are searched as a field of their own; see search.MemoryFields.
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
	m.Perception.eachText(say)
	for i := range m.Actions {
		m.Actions[i].eachText(say)
	}
	return b.String()
}

// eachText passes the texts of a perception, which can be nil, to say.
func (p *Perception) eachText(say func(...string)) {
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

// eachText passes the texts of an action and its result to say.
func (a *Action) eachText(say func(...string)) {
	say(a.FilePath, a.DiffSummary, a.Command, a.Query, a.Scope)
	if a.Result != nil {
		say(a.Result.OutputSummary, a.Result.Error)
	}
}
