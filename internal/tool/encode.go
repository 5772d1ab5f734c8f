package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
)

// answer returns the encoded answer of a call from the tool's reply r or its error err. If the
// reply cannot be encoded, the answer is that failure.
func (c *Catalogue) answer(ctx context.Context, run *running, r Reply, err error) *Answer {
	var f *fault.Fault
	if err != nil {
		f = c.failure(ctx, run, err)
	}
	a, err := c.encode(run, r, f)
	if err != nil {
		return run.failed(c.failure(ctx, run, err))
	}
	return a
}

// encode returns the encoded answer of a reply and, if the call failed, its fault. It adds the
// warnings of the interceptors and query_time_ms, selects the fields that `only` names, and
// completes the fixes. Data and meta of a failed call are dropped unless the reply is marked
// Partial, because they may be incomplete.
func (c *Catalogue) encode(run *running, r Reply, f *fault.Fault) (*Answer, error) {
	a := run.failed(f)
	a.Warnings = r.Warnings
	if run.call != nil {
		a.Warnings = slices.Concat(run.call.Warnings, r.Warnings)
	}
	a.Warnings = truncated(a.Warnings)
	whole := f == nil || r.Partial
	if whole {
		a.Meta = maps.Clone(r.Meta)
		if a.Meta == nil {
			a.Meta = Meta{}
		}
		// The clock may be set back during the call; the time is never negative.
		a.Meta["query_time_ms"] = max(0, c.opt.Now().Sub(run.start).Milliseconds())
		var err error
		if a.begun, err = marshal(&answerWriter{before: dataOfOK, room: envelopeRoom}, r.Data); err != nil {
			return nil, err
		}
		a.Data = slices.Clip(a.begun[len(dataOfOK):])
		if f == nil && len(run.shared.Only) > 0 {
			if a.Data, err = run.call.Tool.only(a.Data, named(run.shared.Only)); err != nil {
				return nil, err
			}
		}
	}
	if !a.bare && (len(a.Warnings) > 0 || whole && r.inner) {
		a.changeFixes(func(fix string) string {
			arranged, _ := c.arrange(run, fix)
			return cmp.Or(arranged, fix)
		})
	}
	return a, a.encode()
}

// failed returns the answer of a call that failed with a fault and without data.
func (run *running) failed(f *fault.Fault) *Answer {
	return &Answer{Fault: f, family: run.family(), bare: run.bare()}
}

// failure converts an error to a fault with the request id and fixes that the caller can follow. It
// logs internal faults. If the deadline passed or the caller left, the fault is UNAVAILABLE, unless
// the error is already classified as UNAVAILABLE, STORAGE_ERROR or INDEX_BUSY: these may report
// whether anything was written.
func (c *Catalogue) failure(ctx context.Context, run *running, err error) *fault.Fault {
	switch ended := ctx.Err(); {
	case ended == nil, fault.Is(err, fault.Unavailable), fault.Is(err, fault.StorageError),
		fault.Is(err, fault.IndexBusy):
	case errors.Is(err, context.DeadlineExceeded):
		err = fault.New(fault.Unavailable, "the call did not end in time").Because(err)
	case errors.Is(err, context.Canceled):
		err = fault.New(fault.Unavailable, "the caller did not wait for the answer").Because(err)
	}
	f := mapFixes(fault.Of(err), func(fix string) (string, bool) { return c.arrange(run, fix) })
	if family := run.family(); family != nil && family.AddDetails != nil {
		f = family.AddDetails(run.call.Tool.Name, f)
	}
	f.RequestID = run.caller.RequestID
	if f.Status() == fault.StatusInternal {
		c.opt.Log.ErrorContext(ctx, "call failed", slog.String("tool", run.name),
			slog.String("request_id", f.RequestID), slog.String("code", string(f.Code)),
			slog.Any("cause", errors.Unwrap(f)))
	}
	return f
}

// CheckFits returns a BATCH_TOO_LARGE fault if an output is larger than an answer may be, else nil.
// out is a pointer to the output. A tool that changes something must call it before it writes the
// change.
func CheckFits(out any) error {
	n := SizeOf(out)
	if a, ok := out.(hasAside); ok {
		n += SizeOf(a.aside().Warnings[:min(len(a.aside().Warnings), maxWarnings)]) + SizeOf(a.aside().Meta)
	}
	if n <= MaxBody-maxEnvelope {
		return nil
	}
	return tooLarge(n).Fix("change less in one call; nothing was changed")
}

// maxEnvelope is the upper bound, in bytes, of what an answer adds to the tool's own data, warnings
// and meta.
const maxEnvelope = 4 << 10

// tooLarge returns the fault of an answer of n bytes, which is more than MaxBody.
func tooLarge(n int) *fault.Fault {
	return fault.New(fault.BatchTooLarge, "the answer would have about %d bytes; the limit is %d",
		n, MaxBody)
}

// oversized returns the answer of a call instead of a, which takes n bytes as quoted JSON: a short
// failure. It is the last check of the size, for all projections; Aside.Fits is the first. Of a
// call that had already failed, the failure keeps its code and the beginning of its message.
func (c *Catalogue) oversized(ctx context.Context, run *running, a *Answer, n int) *Answer {
	f := tooLarge(n)
	switch was := a.Fault; {
	case was != nil: // keep the code and the message; drop details, problems and fixes
		f = fault.New(was.Code, "%s", Beginning(was.Message, maxMessage)).
			With("left_out", "details, problems and fixes: the answer would be too large").Because(was.Unwrap())
	case run.call.Tool.Kind.Mutates():
		f.Message = "the call is complete, but its answer cannot be shown: " + f.Message
	default:
		f = f.Fix("ask for less: a smaller limit, a page, or a part of the text")
	}
	return run.failed(c.failure(ctx, run, f))
}

// maxMessage is the number of bytes of a fault's message that remain when the other parts of the
// fault are too large for an answer.
const maxMessage = 1 << 10

// An Answer is the result of one call. Its JSON has at most MaxBody bytes, also after quoting as a
// JSON string. Its fields must not be changed. The zero value is a success without data.
type Answer struct {
	Data     json.RawMessage // JSON of the tool's output; nil: there is none
	Warnings []Warning       // at most maxWarnings
	Meta     Meta
	Fault    *fault.Fault // nil: the call succeeded

	family *Family         // of the tool; nil: no tool was called
	bare   bool            // the caller asked for the data without the envelope
	text   json.RawMessage // see JSON; nil: it is not encoded yet
	begun  []byte          // dataOfOK and the data as it was encoded first, with room for the rest; nil: none
}

// dataOfOK is the text of an answer without a fault up to its data.
const dataOfOK = `{"ok":true,"data":`

// isBegun reports whether the text of the answer begins with begun: whether it has no fault, and its
// data was not changed.
func (a *Answer) isBegun() bool {
	return a.Fault == nil && len(a.begun) > len(dataOfOK) && len(a.Data) > 0 && &a.Data[0] == &a.begun[len(dataOfOK)]
}

// JSON returns the answer in the form that the caller asked for: the envelope, or the bare form if
// the arguments have envelope: false.
func (a *Answer) JSON() json.RawMessage {
	if a.text == nil {
		if err := a.encode(); err != nil {
			panic(err) // the catalogue has encoded it before
		}
	}
	return a.text
}

// Result returns the answer as Invoke does: its JSON, and its fault as the error.
func (a *Answer) Result() (json.RawMessage, error) {
	if a.Fault != nil {
		return a.JSON(), a.Fault
	}
	return a.JSON(), nil
}

// Bare returns the data without the envelope or, if the call failed, the fault in the form of the
// tool's family.
func (a *Answer) Bare() (json.RawMessage, error) {
	if a.Fault != nil {
		return Marshal(a.family.BareFault(a.Fault))
	}
	return a.Data, nil
}

// encode sets the text of the answer. The data is inserted as it is, because it is JSON already and
// may be large.
func (a *Answer) encode() (err error) {
	if a.bare {
		a.text, err = a.Bare()
		return err
	}
	e := envelope{
		OK: a.Fault == nil, Error: failedIn(a.family, a.Fault), Warnings: a.Warnings, Meta: a.Meta,
	}
	if e.Warnings == nil {
		e.Warnings = []Warning{}
	}
	if a.text, err = Marshal(e); err != nil || a.Data == nil {
		return err
	}
	i := bytes.IndexByte(a.text, ',') // after ok
	if a.isBegun() {
		a.text = append(a.begun, a.text[i:]...)
	} else {
		a.text = slices.Concat(a.text[:i], []byte(`,"data":`), a.Data, a.text[i:])
	}
	a.begun = nil // a copy of the answer with other fixes must not write into the same memory
	return nil
}

// Refusal returns the answer of a call that a projection refuses before it reaches a tool. family
// is that of the requested tool, or nil if the tool is unknown.
func Refusal(f *fault.Fault, family *Family) json.RawMessage {
	return (&Answer{Fault: f, family: family}).JSON()
}

// maxWarnings is the maximum number of warnings in one answer (CONTRACT §1).
const maxWarnings = 100

// An envelope is the JSON form of every answer (CONTRACT §1), without its data, which follows ok.
type envelope struct {
	OK       bool      `json:"ok"`
	Error    *failed   `json:"error,omitempty"`
	Warnings []Warning `json:"warnings"`
	Meta     Meta      `json:"meta,omitempty"`
}

// A failed is the `error` of an envelope.
type failed struct {
	fault *fault.Fault
	also  map[string]any // further members, added by the family
}

// MarshalJSON writes the members of the fault first, then the others by name.
func (f *failed) MarshalJSON() ([]byte, error) {
	data, err := Marshal(f.fault)
	if err != nil || len(f.also) == 0 {
		return data, err
	}
	rest, err := Marshal(f.also)
	if err != nil {
		return nil, err
	}
	return append(append(data[:len(data)-1], ','), rest[1:]...), nil
}

// failedIn returns the `error` of an envelope, or nil if f is nil. family may be nil.
func failedIn(family *Family, f *fault.Fault) *failed {
	if f == nil {
		return nil
	}
	e := &failed{fault: f}
	if family != nil && family.Also != nil {
		e.also = family.Also(f)
	}
	return e
}

// truncated returns at most maxWarnings warnings. If there are more, the last one reports that.
func truncated(all []Warning) []Warning {
	n := len(all)
	if n <= maxWarnings {
		return all
	}
	return append(all[:maxWarnings-1:maxWarnings-1], Warning{
		Code:    "WARNINGS_TRUNCATED",
		Message: fmt.Sprintf("only the first %d of %d warnings are listed", maxWarnings-1, n),
		Fields:  map[string]any{"total": n},
	})
}

// Aside is embedded in the output of every tool, with the tag `json:"-"`. It contains the parts of
// an answer outside its data: warnings and meta. An Aside belongs to one call and is not safe for
// concurrent use.
type Aside struct {
	Warnings []Warning
	Meta     Meta

	// Failed is the fault of a call that failed in part: its other effects, and this answer, are
	// committed, and the answer has Failed as its error. Nil: the call did not fail in part.
	Failed *fault.Fault

	taken int // bytes of JSON of the items that Fits has accepted
}

// Warn adds a warning. fields are its keys other than code and message.
func (a *Aside) Warn(code, message string, fields map[string]any) {
	a.Warnings = append(a.Warnings, Warning{code, message, fields})
}

// Note sets one key of the meta.
func (a *Aside) Note(key string, value any) {
	if a.Meta == nil {
		a.Meta = Meta{}
	}
	a.Meta[key] = value
}

// Failure returns the fault of a call that failed in part, or nil.
func (a *Aside) Failure() *fault.Fault { return a.Failed }

// aside returns the Aside embedded in an output.
func (a *Aside) aside() *Aside { return a }

// hasAside is implemented by a pointer to every output that embeds an Aside.
type hasAside interface{ aside() *Aside }

// A Partial is an output whose data may contain failures of single items. Partly reports whether
// the data and meta are still valid if the call as a whole fails.
type Partial interface{ Partly() bool }

// Meta is the `meta` of an envelope: version, count, total, has_more, next_page_token and others.
type Meta map[string]any

// An Object is a JSON object in an answer whose keys are not known beforehand. Its members keep
// their order.
type Object json.RawMessage

// MarshalJSON returns the JSON unchanged, or null for nil.
func (o Object) MarshalJSON() ([]byte, error) { return json.RawMessage(o).MarshalJSON() }

// A Warning is one entry of an envelope's `warnings`. Fields are encoded beside code and message.
type Warning struct {
	Code    string
	Message string
	Fields  map[string]any
}

// MarshalJSON writes code and message first, then the fields by name.
func (w Warning) MarshalJSON() ([]byte, error) {
	head, err := Marshal(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}{w.Code, w.Message})
	if err != nil || len(w.Fields) == 0 {
		return head, err
	}
	rest, err := Marshal(w.Fields)
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), rest[1:]...), nil
}

// UnmarshalJSON decodes the form that MarshalJSON writes.
func (w *Warning) UnmarshalJSON(data []byte) error {
	all := map[string]any{}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	w.Code, _ = all["code"].(string)
	w.Message, _ = all["message"].(string)
	delete(all, "code")
	delete(all, "message")
	w.Fields = nil
	if len(all) > 0 {
		w.Fields = all
	}
	return nil
}

// A Reply is the result of one call before it is put in an envelope.
type Reply struct {
	Data     any
	Warnings []Warning
	Meta     Meta

	Partial bool // data and meta are valid even if the call failed
	Wrote   bool // the call failed in part; its other effects are committed

	inner bool // the data may contain failures with fixes
}

// Marshal returns the JSON of a value in the form used for all answers: compact, with <, > and &
// not escaped.
func Marshal(v any) (json.RawMessage, error) {
	return marshal(&answerWriter{}, v)
}

// marshal writes the JSON of a value and returns all that was written.
func marshal(w *answerWriter, v any) ([]byte, error) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(w.data, []byte("\n")), nil
}

// An answerWriter collects what is written to it after a text, in memory of that size and some room.
type answerWriter struct {
	before string
	room   int
	data   []byte
}

// envelopeRoom is enough room, in bytes, for the rest of an answer without warnings.
const envelopeRoom = 128

// Write implements io.Writer. An encoder calls it once for a value.
func (w *answerWriter) Write(p []byte) (int, error) {
	if w.data == nil {
		w.data = append(make([]byte, 0, len(w.before)+len(p)+w.room), w.before...)
	}
	w.data = append(w.data, p...)
	return len(p), nil
}

// A replay is an answer as it is stored with its commit, for calls repeated with the same
// idempotency key.
type replay struct {
	Data     any       `json:"data"`
	Warnings []Warning `json:"warnings,omitempty"`
	Meta     Meta      `json:"meta,omitempty"`

	Failed *fault.Fault `json:"failed,omitempty"` // see Aside.Failed
}

// EncodeReplay returns the value to store for an output, from which DecodeReplay restores it. out
// is a pointer to the output.
func EncodeReplay(out any) any {
	k := replay{Data: out}
	if a, ok := out.(hasAside); ok {
		k.Warnings, k.Meta, k.Failed = a.aside().Warnings, a.aside().Meta, a.aside().Failed
	}
	return k
}

// DecodeReplay decodes a stored answer into out, a pointer to an output, and sets `replayed` in its
// meta.
func DecodeReplay(data json.RawMessage, out any) error {
	k := replay{Data: out}
	if err := json.Unmarshal(data, &k); err != nil {
		return fmt.Errorf("read a kept answer: %w", err)
	}
	if a, ok := out.(hasAside); ok {
		a.aside().Warnings, a.aside().Meta, a.aside().Failed = k.Warnings, k.Meta, k.Failed
		a.aside().Note("replayed", true)
	}
	return nil
}
