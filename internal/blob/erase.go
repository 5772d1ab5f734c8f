package blob

import (
	"context"
	"fmt"
)

// An Eraser is a Bucket that keeps more than its objects: earlier versions of them, or what others had
// written in their places.
type Eraser interface {
	// EraseKept destroys what is kept beside the objects whose keys begin with prefix, also of those
	// that are gone, whoever may still want it.
	EraseKept(ctx context.Context, prefix string) (Gone, error)
}

// A Wiper is an Eraser that destroys the objects together with what is kept beside them, in fewer requests than one
// for each of them.
type Wiper interface {
	Eraser

	// Wipe does what Erase does.
	Wipe(ctx context.Context, prefix string) (Gone, error)
}

// Gone counts what was destroyed.
type Gone struct {
	Objects int
	Bytes   int64
}

// Add counts more.
func (g *Gone) Add(more Gone) {
	g.Objects += more.Objects
	g.Bytes += more.Bytes
}

// Erase destroys the objects whose keys begin with prefix, and what the bucket keeps beside them. After
// an error some may be gone; to erase twice does no harm. A Wiper, or the Sub of one, does it in its own way.
func Erase(ctx context.Context, b Bucket, prefix string) (Gone, error) {
	switch b := b.(type) {
	case interface {
		wipe(ctx context.Context, prefix string) (Gone, error)
	}:
		return b.wipe(ctx, prefix)
	case Wiper:
		return b.Wipe(ctx, prefix)
	}
	var gone Gone
	var all []Object
	for o, err := range b.List(ctx, prefix) {
		if err != nil {
			return gone, fmt.Errorf("list what is to be erased: %w", err)
		}
		all = append(all, o)
	}
	deleted, err := DeleteAll(ctx, b, keysOf(all)...)
	for _, o := range all[:deleted] {
		gone.Add(Gone{1, o.Size})
	}
	if err != nil {
		return gone, fmt.Errorf("erase an object: %w", err)
	}
	kept, err := EraseKept(ctx, b, prefix)
	gone.Add(kept)
	return gone, err
}

func keysOf(objects []Object) []string {
	keys := make([]string, len(objects))
	for i, o := range objects {
		keys[i] = o.Key
	}
	return keys
}

// EraseKept is that of the bucket, if it is an Eraser or the Sub of one; another keeps nothing.
func EraseKept(ctx context.Context, b Bucket, prefix string) (Gone, error) {
	switch b := b.(type) {
	case interface {
		eraseKept(ctx context.Context, prefix string) (Gone, error)
	}:
		return b.eraseKept(ctx, prefix)
	case Eraser:
		return b.EraseKept(ctx, prefix)
	}
	return Gone{}, nil
}

// wipe destroys the objects of the part and what is kept beside them.
func (s sub) wipe(ctx context.Context, prefix string) (Gone, error) {
	if s.err != nil {
		return Gone{}, s.err
	}
	return Erase(ctx, s.bucket, s.prefix+prefix)
}

func (s sub) eraseKept(ctx context.Context, prefix string) (Gone, error) {
	if s.err != nil {
		return Gone{}, s.err
	}
	return EraseKept(ctx, s.bucket, s.prefix+prefix)
}
