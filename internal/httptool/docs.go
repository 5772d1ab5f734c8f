package httptool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"

	"rookery/internal/fault"
)

// VersionMark is the place in Options.Docs for the version of the program.
const VersionMark = "<!--version-->"

// docs answers the page that describes all tools. Its headers let it run nothing and load nothing: it has one
// style, in its text.
func (s *server) docs(text []byte) http.HandlerFunc {
	_, rest, _ := bytes.Cut(text, []byte("<style>"))
	style, _, _ := bytes.Cut(rest, []byte("</style>"))
	digest := sha256.Sum256(style)
	policy := fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(digest[:]))
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
