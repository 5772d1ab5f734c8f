package httptool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
