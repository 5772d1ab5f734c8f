package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// A Line is one line of an export: an item with its id. Its JSON is an object with kind, id and
// the members of the value.
type Line struct {
	Kind  string
	ID    string
	Value json.RawMessage
}

// MarshalJSON returns an object with kind and id, followed by the members of the value.
//
// The value must be a JSON object.
func (l Line) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
	}{l.Kind, l.ID})
	// A value without members, or none.
	if err != nil || len(l.Value) < len(`{"":0}`) {
		return head, err
	}
	return append(append(head[:len(head)-1], ','), l.Value[1:]...), nil
}

// An ImportLine is one line of an import. A memory needs only an intent and an outcome, and can
// contain its links.
type ImportLine struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`

	Agent     string `json:"agent"`
	AgentID   string `json:"agent_id"`   // alternative to agent
	SessionID string `json:"session_id"` // alternative to session
	CreatedAt any    `json:"created_at"` // alternative to created; can also be an RFC 3339 string
	Links     *Links `json:"links"`

	Value json.RawMessage `json:"-"` // the whole line
}

// ReadLine parses a line of an import. A line without a kind is a memory. The line is copied.
func ReadLine(line []byte) (ImportLine, error) {
	b := ImportLine{Kind: KindMemory, Value: bytes.Clone(line)}
	if err := json.Unmarshal(line, &b); err != nil {
		return b, fmt.Errorf("the line is not a JSON object of an export: %w", err)
	}
	return b, nil
}

// Decode parses the line into a value.
func (b *ImportLine) Decode(value any) error { return json.Unmarshal(b.Value, value) }

// fence is the line before and after the frontmatter.
const fence = "---\n"

// Markdown returns a memory as a Markdown file. The frontmatter contains all fields and the
// links, so that FromMarkdown can read the file; the body repeats the main fields as text. l can
// be nil.
//
// Each member of the value is one line of the frontmatter, as JSON, which is valid YAML.
func Markdown(id string, m *Memory, l *Links) (string, error) {
	value, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(fence)
	fmt.Fprintf(&b, "rookery_memory: %q\n", id)
	if err := writeMembers(&b, value); err != nil {
		return "", err
	}
	if l != nil && len(l.Targets()) > 0 {
		links, err := json.Marshal(l)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "links: %s\n", links)
	}
	b.WriteString(fence)
	b.WriteString(m.prose())
	return b.String(), nil
}

// writeMembers writes the members of a JSON object as YAML, one line for each.
//
// The members keep their order.
func writeMembers(b *strings.Builder, object []byte) error {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var member json.RawMessage
		if err := dec.Decode(&member); err != nil {
			return err
		}
		fmt.Fprintf(b, "%s: %s\n", name, printable(member))
	}
	return nil
}

// printable returns JSON with the characters escaped that YAML does not allow in a document.
func printable(data []byte) string {
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// FromMarkdown returns the line of an import that a Markdown file contains. ok is false if the
// file is not a memory. It is an error if the frontmatter is not valid YAML.
//
// It ignores the text below the frontmatter, and accepts Windows line breaks.
func FromMarkdown(text string) (line []byte, ok bool, err error) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), fence)
	if !ok {
		return nil, false, nil
	}
	head, _, ok := strings.Cut(rest, "\n"+fence)
	if !ok {
		return nil, false, nil
	}
	var members map[string]any
	if err := yaml.Unmarshal([]byte(head), &members); err != nil {
		return nil, false, fmt.Errorf("the frontmatter is not valid YAML: %w", err)
	}
	id, ok := members["rookery_memory"].(string)
	if !ok {
		return nil, false, nil
	}
	// The id has another name in the frontmatter, which marks the file as a memory.
	delete(members, "rookery_memory")
	members["kind"], members["id"] = KindMemory, id
	line, err = json.Marshal(members)
	return line, true, err
}

// prose returns the main fields of a memory as the body of a Markdown file.
func (m *Memory) prose() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", oneLine(m.Intent.Goal))
	came := "It failed."
	if m.Outcome.Success {
		came = "It succeeded."
	}
	at := time.UnixMilli(m.Created).UTC().Format(time.RFC3339)
	fmt.Fprintf(&b, "%s, by %s on %s. %s\n", strings.ReplaceAll(string(m.Intent.TaskType), "_", " "), m.Agent, at, came)
	section := func(title string, texts ...string) {
		var said []string
		for _, text := range texts {
			// Empty sections are omitted.
			if strings.TrimSpace(text) != "" {
				said = append(said, text)
			}
		}
		if len(said) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", title, strings.Join(said, "\n\n"))
		}
	}
	section("Context", m.Intent.Context)
	section("Outcome", m.Outcome.Summary, m.Outcome.FailureReason)
	section("Learnings", m.Outcome.Learnings...)
	if m.Reasoning != nil {
		section("Reasoning", m.Reasoning.ApproachChosen, m.Reasoning.WhyChosen)
	}
	var files []string
	for _, f := range m.Files() {
		files = append(files, "- `"+f.Path+"`")
	}
	section("Files", strings.Join(files, "\n"))
	return b.String()
}

// oneLine returns a text with each run of white space replaced by a space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// notInName matches the characters that a file name must not contain.
var notInName = regexp.MustCompile(`[^\pL\pN]+`)

// maxGoalInName is the maximum number of bytes of a goal in a file name.
const maxGoalInName = 60

// FileName returns the path of a memory in an export of files. It begins with memories/, and
// contains the day of creation in UTC, the goal and the id.
func (c *Card) FileName() string {
	goal := strings.Trim(notInName.ReplaceAllString(strings.ToLower(c.Goal), "-"), "-")
	// The cut can be inside a character, of which ToValidUTF8 removes the rest.
	if len(goal) > maxGoalInName {
		goal = strings.ToValidUTF8(goal[:maxGoalInName], "")
	}
	day := time.UnixMilli(c.Created).UTC().Format(time.DateOnly)
	return strings.Trim(fmt.Sprintf("memories/%s-%s", day, goal), "-") + "-" +
		strings.TrimPrefix(c.ID, PrefixMemory) + ".md"
}
