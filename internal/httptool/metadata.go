package httptool

import (
	"net/http"
	"strings"

	"rookery/internal/access"
)

// described answers where tokens are to be had (RFC 9728): for the whole server, and for each path of a
// mounted Resource. No token is needed, and pages of every origin may read it: it says the same to
// everybody, and a client that runs in a browser has to read it before it can show a token. That says
// nothing of what such a page may call; see Options.Origins.
func (s *server) described(next http.Handler) http.Handler {
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

// metadata is the document at a path; nil if there is none.
func (s *server) metadata(path string) []byte {
	at, ok := strings.CutPrefix(path, access.WellKnown)
	if s.opt.Only != nil || !ok || at != "" && !s.isResource(at) {
		return nil
	}
	return s.opt.Resource.Metadata(at)
}

// isResource reports whether a path is one of a mounted Resource.
func (s *server) isResource(path string) bool {
	h, _ := s.mountOf(path)
	resource, ok := h.(Resource)
	return ok && resource.Serves(path)
}
