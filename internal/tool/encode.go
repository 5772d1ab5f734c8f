package tool

import (
	"cmp"
	"context"
	"errors"
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
		if a.Data, err = Marshal(r.Data); err != nil {
			return nil, err
		}
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
