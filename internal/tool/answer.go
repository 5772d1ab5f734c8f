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

	"rookery/internal/fault"
)

// answer puts what a call came to in its final form.
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
		r = Reply{Warnings: r.Warnings} // what a tool had put together is not true of a failure
	} else {
		r.Meta = maps.Clone(r.Meta)
		if r.Meta == nil {
			r.Meta = Meta{}
		}
		// A clock that is corrected may go back.
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

// A listed is a page of a list as it was answered. bytes is what it takes in an answer.
type listed struct {
	meta  Meta
	bytes int
}

// CheckFits is a fault if an output is more than an answer may have. out is a pointer to the output of a call
// that changes something: it is asked before the change is written.
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

// maxEnvelope is how many bytes an answer has beside data, warnings and meta of the tool, at most.
const maxEnvelope = 4 << 10

func tooLarge(n int) *fault.Fault {
	return fault.New(fault.BatchTooLarge, "the answer would have about %d bytes; an answer has at most %d",
		n, MaxBody)
}

// within is an answer as it is if it is no larger than an answer may be, else the fault of that. It is the
// last guard, for every way in which tools are called; see Fits for the first one.
func (c *Catalogue) within(
	ctx context.Context, ask *request, data json.RawMessage, failed error,
) (json.RawMessage, error) {
	n := QuotedSize(data)
	if n <= MaxBody {
		return data, failed
	}
	f := tooLarge(n)
	switch {
	case failed != nil: // what was wrong is told, and not what was beside it
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

// maxMessage is how many bytes of the message of a fault an answer has whose other parts are too large.
const maxMessage = 1 << 10

// fewer changes the call so that it asks again for a list whose page is larger than an answer may be: for
// so few of its items that they fit. A page of one item is as large as it is.
func (ask *request) fewer(p listed) bool {
	count, counted := p.meta["count"].(int)
	t := ask.made.Tool
	limit, limited := t.Meant(MeansLimit)
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

// form is the answer as the caller asked for it.
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

// family is that of the tool that is called; nil: no tool has the name.
func (ask *request) family() *Family {
	if ask.made == nil {
		return nil
	}
	return ask.made.Tool.Family
}

// failure classifies an error, and logs it if it is ours. What was classified when the time was up stays,
// for it may say whether anything was written.
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
	if family := ask.family(); family != nil && family.Told != nil {
		f = family.Told(ask.made.Tool.Name, f)
	}
	f.RequestID = ask.caller.RequestID
	if f.Status() == fault.StatusInternal {
		c.opt.Log.ErrorContext(ctx, "call failed", slog.String("tool", ask.name),
			slog.String("request_id", f.RequestID), slog.String("code", string(f.Code)),
			slog.Any("cause", errors.Unwrap(f)))
	}
	return f
}

// named are the names in a list, each of which may itself be several with commas between them, as in a
// query string.
func named(list []string) []string {
	names := strings.Split(strings.Join(list, ","), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// only keeps these fields of each item of the answer's list; of an answer without one, of the data
// itself.
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

// listIn returns the name of the list in the data of an answer: that of the Spec, `items`, else the only
// list of objects. It is empty if there is none, or if the fields are those of the data itself.
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

// itemsKey is the name of a list, unless a document names it otherwise (CONTRACT §1).
const itemsKey = "items"

func keep(m map[string]json.RawMessage, fields []string) {
	maps.DeleteFunc(m, func(k string, _ json.RawMessage) bool { return !slices.Contains(fields, k) })
}
