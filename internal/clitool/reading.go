package clitool

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is how often a line tells of progress where nobody sees a bar.
const lineEvery = 3 * time.Second

// Reading answers what tells a person how many files of a folder are read in: with a bar, or where Err is
// no terminal with a line now and then. One goroutine at a time may call it.
func (a *App) Reading() func(done, total int) {
	r := &reading{app: a}
	if a.Progress {
		return r.draw
	}
	return r.say
}

// A reading is a folder that is being read in.
type reading struct {
	app  *App
	bar  *progressbar.ProgressBar // nil: there is none to be seen
	last time.Time                // when a line was written; zero: none was
}

// draw shows a bar. That it cannot be drawn is no reason to stop.
func (r *reading) draw(done, total int) {
	if r.bar == nil {
		r.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(r.app.Err),
			progressbar.OptionSetDescription("reading the folder"),
			progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = r.bar.Set(done)
	if done >= total {
		r.bar = nil
	}
}

// say writes a line, if the last one is a while ago, or there was one and all is done. That it cannot be
// written is no reason to stop.
func (r *reading) say(done, total int) {
	now := time.Now()
	if done < total && now.Sub(r.last) < lineEvery || done >= total && r.last.IsZero() {
		return
	}
	r.last = now
	if done >= total {
		r.last = time.Time{}
	}
	_, _ = fmt.Fprintf(r.app.Err, "reading the folder: %d of %d files\n", done, total)
}
