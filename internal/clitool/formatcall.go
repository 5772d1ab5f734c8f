package clitool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A callFormatter formats the calls in fixes as command lines with the same target as the current
// line. A fix is a call of a tool, in the terms of tools; a person gets it as a line that can be
// copied:
//
//	team_vault_create {"name":"main"}      the call
//	rookery vault create main              the line
type callFormatter struct {
	app  *App
	line *cobra.Command // nil: no line was parsed
}

// A formattingInvoker is an Invoker that formats the calls in the fixes of its answers as command
// lines.
type formattingInvoker struct {
	tool.Invoker
	callFormatter
}

// Invoke implements tool.Invoker.
func (s formattingInvoker) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	answer, err := s.Invoker.Invoke(ctx, name, args)
	return tool.Respell(answer, err, s.format)
}

// format formats a call as a command of its tool: the one whose implied values agree with the call.
// An argument whose value cannot be written as words or flags makes all arguments JSON; see whole.
// A call that no command can express is returned unchanged.
//
// The line must have exactly the effect of the call. So each text is converted back and compared
// before it is used, presets that the call does not have are switched off, and a text that would be
// parsed differently as a word becomes a flag.
func (s callFormatter) format(c fault.Call) string {
	at := slices.IndexFunc(s.app.Tools, func(t *tool.Tool) bool {
		return t.Name == c.Tool || slices.Contains(t.Aliases, c.Tool)
	})
	if at < 0 || len(s.app.Tools[at].Commands) == 0 {
		return c.String()
	}
	t := s.app.Tools[at]
	way, ok := t.CommandFor(func(name string) json.RawMessage { raw, _ := c.Arg(name); return raw })
	if !ok {
		return s.whole(t, c)
	}
	w := &wording{tool: t, way: way, words: map[string][]string{}}
	for _, a := range c.Args {
		if way.Set[a.Name] != "" {
			continue
		}
		if !w.add(a) {
			return s.whole(t, c)
		}
	}
	for _, p := range t.Presets {
		if _, given := c.Arg(p.Arg); !given {
			w.flags = append(w.flags, "--"+p.Flag)
		}
	}
	w.place()
	return strings.Join(append(w.line, s.globals(c)...), " ")
}

// whole formats a call with all its arguments as JSON in one flag. It returns the call itself if
// the tool has an argument of that flag's name, or imports files.
func (s callFormatter) whole(t *tool.Tool, c fault.Call) string {
	if _, own := t.Arg(inputFlags[0].name); own || t.Input != nil {
		return c.String()
	}
	_, args, _ := strings.Cut(c.String(), " ")
	line := []string{"rookery", t.Commands[0].Words, "--" + inputFlags[0].name, tool.ShellWord(args)}
	return strings.Join(append(line, s.globals(fault.Call{})...), " ")
}

// globals returns the flags for the target: those of the current line, and the vault of the call
// unless the environment already names it. Flags that come from the environment are not repeated,
// and the token never is.
func (s callFormatter) globals(c fault.Call) []string {
	if s.line == nil {
		return nil
	}
	var flags []string
	add := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name, tool.ShellWord(value))
		}
	}
	add("server", given(s.line, "server"))
	add("data", given(s.line, "data"))
	line, vault := given(s.line, "vault"), ""
	if raw, ok := c.Arg("vault"); isFolder(s.app.global(s.line, "vault")) {
		add("vault", line) // a folder is the only vault, whatever its name
	} else if ok && json.Unmarshal(raw, &vault) == nil && (line == vault || s.app.global(s.line, "vault") != vault) {
		add("vault", vault)
	}
	return flags
}

// A wording is a command line under construction. Arguments are added in any order; place puts them
// into that of the command. All texts are quoted for a POSIX shell, because a person copies the
// line into one.
type wording struct {
	tool  *tool.Tool
	way   tool.Command
	words map[string][]string // values of positional arguments, by name
	pairs []string            // words of the form name=value
	flags []string
	line  []string
}

// add adds an argument, as words if it is positional and the words would be parsed as such,
// otherwise as flags. It returns false if its value cannot be given as text.
func (w *wording) add(given fault.Arg) bool {
	a, ok := w.tool.Arg(given.Name)
	if !ok || w.tool.Input != nil && a.Name == w.tool.Input.Arg {
		return false
	}
	if a.Name == "vault" && !a.Shared {
		return true // a global flag sets it
	}
	pairs, isPairs := pairsIn(a, given.Value)
	texts, isTexts := textsIn(a, given.Value)
	placed := slices.ContainsFunc(w.way.Args, func(entry string) bool {
		name, _, _ := tool.Positional(entry)
		return name == a.Name
	})
	switch {
	case isPairs && w.way.Pairs == a.Name:
		w.pairs = append(w.pairs, pairs...)
	case isPairs:
		w.flag(a, pairs)
	case !isTexts:
		return false
	case placed && !slices.ContainsFunc(texts, w.isNoWord):
		w.words[a.Name] = texts
	default:
		w.flag(a, texts)
	}
	return true
}

// isNoWord reports whether a text must be given by a flag, because as a word it would be parsed
// differently: an empty text, one that looks like a flag, and one of the form name=value.
func (w *wording) isNoWord(text string) bool {
	return text == "" || text[0] == '-' || w.way.Pairs != "" && pair.MatchString(text)
}

// flag adds the flags of an argument, one for each text. A text that begins with a dash is joined
// to its flag.
func (w *wording) flag(a tool.Arg, texts []string) {
	for _, text := range texts {
		switch {
		case a.Bool() && text == "true":
			w.flags = append(w.flags, "--"+a.Flag)
		case a.Bool(), text != "" && text[0] == '-':
			w.flags = append(w.flags, "--"+a.Flag+"="+tool.ShellWord(text))
		default:
			w.flags = append(w.flags, "--"+a.Flag, tool.ShellWord(text))
		}
	}
}

// place assembles the line: the program, the words of the command, positional arguments, name=value
// words, and flags. After a positional argument without a value, the following ones become flags.
func (w *wording) place() {
	w.line = []string{"rookery", w.way.Words}
	gap := false
	for _, entry := range w.way.Args {
		name, _, _ := tool.Positional(entry)
		texts := w.words[name]
		if gap {
			a, _ := w.tool.Arg(name)
			w.flag(a, texts)
			continue
		}
		gap = len(texts) == 0
		for _, text := range texts {
			w.line = append(w.line, tool.ShellWord(text))
		}
	}
	for _, text := range w.pairs {
		w.line = append(w.line, tool.ShellWord(text))
	}
	w.line = append(w.line, w.flags...)
}

// typedText matches a text that a field would parse as a value of another type.
var typedText = regexp.MustCompile(`^(true|false|null|[-+.0-9\[{].*)$`)

// pairsIn returns the name=value words for an argument with named values. It returns false if a
// value is not a plain text, or would be parsed as another type: the text "5" would become a
// number.
func pairsIn(a tool.Arg, raw json.RawMessage) ([]string, bool) {
	object, err := decode(raw)
	if !isFields(a) || err != nil || object.kind != objectKind || len(object.members) == 0 {
		return nil, false
	}
	var pairs []string
	for _, m := range object.members {
		text := m.name + "=" + m.text
		if m.kind != textKind || typedText.MatchString(m.text) || !pair.MatchString(text) {
			return nil, false
		}
		pairs = append(pairs, text)
	}
	return pairs, true
}

// textsIn returns the texts of flags that give an argument this value. It returns false if there
// are none: it converts the texts back, and compares. A list with an item that is not a text has
// none, because a flag gives only texts.
func textsIn(a tool.Arg, raw json.RawMessage) ([]string, bool) {
	v, err := decode(raw)
	if err != nil {
		return nil, false
	}
	texts := []string{string(raw)}
	if v.kind == textKind {
		texts = []string{v.text}
	}
	if v.kind == listKind {
		texts = nil
		for _, item := range v.items {
			if item.kind != textKind {
				return nil, false
			}
			texts = append(texts, item.text)
		}
	}
	return texts, len(texts) > 0 && bytes.Equal(a.FromText(texts), raw)
}

// fault prints a fault for people, on Err: the message, useful details, and the fixes. The
// individual problems of a call are indented below it:
//
//	error: two notes are invalid (VALIDATION_FAILED)
//	- people/freya.md:3: Field 'met' must be a date (INVALID_VALUE)
//	try: rookery schema type person
//
// The id of the request is printed only for errors of the server, where a person needs it to find
// the log line.
func (p *printer) fault(f *fault.Fault, indent string) {
	label := indent + "error: "
	if indent != "" {
		label = indent + "- "
	}
	p.line(label, red, fmt.Sprintf("%s%s (%s)", place(f.Location, f.Message), f.Message, f.Code))
	for _, key := range slices.Sorted(maps.Keys(f.Details)) {
		detail := detailOf(f.Details[key])
		if detail != "" && !repeats(f.Message, detail) {
			fmt.Fprintf(p.err, "%s  %s: %s\n", indent, escapeControls(key), escapeControls(detail))
		}
	}
	for _, one := range f.Errors {
		p.fault(one, indent+"  ")
	}
	if f.RetryAfter > 0 {
		fmt.Fprintf(p.err, "%s  again in: %s\n", indent, f.RetryAfter)
	}
	if f.Status() == fault.StatusInternal && f.RequestID != "" {
		fmt.Fprintf(p.err, "%s  request id: %s\n", indent, escapeControls(f.RequestID))
	}
	p.fixes(f.Fixes)
}

// repeats reports whether a message already contains a list, so that the detail with the same list
// can be omitted. A single value is not a list.
func repeats(message, list string) bool {
	return strings.Contains(list, ", ") && strings.Contains(message, list)
}

// fixes prints each fix on a line, after the label try. Most fixes are command lines that can be
// copied; the rest of the line contains nothing else.
func (p *printer) fixes(fixes []string) {
	for _, fix := range fixes {
		p.line("try: ", cyan, fix)
	}
}

// place returns the location of a fault as a prefix of its message: FILE:LINE or FILE. It is "" if
// the message already begins with the file; then only a line is added.
func place(at *fault.Location, message string) string {
	switch {
	case at == nil:
		return ""
	case strings.HasPrefix(message, at.File+": ") && at.Line == 0:
		return ""
	case strings.HasPrefix(message, at.File+": "):
		return fmt.Sprintf("line %d of ", at.Line)
	case at.Line == 0:
		return at.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", at.File, at.Line)
}

// detailOf formats a detail on one line, as values in tables are. It returns "" for an empty
// detail, and for one that cannot be encoded.
func detailOf(detail any) string {
	raw, err := json.Marshal(detail)
	if err != nil {
		return ""
	}
	v, err := decode(raw)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(v.inline(), "\n", " ")
}
