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

// A Line is one line of an export: an item with its id. The members of its value stand beside kind and id.
type Line struct {
	Kind  string
	ID    string
	Value json.RawMessage
}

// MarshalJSON writes kind and id before the members of the value.
func (l Line) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
	}{l.Kind, l.ID})
	if err != nil || len(l.Value) < len(`{"":0}`) {
		return head, err
	}
	return append(append(head[:len(head)-1], ','), l.Value[1:]...), nil
}

// A Brought is one line of an import. Of a memory, everything but the intent and the outcome may be left out, and links
// may stand with it.
type Brought struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`

	Agent     string `json:"agent"`
	AgentID   string `json:"agent_id"`   // as agent
	SessionID string `json:"session_id"` // as session
	CreatedAt any    `json:"created_at"` // as created; also a text of RFC 3339
	Links     *Links `json:"links"`

	Value json.RawMessage `json:"-"` // the whole line
}

// ReadLine reads a line of an import. Without a kind it is a memory.
func ReadLine(line []byte) (Brought, error) {
	b := Brought{Kind: KindMemory, Value: bytes.Clone(line)}
	if err := json.Unmarshal(line, &b); err != nil {
		return b, fmt.Errorf("the line is no JSON object of an export: %w", err)
	}
	return b, nil
}

// Into reads the value of a line.
func (b *Brought) Into(value any) error { return json.Unmarshal(b.Value, value) }

// frontmatter is between these lines.
const fence = "---\n"

// Markdown is a memory as a file that people read. Its frontmatter has all of it, so that FromMarkdown reads it again;
// what is below is the same in words.
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

// writeMembers writes the members of a JSON object as YAML, a line for each.
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

// printable is JSON in which the characters that YAML does not allow in a document are escaped.
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

// FromMarkdown is the line that a file of Markdown is; false: it is of no memory.
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
		return nil, false, fmt.Errorf("the frontmatter is no YAML: %w", err)
	}
	id, ok := members["rookery_memory"].(string)
	if !ok {
		return nil, false, nil
	}
	delete(members, "rookery_memory")
	members["kind"], members["id"] = KindMemory, id
	line, err = json.Marshal(members)
	return line, true, err
}

// prose is a memory in words.
func (m *Memory) prose() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", oneLine(m.Intent.Goal))
	came := "It failed."
	if m.Outcome.Success {
		came = "It succeeded."
	}
	at := time.UnixMilli(m.Created).UTC().Format(time.RFC3339)
	fmt.Fprintf(&b, "%s, by %s on %s. %s\n", strings.ReplaceAll(m.Intent.TaskType, "_", " "), m.Agent, at, came)
	section := func(title string, texts ...string) {
		var said []string
		for _, text := range texts {
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

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// notInName are the characters that the name of a file has not.
var notInName = regexp.MustCompile(`[^\pL\pN]+`)

// mostInName is how many bytes of a goal the name of a file has.
const mostInName = 60

// FileName is the name of a memory as a file.
func (c *Card) FileName() string {
	goal := strings.Trim(notInName.ReplaceAllString(strings.ToLower(c.Goal), "-"), "-")
	if len(goal) > mostInName {
		goal = strings.ToValidUTF8(goal[:mostInName], "")
	}
	day := time.UnixMilli(c.Created).UTC().Format(time.DateOnly)
	return strings.Trim(fmt.Sprintf("memories/%s-%s", day, goal), "-") + "-" + strings.TrimPrefix(c.ID, PrefixMemory) + ".md"
}
