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

// docs answers the page that describes all tools. Its headers let it load nothing, and run nothing but the one script
// in its text; the one style is there too.
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

// digestOf is the digest of the first element of a name, as a policy has it.
func digestOf(page []byte, element string) string {
	_, rest, _ := bytes.Cut(page, []byte("<"+element+">"))
	inner, _, _ := bytes.Cut(rest, []byte("</"+element+">"))
	digest := sha256.Sum256(inner)
	return "sha256-" + base64.StdEncoding.EncodeToString(digest[:])
}
