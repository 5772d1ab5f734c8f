package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a token may be at most, before anything in it is believed.
const (
	maxToken = 16 << 10 // bytes; tokens with 200 groups have 10 KiB
	maxKeyID = 256      // bytes
	maxDepth = 16       // of arrays and objects in one another
)

// A Peeked token says what an unverified token claims. It is good for choosing the issuer to verify it
// against, and for nothing else.
type Peeked struct {
	Issuer   string
	Audience []string
}

// Peek reads a token without verifying it. A token that no issuer can have made is Refused.
func Peek(token string) (Peeked, error) {
	t, err := parse(token)
	if err != nil {
		return Peeked{}, Refused().Because(err)
	}
	issuer, _ := t.claims["iss"].(string)
	audience, ok := listOf(t.claims["aud"])
	if issuer == "" || !ok {
		return Peeked{}, Refused().Because(errors.New("iss or aud is missing or has a wrong form"))
	}
	return Peeked{Issuer: issuer, Audience: audience}, nil
}

// unverified is a token that has the right form: a JWS in compact serialization (RFC 7515 §3.1) whose
// payload is an object.
type unverified struct {
	alg, kid string
	claims   map[string]any
}

// parse is stricter than the RFCs where they let two readers see different tokens: base64 with padding,
// line breaks or stray bits, JSON with a name twice, text that is no UTF-8.
func parse(token string) (unverified, error) {
	if len(token) > maxToken {
		return unverified{}, errTooLong
	}
	if strings.ContainsAny(token, "\r\n") { // which decoders of base64 skip
		return unverified{}, errors.New("it has line breaks")
	}
	segments := strings.Split(token, ".")
	if len(segments) != 3 || segments[2] == "" {
		return unverified{}, errors.New("it has not the three segments of a signed token")
	}
	header, err := decode(segments[0])
	if err != nil {
		return unverified{}, err
	}
	claims, err := decode(segments[1])
	if err != nil {
		return unverified{}, err
	}
	t := unverified{claims: claims}
	return t, t.read(header)
}

// neverIn are header parameters of tokens that are refused: a token does not bring the key that it is
// verified with (RFC 8725 §3.10), nor rules of its own (RFC 7515 §4.1.11), nor another token.
var neverIn = []string{"jwk", "jku", "x5u", "crit", "cty", "b64", "zip"}

// types are the values of `typ` that tokens for us have (RFC 7519 §5.1, RFC 9068 §2.1), in lower case.
var types = []string{"jwt", "at+jwt"}

func (t *unverified) read(header map[string]any) error {
	for _, name := range neverIn {
		if _, there := header[name]; there {
			return errors.New("its header has " + name)
		}
	}
	var ok bool
	if t.alg, ok = header["alg"].(string); !ok {
		return errors.New("its header has no alg")
	}
	kid, there := header["kid"]
	if t.kid, ok = kid.(string); there && (!ok || t.kid == "" || len(t.kid) > maxKeyID) {
		return errors.New("its kid has a wrong form")
	}
	typ, there := header["typ"]
	text, _ := typ.(string)
	text = strings.TrimPrefix(strings.ToLower(text), "application/")
	if there && !slices.Contains(types, text) {
		return errors.New("its typ is not that of a token")
	}
	return nil
}

// decode is the JSON object in a segment.
func decode(segment string) (map[string]any, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil || !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, errors.New("a segment is no JSON in base64url")
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	value, err := next(d, maxDepth)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("a segment is no object")
	}
	return object, nil
}

// next is the next value of valid JSON, in which no object has a name twice.
func next(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, errors.New("a segment is no JSON")
	}
	if depth == 0 {
		return nil, errors.New("a segment is nested too deeply")
	}
	switch token {
	case json.Delim('{'):
		return object(d, depth)
	case json.Delim('['):
		return array(d, depth)
	}
	return token, nil
}

func object(d *json.Decoder, depth int) (any, error) {
	members := map[string]any{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.New("a segment is no JSON")
		}
		text, _ := name.(string)
		if _, twice := members[text]; twice {
			return nil, errors.New("a segment has a name twice")
		}
		if members[text], err = next(d, depth-1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return members, err
}

func array(d *json.Decoder, depth int) (any, error) {
	elements := []any{}
	for d.More() {
		value, err := next(d, depth-1)
		if err != nil {
			return nil, err
		}
		elements = append(elements, value)
	}
	_, err := d.Token()
	return elements, err
}
