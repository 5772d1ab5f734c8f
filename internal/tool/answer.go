package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// answer builds the final answer of a call from the tool's reply r or its error err. It adds the
// warnings of the interceptors and query_time_ms, and drops the data of a failed call unless the
// reply is marked Partial. If the reply cannot be encoded, the answer is that failure.
func (c *Catalogue) answer(
	ctx context.Context, ask *request, r Reply, err error,
) (json.RawMessage, error) {
	var f *fault.Fault
	if ask.made != nil {
		r.Warnings = slices.Concat(ask.made.Warnings, r.Warnings)
	}
	if err != nil {
		f = c.failure(ctx, ask, err)
	}
	if f != nil && !r.Partial {
		r = Reply{Warnings: r.Warnings} // data and meta of a failed call may be incomplete
	} else {
		r.Meta = maps.Clone(r.Meta)
		if r.Meta == nil {
			r.Meta = Meta{}
		}
		// The clock may be set back during the call; the time is never negative.
		r.Meta["query_time_ms"] = max(0, c.opt.Now().Sub(ask.start).Milliseconds())
	}
	data, jsonErr := ask.form(r, f)
	if jsonErr != nil {
		f = c.failure(ctx, ask, jsonErr)
		data, jsonErr = ask.form(Reply{}, f)
	}
	if (len(r.Warnings) > 0 || r.inner) && !ask.bare() {
		data = ChangeFixes(data, func(fix string) string {
			arranged, _ := c.arrange(ask, fix)
			return cmp.Or(arranged, fix)
		})
	}
	if f != nil {
		return data, f
	}
	return data, jsonErr
}

// A listPage is one page of a list as it was answered: its meta, and its size in bytes as it counts
// against MaxBody.
type listPage struct {
	meta  Meta
	bytes int
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

// within returns an answer and its error unchanged if the answer has at most MaxBody bytes as quoted
// JSON. Otherwise it returns a short failure. It is the last check of the size, for all projections;
// Aside.Fits is the first. Of a call that had already failed, the failure keeps its code and the
// beginning of its message.
func (c *Catalogue) within(
	ctx context.Context, ask *request, data json.RawMessage, failed error,
) (json.RawMessage, error) {
	n := QuotedSize(data)
	if n <= MaxBody {
		return data, failed
	}
	f := tooLarge(n)
	switch {
	case failed != nil: // keep the code and the message; drop details, problems and fixes
		was := fault.Of(failed)
		f = fault.New(was.Code, "%s", Beginning(was.Message, maxMessage)).
			With("left_out", "details, problems and fixes: the answer would be too large").Because(was.Unwrap())
	case ask.made.Tool.Kind.Mutates():
		f.Message = "the call is complete, but its answer cannot be shown: " + f.Message
	default:
		f = f.Fix("ask for less: a smaller limit, a page, or a part of the text")
	}
	f = c.failure(ctx, ask, f)
	data, err := ask.form(Reply{}, f)
	if err != nil {
		return nil, err
	}
	return data, f
}

// maxMessage is the number of bytes of a fault's message that remain when the other parts of the
// fault are too large for an answer.
const maxMessage = 1 << 10

// fewer lowers the limit of a list call whose page p is larger than an answer may be, so that the
// next page fits. It estimates the new limit from the average size of an item. It returns false if
// the call cannot be repeated with a lower limit: it has no limit, its page has a single item, or
// it mutates.
func (ask *request) fewer(p listPage) bool {
	count, counted := p.meta["count"].(int)
	t := ask.made.Tool
	limit, limited := t.ArgFor(MeansLimit)
	if !limited || !counted || count < 2 || t.Kind.Mutates() {
		return false
	}
	for _, alias := range limit.Aliases {
		delete(ask.made.Args, alias)
	}
	fit := max(1, min(count-1, int(int64(count)*MaxBody/int64(p.bytes))))
	ask.made.Args[limit.Name] = json.RawMessage(strconv.Itoa(fit))
	return true
}

// bare reports whether the caller asked for the data without its envelope.
func (ask *request) bare() bool { return ask.how.Envelope != nil && !*ask.how.Envelope }

// form encodes the answer in the form that the caller asked for: the fields selected by `only`,
// with or without the envelope.
func (ask *request) form(r Reply, f *fault.Fault) (json.RawMessage, error) {
	if f == nil && len(ask.how.Only) > 0 {
		if err := ask.made.Tool.only(&r, named(ask.how.Only)); err != nil {
			return nil, err
		}
	}
	if ask.bare() {
		if f != nil {
			return Marshal(ask.family().BareFault(f))
		}
		return Marshal(r.Data)
	}
	return Marshal(wrap(r, f, ask.family()))
}

// family returns the family of the called tool, or nil if no tool has the requested name.
func (ask *request) family() *Family {
	if ask.made == nil {
		return nil
	}
	return ask.made.Tool.Family
}

// failure converts an error to a fault with the request id and fixes that the caller can follow. It
// logs internal faults. If the deadline passed or the caller left, the fault is UNAVAILABLE, unless
// the error is already classified as UNAVAILABLE, STORAGE_ERROR or INDEX_BUSY: these may report
// whether anything was written.
func (c *Catalogue) failure(ctx context.Context, ask *request, err error) *fault.Fault {
	switch ended := ctx.Err(); {
	case ended == nil, fault.Is(err, fault.Unavailable), fault.Is(err, fault.StorageError),
		fault.Is(err, fault.IndexBusy):
	case errors.Is(err, context.DeadlineExceeded):
		err = fault.New(fault.Unavailable, "the call did not end in time").Because(err)
	case errors.Is(err, context.Canceled):
		err = fault.New(fault.Unavailable, "the caller did not wait for the answer").Because(err)
	}
	f := mapFixes(fault.Of(err), func(fix string) (string, bool) { return c.arrange(ask, fix) })
	if family := ask.family(); family != nil && family.AddDetails != nil {
		f = family.AddDetails(ask.made.Tool.Name, f)
	}
	f.RequestID = ask.caller.RequestID
	if f.Status() == fault.StatusInternal {
		c.opt.Log.ErrorContext(ctx, "call failed", slog.String("tool", ask.name),
			slog.String("request_id", f.RequestID), slog.String("code", string(f.Code)),
			slog.Any("cause", errors.Unwrap(f)))
	}
	return f
}

// named returns the names in a list. An entry may contain several names separated by commas, as in
// a query string.
func named(list []string) []string {
	names := strings.Split(strings.Join(list, ","), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// only removes all but the given fields from each item of the answer's list or, if the answer has
// no list, from the data itself.
func (t *Tool) only(r *Reply, fields []string) error {
	raw, err := Marshal(r.Data)
	if err != nil {
		return err
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(raw, &data); err != nil {
		return err
	}
	var items []map[string]json.RawMessage
	list := t.listIn(data, fields)
	if list == "" || json.Unmarshal(data[list], &items) != nil {
		keep(data, fields)
		r.Data = data
		return nil
	}
	for _, item := range items {
		keep(item, fields)
	}
	data[list], err = Marshal(items)
	r.Data = data
	return err
}

// listIn returns the key of the list in the data of an answer: the one that the Spec names, else
// `items`, else the only list of objects. It returns "" if there is no such list, or if one of the
// fields is a member of the data itself.
func (t *Tool) listIn(data map[string]json.RawMessage, fields []string) string {
	if t.List != "" {
		return t.List
	}
	if _, ok := data[itemsKey]; ok {
		return itemsKey
	}
	var lists []string
	for name, s := range t.OutputSchema().Properties {
		if slices.Contains(fields, name) {
			return ""
		}
		if _, ok := data[name]; ok && s.Items != nil && s.Items.Type == "object" {
			lists = append(lists, name)
		}
	}
	if len(lists) != 1 {
		return ""
	}
	return lists[0]
}

// itemsKey is the key of a list in the data of an answer, unless the Spec names another (CONTRACT
// §1).
const itemsKey = "items"

// keep deletes all members of m except the given fields.
func keep(m map[string]json.RawMessage, fields []string) {
	maps.DeleteFunc(m, func(k string, _ json.RawMessage) bool { return !slices.Contains(fields, k) })
}
