package httptool

import (
	"mime"
	"net/http"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
)

// body reads the arguments in the body of a request; nil if there is no body. GET, HEAD and DELETE
// must not have a body, because proxies may drop it. A body that is too large, or does not fit into
// the caller's share, keeps the fault of package httpbody; the other faults have the code of the
// tool's family.
func (c *call) body(r *http.Request) ([]byte, error) {
	malformed := c.tool.Family.Malformed
	data, err := httpbody.Read(r)
	if fault.Is(err, fault.BatchTooLarge) || fault.Is(err, fault.Unavailable) {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(malformed, "the body of the request ended before it was whole").
			Because(err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	if reads(r.Method) || r.Method == http.MethodDelete {
		return nil, fault.New(malformed, "a %s takes its arguments from the query, not from a body",
			r.Method).Fix("POST /v1/tools/%s", c.tool.Name)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, fault.New(malformed, "a body must not be compressed").
			Fix("send it without Content-Encoding")
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, fault.New(malformed, "the body must be JSON, with the matching Content-Type").
			Fix("Content-Type: application/json")
	}
	return data, nil
}

// isJSON reports whether a media type is JSON in UTF-8. Other media types, such as that of a form,
// are refused: a page of another site could send them without a preflight request.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	return err == nil && media == "application/json" &&
		(charset == "" || strings.EqualFold(charset, "utf-8"))
}
