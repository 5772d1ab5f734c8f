package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A message is a message of a conversation with a text. The role is that of the export, such as
// user or assistant.
type message struct {
	role, text string
	at         float64 // Unix time in seconds; 0 if unknown
}

// transcript returns a conversation as Markdown: for each message its role in bold and a colon,
// then its text.
func transcript(all []message) string {
	parts := make([]string, len(all))
	for i, m := range all {
		parts[i] = "**" + m.role + ":**\n" + m.text
	}
	return strings.Join(parts, "\n\n")
}

// conversations reads a file of conversations: a list, or an object with a list `conversations` or
// `chats`. A list can also be an object, whose values are then the elements. An element that is not
// an object is refused.
func (r reader) conversations() error {
	all, err := r.list("conversations", "chats",
		"the file has no conversations: it must be a list, or an object with a list conversations")
	if err != nil {
		return err
	}
	read := r.claude
	if r.kind == ChatGPT {
		read = r.chatGPT
	}
	r.each("conversation", all, read)
	return nil
}

// chatGPT reads a conversation of ChatGPT. i is its position in the file. It drops one without
// text, which is a chat that was only opened.
//
// The messages are the nodes of a tree, because a user can edit a message and continue from there.
// All branches become one transcript, by the time of each message; messages without a time come
// first.
func (r reader) chatGPT(o object, i int) {
	mapping := o.object("mapping")
	var all []message
	for _, name := range mapping.names {
		node, _ := readObject(mapping.members[name])
		m := node.object("message")
		// The text is a member, or a list of parts, which takes precedence.
		content := m.object("content")
		text := content.text("text")
		if parts, ok := content.list("parts"); ok {
			text = joinTexts(parts)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		at, _ := m.value("create_time").(float64)
		all = append(all, message{cmp.Or(m.object("author").text("role"), "unknown"), text, at})
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b message) int { return cmp.Compare(a.at, b.at) })
	// Without an id, the first message identifies the conversation, and without messages its
	// position.
	id := o.text("id", "conversation_id")
	if id == "" && len(mapping.names) > 0 {
		id = mapping.names[0]
	}
	id = "chatgpt_" + plainID(cmp.Or(id, fmt.Sprintf("conv-%d", i)), 64)
	title := cmp.Or(line(o.text("title")), fmt.Sprintf("Conversation %d", i+1))
	r.add(conversation(Note{
		Source: "chatgpt", SourceID: id,
		Date: firstDay(o.value("create_time"), o.value("created"), o.value("update_time")),
		Path: fileName(title, fmt.Sprintf("chatgpt-%d", i)) + ".md", Body: transcript(all),
	}, title))
}

// conversation returns a note with a title field, which precedes its other fields.
func conversation(n Note, title string) Note {
	n.Fields = append([]markdown.Field{{Key: "title", Value: truncate(title, maxTitle)}}, n.Fields...)
	return n
}

// joinTexts returns the texts in a list of texts and of objects with a text, joined by line breaks.
// Other elements, such as images, are left out.
func joinTexts(parts []json.RawMessage) string {
	var texts []string
	for _, p := range parts {
		text := scalarText(p)
		if o, ok := readObject(p); ok {
			text = scalarText(o.members["text"])
		}
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// scalarText returns a JSON string without trimming; "" for any other value, including a number.
func scalarText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// claude reads a conversation of Claude: with `content`, or with messages. i is its position in the
// file. It drops one without text.
func (r reader) claude(o object, i int) {
	body := scalarText(o.members["content"])
	// A text in content is the whole conversation and is used as it is.
	for _, name := range []string{"chat_messages", "messages"} {
		if list, ok := o.list(name); ok && body == "" {
			body = transcript(claudeMessages(list))
		}
	}
	if strings.TrimSpace(body) == "" {
		return
	}
	// The number of a conversation without a title counts from 1 over the whole export.
	title := cmp.Or(line(o.text("title", "name")), fmt.Sprintf("Claude %d", i+1))
	r.add(conversation(Note{
		Source: "claude", SourceID: truncate(cmp.Or(o.text("id", "uuid"), fmt.Sprintf("claude_%d", i)), maxID),
		Date: firstDay(o.value("created_at"), o.value("updated_at"), o.value("date")),
		Path: fileName(title, fmt.Sprintf("claude-%d", i)) + ".md", Body: body,
	}, title))
}

// claudeMessages returns the messages of a conversation of Claude that have a text, in the order of
// the list. A text can be in one of several members, and can be a list of parts.
func claudeMessages(list []json.RawMessage) []message {
	var all []message
	for _, raw := range list {
		m, _ := readObject(raw)
		text := ""
		for _, name := range []string{"text", "content", "message"} {
			if text == "" {
				text = scalarText(m.members[name])
			}
			if parts, ok := m.list(name); ok && text == "" {
				text = joinTexts(parts)
			}
		}
		if strings.TrimSpace(text) != "" {
			all = append(all, message{role: cmp.Or(m.text("role", "sender", "type"), "unknown"), text: text})
		}
	}
	return all
}
