package awsapp

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Outer are Options with an interceptor that sees every call before it is checked.
func Outer(o Options, i ...tool.Interceptor) Options {
	o.outer = append(o.outer, i...)
	return o
}

// Catalogue are the tools of an App.
func (a *App) Catalogue() *tool.Catalogue { return a.host.Catalogue }

// Serving has a handler in place of that of the App.
func (a *App) Serving(h http.Handler) { a.handler = func(bool) http.Handler { return h } }

// Waits reports whether all that calls have left to be done is done within a time.
func (a *App) Waits(most time.Duration) bool { return a.later.wait(most) }

// Later has the App do something that no call waits for.
func (a *App) Later(do func()) { a.later.run(do) }

// Recorded is the answer of a handler.
func Recorded(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Jobs are those of a tenant.
func (a *App) Jobs(t testing.TB, tenant string) *job.Jobs {
	t.Helper()
	own, err := a.teams.Team(t.Context(), tenant)
	require.NoError(t, err)
	return own.Jobs()
}
