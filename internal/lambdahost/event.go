package lambdahost

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// A request is the input of an event: a request of HTTP, and what the gateway has found out about
// it.
type request struct {
	r          *http.Request
	id         string
	path       string // decoded
	key        string // the key of the route
	parameters map[string]string
	body       []byte
}

// hopByHop contains the headers that end at the gateway (RFC 9110 §7.6.1).
var hopByHop = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Authorization": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// decodedPath returns the path as an HTTP API passes it on: decoded, including escaped slashes, and
// cut at the first escaped "?". Not documented.
func decodedPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.URL.Path, "?")
	return path
}

// event returns the event in version 2.0 of the payload format. Names of the account, the API and
// the stage are made up. The time is that of the call.
func (in request) event() ([]byte, error) {
	now := time.Now()
	body, encoded := in.text()
	e := events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              in.key,
		RawPath:               in.path,
		RawQueryString:        in.r.URL.RawQuery,
		Cookies:               in.cookies(),
		Headers:               in.headers(),
		QueryStringParameters: joined(in.r.URL.RawQuery),
		PathParameters:        in.parameters,
		Body:                  body,
		IsBase64Encoded:       encoded,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey:   in.key,
			AccountID:  "000000000000",
			Stage:      defaultRoute,
			RequestID:  in.id,
			APIID:      "local",
			DomainName: in.r.Host,
			Time:       now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
			TimeEpoch:  now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method:    in.r.Method,
				Path:      in.path,
				Protocol:  in.r.Proto,
				SourceIP:  in.source(),
				UserAgent: in.r.UserAgent(),
			},
		},
	}
	return json.Marshal(e)
}

// headers returns the headers of the request, with names in lower case, and with the values of one
// name joined by commas. It omits cookies and hop-by-hop headers, and adds the headers of the
// gateway (not documented: which). The client's address is appended to X-Forwarded-For.
func (in request) headers() map[string]string {
	all := map[string]string{}
	for name, values := range in.r.Header {
		if name != "Cookie" && !hopByHop[name] {
			all[strings.ToLower(name)] = strings.Join(values, ",")
		}
	}
	all["host"] = in.r.Host
	all["x-amzn-trace-id"] = strings.Split(traceID(), ";")[0]
	all["x-forwarded-proto"] = "https"
	all["x-forwarded-port"] = "443"
	all["x-forwarded-for"] = in.source()
	if before := in.r.Header.Values("X-Forwarded-For"); len(before) > 0 {
		all["x-forwarded-for"] = strings.Join(before, ", ") + ", " + in.source()
	}
	if len(in.body) > 0 {
		all["content-length"] = strconv.Itoa(len(in.body))
	}
	return all
}

// cookies returns the cookies of all Cookie headers.
func (in request) cookies() []string {
	var all []string
	for _, line := range in.r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				all = append(all, cookie)
			}
		}
	}
	return all
}

// source returns the address of the client, without its port, from the connection and not from a
// header.
func (in request) source() string {
	host, _, err := net.SplitHostPort(in.r.RemoteAddr)
	if err != nil {
		return in.r.RemoteAddr
	}
	return host
}

// text returns the body, in base64 if it is not text; see isText. An empty body is never encoded.
func (in request) text() (body string, encoded bool) {
	if len(in.body) == 0 {
		return "", false
	}
	if isText(in.r.Header) {
		return string(in.body), false
	}
	return base64.StdEncoding.EncodeToString(in.body), true
}

// isText reports whether a body is not encoded in an event: uncompressed text, JSON, XML and
// JavaScript. Bytes of it that are not UTF-8 become U+FFFD when the event is marshalled, so such a
// body is damaged, as it would be in the cloud. Not documented.
func isText(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || h.Get("Content-Encoding") != "" {
		return false
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(kind, "text/") ||
		strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// joined returns the decoded parameters of a query, with the values of one name joined by commas.
// It drops parameters that cannot be decoded. It is nil without parameters; the raw query is in the
// event too.
func joined(query string) map[string]string {
	values, _ := url.ParseQuery(query)
	if len(values) == 0 {
		return nil
	}
	all := make(map[string]string, len(values))
	for name, of := range values {
		all[name] = strings.Join(of, ",")
	}
	return all
}
