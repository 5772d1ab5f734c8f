package markdown

import (
	"bytes"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/util"
)

// A Link is `[label](target)` or `![alt](target)` whose target is not a note (reference/raven.md
// §1.7). Reference links, addresses in angle brackets and links to a place in the same note are not
// Links. A link to a file of the vault is also a Reference.
type Link struct {
	Target  string // as it is written, without a title
	Display string // the visible label, or the alternative text; may be empty
	Image   bool
	Scheme  string // file, url (http, https), or other
	Ext     string // the file name extension in lower case, without the dot; empty if there is none
	Scope   int    // the index of the heading of its section, -1 for the note itself
	Line    int    // of the file
	Span    Span   // the whole link
	Written Span   // the target alone, without < and > around it
}

// The schemes of links.
const (
	SchemeFile  = "file"
	SchemeURL   = "url"
	SchemeOther = "other"
)

// Key returns the target in a form that is the same for equal targets: the path of a file in the
// vault, for a note in the folder dir; a URL with its scheme and host in lower case and without the
// default port; any other target unchanged. A path that begins with a slash is relative to the
// vault, any other to dir. The query and the fragment of a file are dropped.
func (l Link) Key(dir string) string {
	target := l.plain()
	u, err := url.Parse(target)
	switch {
	case l.Scheme == SchemeFile:
		file := l.file()
		if strings.HasPrefix(file, "/") {
			return strings.TrimPrefix(path.Clean(file), "/")
		}
		return path.Join(dir, file)
	case l.Scheme == SchemeURL && err == nil:
		return normalURL(u)
	}
	return target
}

// normalURL returns a URL with its host in lower case and without the default port. url.Parse
// lowers the scheme.
func normalURL(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	u.Host = host
	return u.String()
}

// plain returns the target without backslashes before punctuation.
func (l Link) plain() string { return string(util.UnescapePunctuations([]byte(l.Target))) }

// file returns the path of a linked file, or the path of a URL, decoded.
func (l Link) file() string {
	file, _, _ := strings.Cut(l.plain(), "#")
	file, _, _ = strings.Cut(file, "?")
	if l.Scheme == SchemeURL {
		_, file, _ = strings.Cut(file, "://")
		_, file, _ = strings.Cut(file, "/")
	}
	return decoded(file)
}

// schemeOf returns the scheme of a target: SchemeFile, SchemeURL or SchemeOther.
//
// A text before a colon is a scheme only if it begins with a letter and contains no character that
// a path or a query would have. Thus `a/b:c.md` is a file.
func schemeOf(target string) string {
	scheme, _, ok := strings.Cut(target, ":")
	lower := strings.ToLower(scheme)
	switch {
	case !ok || scheme == "" || !isLetter(scheme[0]) || strings.ContainsAny(scheme, "/?#% ()[]"):
		return SchemeFile
	case lower == "http" || lower == "https":
		return SchemeURL
	}
	return SchemeOther
}

// links adds the links of the block that is being read, by their target: one that begins with # to
// Anchors, one to a note to References, one to another file of the vault to both References and
// Links, and any other to Links. Links without a target are text.
func (b *bodyReader) links() {
	for _, in := range b.prose.links {
		if b.full() {
			return
		}
		line := b.lineAt(in.Start)
		l := Link{
			Target:  valid(b.prose.src[in.target.Start:in.target.End]),
			Display: b.prose.shown(in.label),
			Image:   in.image, Scope: b.scope(), Line: line.number,
		}
		if l.Target == "" {
			continue
		}
		end := b.lineAt(in.End - 1)
		l.Span = Span{in.Start + line.shift, in.End + end.shift}
		shift := b.lineAt(in.target.Start).shift
		l.Written = Span{in.target.Start + shift, in.target.End + shift}
		if l.Target[0] == '#' {
			b.doc.Anchors = append(b.doc.Anchors, l)
			continue
		}
		l.Scheme = schemeOf(l.Target)
		l.Ext = strings.ToLower(strings.TrimPrefix(path.Ext(l.file()), "."))
		note := l.Scheme == SchemeFile && l.Ext == "md"
		if note || l.Scheme == SchemeFile && IsFileName(l.file()) {
			b.doc.References = append(b.doc.References, l.reference())
		}
		if !note {
			b.doc.Links = append(b.doc.Links, l)
		}
	}
}

// reference returns the link as a reference. Its target is decoded, and its fragment, if it has
// one, follows after #.
func (l Link) reference() Reference {
	r := Reference{
		Target: l.file(), Display: l.Display, Form: MarkdownLink, Scope: l.Scope, Line: l.Line,
		Span: l.Span, Written: l.Written,
	}
	if l.Image {
		r.Form = Embed
	}
	if _, fragment, inside := strings.Cut(l.plain(), "#"); inside {
		r.Target += "#" + decoded(fragment)
	}
	return r
}

// decoded returns a part of a URL without percent escapes. It returns the part unchanged if an
// escape is invalid, or if the result would contain a control character, which no path of a note
// contains.
func decoded(part string) string {
	text, err := url.PathUnescape(part)
	if err != nil || strings.ContainsFunc(text, unicode.IsControl) {
		return part
	}
	return text
}

// Unescape returns a part of a link's target without backslashes before punctuation and without
// percent escapes.
func Unescape(part string) string { return decoded(string(util.UnescapePunctuations([]byte(part)))) }

// extensions are the file name extensions of files that are not notes. They distinguish a reference
// to a file from a reference to a note with a dot in its name. They are those that Obsidian shows
// or stores, and those of common attachments.
var extensions = map[string]bool{
	"canvas": true, "base": true, "excalidraw": true,
	"png": true, "jpg": true, "jpeg": true, "gif": true, "bmp": true, "svg": true, "webp": true, "avif": true,
	"heic": true, "tif": true, "tiff": true, "ico": true,
	"flac": true, "m4a": true, "mp3": true, "ogg": true, "wav": true, "opus": true, "3gp": true,
	"mkv": true, "mov": true, "mp4": true, "ogv": true, "webm": true, "avi": true,
	"pdf": true, "epub": true, "doc": true, "docx": true, "xls": true, "xlsx": true, "ppt": true, "pptx": true,
	"odt": true, "ods": true, "odp": true, "rtf": true,
	"txt": true, "csv": true, "tsv": true, "json": true, "xml": true, "yaml": true, "yml": true, "html": true,
	"htm": true, "css": true, "zip": true, "gz": true, "tar": true, "7z": true, "ics": true,
}

// IsFileName reports whether a name is that of a file that is not a note: it has one of the known
// extensions, in any case. A name with another extension may be a note with a dot in its name, such
// as `v1.2`.
func IsFileName(name string) bool {
	ending := path.Ext(name)
	return ending != "" && extensions[strings.ToLower(ending[1:])]
}

// MaxWikilink is the longest wikilink in bytes. The bound keeps the search for wikilinks linear.
const MaxWikilink = 4096

// A wiki is a wikilink in a text: `[[target]]` or `[[target|display]]`.
type wiki struct {
	Span
	target, display Span
}

// wikiAt returns the wikilink at the offset (reference/raven.md §1.7): on one line, without
// brackets in its target, and without a closing bracket in its display text. The target must not be
// blank, and a display text must have at least one byte. A backslash before | is not part of the
// target: Obsidian writes it in tables. ok is false if there is none.
func wikiAt(src []byte, at int) (wiki, bool) {
	w := wiki{Span: Span{Start: at}}
	if !bytes.HasPrefix(src[at:], []byte("[[")) {
		return w, false
	}
	window := src[:min(len(src), at+MaxWikilink)]
	w.target.Start = at + 2
	end := len(window)
	if n := bytes.IndexAny(window[at+2:], "[]|\n"); n >= 0 {
		end = at + 2 + n
	}
	w.target.End = end
	if end < len(window) && window[end] == '|' {
		if end > w.target.Start && window[end-1] == '\\' { // in a table, where | alone ends a cell
			w.target.End = end - 1
		}
		w.display.Start = end + 1
		n := bytes.IndexByte(window[end+1:], ']')
		if n < 1 || bytes.IndexByte(window[end+1:end+1+n], '\n') >= 0 {
			return w, false
		}
		end += 1 + n
		w.display.End = end
	}
	w.End = end + 2
	w.target, w.display = trim(src, w.target), trim(src, w.display)
	return w, bytes.HasPrefix(window[end:], []byte("]]")) && w.target.Start < w.target.End
}

// trim returns the span without the blanks at its ends.
func trim(src []byte, at Span) Span {
	text := src[at.Start:at.End]
	at.End -= len(text) - len(bytes.TrimRight(text, " \t\r\n\v\f"))
	at.Start += len(text) - len(bytes.TrimLeft(text, " \t\r\n\v\f"))
	if at.Start > at.End {
		at.Start = at.End
	}
	return at
}

// counts reports whether a wikilink is one if an opening bracket is directly before it: at the
// beginning of a list of wikilinks, and in an annotation whose value is a list of one wikilink.
// `[[[x]]]` alone is text.
func (w wiki) counts(src []byte) bool {
	if w.Start == 0 || src[w.Start-1] != '[' {
		return true
	}
	rest := bytes.TrimLeft(src[w.End:], " \t")
	if len(rest) > 0 && rest[0] == ',' {
		return true
	}
	return bytes.HasSuffix(src[:w.Start], []byte("([")) && bytes.HasPrefix(rest, []byte("])"))
}

// shown returns the visible text of a wikilink.
func (w wiki) shown(src []byte) []byte {
	if w.display.Start < w.display.End {
		return src[w.display.Start:w.display.End]
	}
	return src[w.target.Start:w.target.End]
}

// maxParens is the deepest nesting of parentheses in the target of a link.
const maxParens = 32

// linkTail parses `(target "title")` at the offset by the rules of CommonMark §6.3. It returns the
// target without < and > around it, and the end of the link. ok is false if there is none. The
// target may be empty.
func linkTail(src []byte, at int) (target Span, end int, ok bool) {
	if at >= len(src) || src[at] != '(' {
		return Span{}, 0, false
	}
	i := skipBlank(src, at+1)
	target, i, ok = linkTarget(src, i)
	if !ok {
		return Span{}, 0, false
	}
	if title := skipBlank(src, i); title > i {
		if i, ok = linkTitle(src, title); !ok {
			return Span{}, 0, false
		}
		i = skipBlank(src, i)
	}
	return target, i + 1, i < len(src) && src[i] == ')'
}

func skipBlank(src []byte, at int) int {
	return skipAny(src, Span{at, len(src)}, " \t\r\n")
}

// linkTarget parses a target, and returns it, its end, and whether it is valid. In angle brackets
// it may contain blanks; otherwise it ends at the first blank, or at the closing parenthesis that
// has no opening one in the target.
func linkTarget(src []byte, at int) (Span, int, bool) {
	if at < len(src) && src[at] == '<' {
		for i := at + 1; i < len(src) && src[i] != '\n' && src[i] != '<'; i++ {
			if src[i] == '>' {
				return Span{at + 1, i}, i + 1, true
			}
			if src[i] == '\\' {
				i++
			}
		}
		return Span{}, 0, false
	}
	i, depth := at, 0
	for ; i < len(src) && src[i] > ' ' && src[i] != 0x7f; i++ {
		switch src[i] {
		case '\\':
			if i+1 < len(src) && src[i+1] > ' ' {
				i++
			}
		case '(':
			if depth++; depth > maxParens {
				return Span{}, 0, false
			}
		case ')':
			if depth == 0 {
				return Span{at, i}, i, true
			}
			depth--
		}
	}
	return Span{at, i}, i, depth == 0
}

// linkTitle returns the end of the title at the offset, or the offset itself if no title begins
// there. ok is false if the title is not closed.
func linkTitle(src []byte, at int) (int, bool) {
	if at == len(src) || bytes.IndexByte([]byte("\"'("), src[at]) < 0 {
		return at, true
	}
	end := src[at]
	if end == '(' {
		end = ')'
	}
	for i := at + 1; i < len(src); i++ {
		switch {
		case src[i] == '\\':
			i++
		case src[i] == end:
			return i + 1, true
		case src[i] == '(' && end == ')':
			return at, false
		}
	}
	return at, false
}
