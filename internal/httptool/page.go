package httptool

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// A page is a text that is the same for all callers. It is built and compressed once, on the first
// request, also by concurrent ones. An error is kept too.
type page func() (static, error)

// A static is the text of a page, plain and compressed with gzip.
type static struct{ plain, zipped []byte }

// newPage returns a page with the text that a function returns.
func newPage(text func() ([]byte, error)) page {
	return sync.OnceValues(func() (static, error) {
		plain, err := text()
		if err != nil {
			return static{}, err
		}
		var zipped bytes.Buffer
		z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		if err != nil {
			return static{}, err
		}
		if _, err := z.Write(plain); err != nil {
			return static{}, err
		}
		if err := z.Close(); err != nil {
			return static{}, err
		}
		return static{plain, zipped.Bytes()}, nil
	})
}

// write writes a page with a media type. It relies on the gzhttp wrapper, which detects whether the
// client accepts gzip and does not compress a response that is already compressed. So a page is
// compressed once, and better than a response could be.
func (p static) write(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	text := p.plain
	if _, takes := w.(*gzhttp.GzipResponseWriter); takes {
		w.Header().Set("Content-Encoding", "gzip")
		text = p.zipped
	}
	_, _ = w.Write(text) // on an error the client has disconnected
}
