package localapp_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestDocsInABrowser opens /docs in Chromium: the page fits a phone and a wide screen, is dark if the
// browser prefers that, its search finds a tool, and it does not violate its own content security
// policy.
func TestDocsInABrowser(t *testing.T) {
	if os.Getenv("CI") != "" {
		t.Skip("a browser is no part of CI")
	}
	browsers := []string{"chromium", "chromium-browser", "google-chrome"}
	at := slices.IndexFunc(browsers, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if at < 0 {
		t.Skip("there is no Chromium here to look at the page with")
	}
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = app.Handler("1.2.3", []string{s.Listener.Addr().String()})
	s.Start()
	defer s.Close()

	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browsers[at]), chromedp.NoSandbox)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	defer stop()
	ctx, close := chromedp.NewContext(ctx)
	defer close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var mu sync.Mutex
	var complaints []string
	chromedp.ListenTarget(ctx, func(event any) {
		if e, ok := event.(*cdplog.EventEntryAdded); ok && e.Entry.Level == cdplog.LevelError {
			mu.Lock()
			defer mu.Unlock()
			complaints = append(complaints, e.Entry.Text)
		}
	})
	const visible = `document.querySelectorAll("section:not([hidden])").length`
	search := func(words string) chromedp.Action {
		return chromedp.Evaluate(`filter.value = "`+words+`"; filter.dispatchEvent(new Event("input"))`, nil)
	}
	scheme := func(name string) chromedp.Action {
		return emulation.SetEmulatedMedia().WithFeatures(
			[]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}})
	}
	const background = `getComputedStyle(document.body).backgroundColor`
	const scrolled = `document.documentElement.scrollWidth`
	var title, link, light, dark string
	var all, few, none, width, wide int
	require.NoError(t, chromedp.Run(ctx, chromedp.EmulateViewport(390, 844), chromedp.Navigate(s.URL+"/")),
		"open the page")
	require.NoError(t, chromedp.Run(ctx,
		chromedp.Title(&title), chromedp.Evaluate(visible, &all),
		chromedp.Evaluate(scrolled, &width),
		search("list backlinks"), chromedp.Evaluate(visible, &few),
		chromedp.Evaluate(`document.querySelector("nav li:not([hidden]) a").textContent`, &link),
		search("xyzzy"), chromedp.Evaluate(visible, &none), search(""),
		scheme("light"), chromedp.Evaluate(background, &light),
		scheme("dark"), chromedp.Evaluate(background, &dark),
		chromedp.EmulateViewport(1280, 900), chromedp.Evaluate(scrolled, &wide),
	))
	require.Equal(t, "Rookery: tools", title)
	require.Equal(t, len(allTools()), all)
	require.Less(t, few, all/4)
	require.NotZero(t, few)
	require.NotEmpty(t, link)
	require.Zero(t, none)
	require.LessOrEqual(t, width, 390, "it is as wide as the screen of a phone")
	require.LessOrEqual(t, wide, 1280)
	require.Equal(t, "rgb(255, 255, 255)", light)
	require.Equal(t, "rgb(24, 24, 24)", dark)
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, complaints)
}
