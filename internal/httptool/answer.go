package httptool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An answer is the answer of a call, and how to write it.
type answer struct {
	*tool.Answer
	bare bool // the caller wants the data without the envelope
}

// write writes the response to a call. The ETag is the version in the answer's meta. In the bare
// form the warnings are sent in a header.
func (s *server) write(w http.ResponseWriter, r *http.Request, a answer) {
	if version, _ := a.Meta["version"].(string); version != "" {
		w.Header().Set("ETag", `"`+version+`"`)
	}
	data := a.JSON()
	if a.bare {
		var err error
		if data, err = a.Bare(); err != nil {
			s.refuse(w, r, fault.Of(err))
			return
		}
		if text := warningsHeader(a.Warnings); text != "" {
			w.Header().Set("X-Warnings", text)
		}
	}
	s.send(w, r, a.Fault, data)
}

// family returns the family of the requested tool, or nil if there is none.
func (s *server) family(r *http.Request) *tool.Family {
	if t := noteOf(r).tool; t != nil {
		return t.Family
	}
	return nil
}

// refuse answers a request that does not reach a tool with a fault.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	g := *f
	g.RequestID = noteOf(r).id
	s.send(w, r, &g, tool.Refusal(&g, s.family(r)))
}

// refuseUnread refuses a request whose body is not read. Without this the server would read the
// body before it answers, for as long as the client takes to send it. It is for every refusal
// before authentication.
func (s *server) refuseUnread(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	closeAfterAnswer(w, r)
	s.refuse(w, r, f)
}

// closeAfterAnswer closes the connection after the answer if the request has a body.
func closeAfterAnswer(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		httpbody.StopReading(w, r)
	}
}

// notAllowed answers a request with a method that its path does not have, with status 405 and the
// header Allow. A path with GET also has HEAD. OPTIONS without CORS is such a method too.
func (s *server) notAllowed(w http.ResponseWriter, r *http.Request, allowed []string) {
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(slices.Clone(allowed), http.MethodHead)
		slices.Sort(allowed)
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	closeAfterAnswer(w, r)
	f := fault.New(fault.InvalidParameter, "this path does not support the method").
		With("allowed", allowed).Fix("use %s", list)
	f.RequestID = noteOf(r).id
	noteOf(r).code = f.Code
	body(w, http.StatusMethodNotAllowed, tool.Refusal(f, nil))
}

// send writes a response with the status and the headers for its fault; nil means success. The code
// of the fault is added to the log line.
func (s *server) send(
	w http.ResponseWriter, r *http.Request, f *fault.Fault, data json.RawMessage,
) {
	if f == nil {
		body(w, http.StatusOK, data)
		return
	}
	noteOf(r).code = f.Code
	if wait := waitOf(f); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	s.challenge(w, r, f)
	body(w, f.HTTP(), data)
}

// challenge sets WWW-Authenticate if the request needs a token or a better one, and counts
// unauthenticated requests. The challenge is that of the whole server, because the HTTP routes are
// one resource.
func (s *server) challenge(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	sent := access.HasBearerToken(r.Header)
	if c := s.opt.Resource.Challenge("", f, sent); c != "" {
		w.Header().Set("WWW-Authenticate", c)
	}
	if f.Status() == fault.StatusUnauthenticated {
		s.opt.Meter.Refused(access.Unauthenticated(f, sent))
	}
}

// waitOf returns the delay before the call should be repeated. For an unavailable server or an
// exceeded rate it is one second if the fault specifies none.
func waitOf(f *fault.Fault) time.Duration {
	again := f.Status() == fault.StatusUnavailable || f.Status() == fault.StatusRateLimited
	if f.RetryAfter == 0 && again {
		return time.Second
	}
	return f.RetryAfter
}

// body writes a JSON response.
func body(w http.ResponseWriter, status int, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // on an error the client has disconnected
}

// maxWarnings is the maximum size, in bytes, of the warnings in the header of a bare answer.
const maxWarnings = 4 << 10

// warningsHeader returns the warnings as a JSON list in ASCII, truncated to maxWarnings, or "" if
// there are none. A truncated list ends with the warning WARNINGS_TRUNCATED, which has the total.
func warningsHeader(all []tool.Warning) string {
	var entries []string
	room := maxWarnings
	for i, warning := range all {
		entry := ascii(warning)
		if room -= len(entry) + 1; room < 0 {
			cut := tool.Warning{Code: "WARNINGS_TRUNCATED",
				Message: fmt.Sprintf("only the first %d of %d warnings are listed", i, len(all)),
				Fields:  map[string]any{"total": len(all)}}
			entries = append(entries, ascii(cut))
			break
		}
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return ""
	}
	return "[" + strings.Join(entries, ",") + "]"
}

// ascii returns a warning as JSON with all non-ASCII characters escaped, as a header requires.
func ascii(w tool.Warning) string {
	data, err := tool.Marshal(w)
	if err != nil {
		return "{}"
	}
	var b strings.Builder
	for _, c := range string(data) {
		switch {
		case c < 0x7F:
			b.WriteRune(c)
		case c > 0xFFFF:
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+c>>10, 0xDC00+c&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// A page is a text that is the same for all callers. It is built and compressed once, on the first
// request, also by concurrent ones. An error is kept too.
type page func() (static, error)

// A static is the text of a page, plain and compressed with gzip.
type static struct{ plain, zipped []byte }

// newPage returns a page with the text that a function returns.
func newPage(text func() ([]byte, error)) page {
	return sync.OnceValues(func() (static, error) {
		plain, err := text()
		if err != nil {
			return static{}, err
		}
		var zipped bytes.Buffer
		z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if err != nil {
			return static{}, err
		}
		if _, err := z.Write(plain); err != nil {
			return static{}, err
		}
		if err := z.Close(); err != nil {
			return static{}, err
		}
		return static{plain, zipped.Bytes()}, nil
	})
}

// write writes a page with a media type. It relies on the gzhttp wrapper, which detects whether the
// client accepts gzip and does not compress a response that is already compressed. So a page is
// compressed once, and better than a response could be.
func (p static) write(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	text := p.plain
	if _, takes := w.(*gzhttp.GzipResponseWriter); takes {
		w.Header().Set("Content-Encoding", "gzip")
		text = p.zipped
	}
	_, _ = w.Write(text) // on an error the client has disconnected
}

// VersionMark is the text in Options.Docs that is replaced by the version of the program.
const VersionMark = "<!--version-->"

// docs returns the handler of the page that describes all tools. Its Content-Security-Policy allows
// only the one style and the one script in the page, by their digests, and no other resources. The
// digests are those of text, so the version must not be within either.
func (s *server) docs(text []byte) http.HandlerFunc {
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'", digestOf(text, "style"), digestOf(text, "script"))
	page := newPage(func() ([]byte, error) {
		version := ""
		if s.opt.Version != "" {
			version = "Version " + html.EscapeString(s.opt.Version) + ". "
		}
		return bytes.Replace(text, []byte(VersionMark), []byte(version), 1), nil
	})
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := page()
		if err != nil {
			s.refuse(w, r, fault.Of(err))
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		text.write(w, "text/html; charset=utf-8")
	}
}

// digestOf returns the digest of the first element with a name, in the form of a
// Content-Security-Policy. Without such an element it is the digest of the empty text, which allows
// nothing.
func digestOf(page []byte, element string) string {
	_, rest, _ := bytes.Cut(page, []byte("<"+element+">"))
	inner, _, _ := bytes.Cut(rest, []byte("</"+element+">"))
	digest := sha256.Sum256(inner)
	return "sha256-" + base64.StdEncoding.EncodeToString(digest[:])
}
