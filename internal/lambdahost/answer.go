package lambdahost

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// renamed are headers of a function that a client sees under another name. Documented for REST APIs, and not for HTTP
// APIs.
var renamed = map[string]string{"Www-Authenticate": "X-Amzn-Remapped-Www-Authenticate"}

// ours are headers of a function that the gateway sets itself.
var ours = map[string]bool{"Content-Length": true, "Date": true, "Server": true}

// An answer is what a function returns for an event of version 2.0.
type answer struct {
	StatusCode      int                        `json:"statusCode"`
	Headers         map[string]json.RawMessage `json:"headers"`
	Cookies         []string                   `json:"cookies"`
	Body            string                     `json:"body"`
	IsBase64Encoded bool                       `json:"isBase64Encoded"`
}

// relay sends the answer of a function. An answer without a statusCode is a 200 whose body is the answer
// itself, as JSON. One that the gateway does not understand is a 500.
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

func setHeader(h http.Header, name, value string) {
	name = http.CanonicalHeaderKey(name)
	if hopByHop[name] || ours[name] {
		return
	}
	if other := renamed[name]; other != "" {
		name = other
	}
	h.Set(name, value)
}

// scalar is a value of a header: a string, or a number or a truth value as JSON writes it.
func scalar(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

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

// plain is the answer of a function that returns only a body.
func plain() answer {
	kind := json.RawMessage(`"application/json"`)
	return answer{StatusCode: http.StatusOK, Headers: map[string]json.RawMessage{"content-type": kind}}
}
