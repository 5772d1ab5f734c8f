package lambdahost

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// renamedHeaders contains the headers of a function that a client gets under another name. This is
// documented for REST APIs, but not for HTTP APIs.
var renamedHeaders = map[string]string{"Www-Authenticate": "X-Amzn-Remapped-Www-Authenticate"}

// gatewayHeaders contains the headers that the gateway sets itself.
var gatewayHeaders = map[string]bool{"Content-Length": true, "Date": true, "Server": true}

// An answer is the response of a function to an event of version 2.0. A header has one value, as a
// string or another scalar; several cookies have a field of their own, because their values cannot
// be joined. Body is Base64 if IsBase64Encoded is set.
type answer struct {
	StatusCode      int                        `json:"statusCode"`
	Headers         map[string]json.RawMessage `json:"headers"`
	Cookies         []string                   `json:"cookies"`
	Body            string                     `json:"body"`
	IsBase64Encoded bool                       `json:"isBase64Encoded"`
}

// relay sends the response of a function. A response without a statusCode is the body of a 200, as
// JSON. A response that the gateway does not understand is a 500. The response to HEAD has the
// length of the body, and no body.
func (g *Gateway) relay(w http.ResponseWriter, r *http.Request, text []byte) {
	a, body, err := parseAnswer(text)
	if err != nil {
		refuse(w, http.StatusInternalServerError)
		return
	}
	for name, value := range a.Headers {
		setHeader(w.Header(), name, scalar(value))
	}
	for _, cookie := range a.Cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	code := a.StatusCode
	for name, from := range g.Overwrites[code] {
		for given, value := range a.Headers {
			if strings.EqualFold(given, from) {
				w.Header().Set(name, scalar(value))
			}
		}
	}
	if code != http.StatusNoContent && code != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
		}
	}
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// setHeader sets a header of the response, under its new name if it is renamed. It drops headers
// that the gateway sets itself, and those of a connection. Names are not case-sensitive.
func setHeader(h http.Header, name, value string) {
	name = http.CanonicalHeaderKey(name)
	if hopByHop[name] || gatewayHeaders[name] {
		return
	}
	if other := renamedHeaders[name]; other != "" {
		name = other
	}
	h.Set(name, value)
}

// scalar returns the value of a header: a string, or the JSON of a number or a bool, as a function
// may write either.
func scalar(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// parseAnswer decodes the response of a function, and returns it and its body. A status outside 200
// to 599, and a body that is not base64 although it should be, are errors.
func parseAnswer(text []byte) (answer, []byte, error) {
	if !json.Valid(text) {
		return answer{}, nil, errors.New("the answer is not JSON")
	}
	var of struct {
		StatusCode json.RawMessage `json:"statusCode"`
	}
	if json.Unmarshal(text, &of) != nil || of.StatusCode == nil {
		return plain(), text, nil
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return a, nil, err
	}
	if a.StatusCode < 200 || a.StatusCode > 599 {
		return a, nil, errors.New("the answer has no valid status")
	}
	if !a.IsBase64Encoded {
		return a, []byte(a.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(a.Body)
	return a, body, err
}

// plain returns the answer for a response that is only a body.
func plain() answer {
	kind := json.RawMessage(`"application/json"`)
	return answer{StatusCode: http.StatusOK, Headers: map[string]json.RawMessage{"content-type": kind}}
}
