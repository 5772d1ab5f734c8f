package auth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of tokens that are checked before verification.
const (
	maxToken = 16 << 10 // bytes; tokens with 200 groups have 10 KiB
	maxKeyID = 256      // bytes
	maxDepth = 16       // nesting depth of arrays and objects
)

// A Peeked contains unverified claims of a token. Use it only to choose the issuer to verify the
// token with.
type Peeked struct {
	Issuer   string
	Audience []string
}

// Peek parses a token without verifying it. It returns Refused for a token that no issuer can have
// created. It costs no network and no cryptography, so it may be called for every request before
// anything else is known.
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

// An unverified is a token of valid form: a JWS in compact serialization (RFC 7515 §3.1) with an
// object as its payload.
type unverified struct {
	alg, kid string
	claims   map[string]any
}

// parse parses a token. It is stricter than the RFCs where parsers could disagree: it refuses
// base64 with padding, line breaks or stray bits, JSON with duplicate names, and invalid UTF-8.
func parse(token string) (unverified, error) {
	if len(token) > maxToken {
		return unverified{}, errTooLong
	}
	if strings.ContainsAny(token, "\r\n") { // base64 decoders skip them
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

// refusedHeaders are header parameters of refused tokens: a token must not contain the key that verifies
// it (RFC 8725 §3.10), extensions (RFC 7515 §4.1.11), or another token.
var refusedHeaders = []string{"jwk", "jku", "x5u", "crit", "cty", "b64", "zip"}

// types are the accepted values of `typ` (RFC 7519 §5.1, RFC 9068 §2.1), in lower case.
var types = []string{"jwt", "at+jwt"}

// read checks the header, and reads alg and kid from it.
func (t *unverified) read(header map[string]any) error {
	for _, name := range refusedHeaders {
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

// decode returns the JSON object in a segment.
func decode(segment string) (map[string]any, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(segment)
	if err != nil || !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, errors.New("a segment is not JSON in base64url")
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	value, err := next(d, maxDepth)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("a segment is not an object")
	}
	return object, nil
}

// next returns the next value of valid JSON, with numbers as json.Number. It returns an error for
// an object with duplicate names, of which parsers disagree about the valid one, and for arrays and
// objects nested more than depth levels deep.
func next(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, errors.New("a segment is not JSON")
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

// object returns the rest of an object, after its opening brace.
func object(d *json.Decoder, depth int) (any, error) {
	members := map[string]any{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.New("a segment is not JSON")
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

// array returns the rest of an array, after its opening bracket.
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
