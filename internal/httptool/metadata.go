package httptool

import (
	"net/http"
	"strings"

	"github.com/rookeryhq/rookery/internal/access"
)

// serveMetadata serves the OAuth metadata of protected resources (RFC 9728): for the whole server,
// and for each path of a mounted Resource. It needs no token, and pages of every origin may read
// it, because it is public and a client in a browser needs it before it has a token. This does not
// allow such a page to call tools; see Options.Origins.
func (s *server) serveMetadata(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document := s.metadata(r.URL.Path)
		if document == nil {
			next.ServeHTTP(w, r)
			return
		}
		noteOf(r).route = access.WellKnown
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch {
		case isPreflight(r):
			h.Set("Access-Control-Allow-Methods", "GET, HEAD")
			h.Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
			h.Set("Access-Control-Max-Age", corsAge)
			w.WriteHeader(http.StatusNoContent)
		case !reads(r.Method):
			s.notAllowed(w, r, []string{http.MethodGet})
		default:
			h.Set("Cache-Control", "public, max-age=300")
			body(w, http.StatusOK, document)
		}
	})
}

// metadata returns the document at a path, or nil if there is none: for the whole server, or for a
// path of a mounted Resource. There is none without a public URL and issuers.
func (s *server) metadata(path string) []byte {
	at, ok := strings.CutPrefix(path, access.WellKnown)
	if s.opt.Only != nil || !ok || at != "" && !s.isResource(at) {
		return nil
	}
	return s.opt.Resource.Metadata(at)
}

// isResource reports whether a path belongs to a mounted Resource.
func (s *server) isResource(path string) bool {
	h, _ := s.mountOf(path)
	resource, ok := h.(Resource)
	return ok && resource.Serves(path)
}
