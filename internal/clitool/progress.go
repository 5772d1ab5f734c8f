package clitool

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// lineEvery is the interval of progress lines if Err is not a terminal.
const lineEvery = 3 * time.Second

// Reading returns a function that shows the progress of reading a folder: as a bar or, if Err is
// not a terminal, as a line from time to time. The function must not be called concurrently. After
// done has reached total, it may be called for another folder.
func (a *App) Reading() func(done, total int) {
	r := &reading{app: a}
	if a.Progress {
		return r.draw
	}
	return r.say
}

// A reading is the progress of a folder that is being read.
type reading struct {
	app  *App
	bar  *progressbar.ProgressBar // nil: no bar is shown
	last time.Time                // when the last line was written; zero: none was
}

// draw shows a bar, and removes it when all files are read. Errors are ignored, because the reading
// does not depend on them. The total of the first call is that of the bar.
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

// say writes a line if the last one was written lineEvery ago, and a final line if there was one
// before. So a folder that is read at once produces no output, and a log that stores Err gets few
// lines. Errors are ignored.
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
