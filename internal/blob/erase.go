package blob

import (
	"context"
	"fmt"
)

// An Eraser is a Bucket that keeps data other than its objects: their earlier versions, or files
// that they displaced.
type Eraser interface {
	// EraseKept destroys the data that is kept for keys that begin with prefix, including keys
	// whose object is gone, even if an editor still has such a file open.
	EraseKept(ctx context.Context, prefix string) (EraseCount, error)
}

// A Wiper is an Eraser that can destroy the objects together with the kept data, in fewer requests
// than one for each object.
type Wiper interface {
	Eraser

	// Wipe destroys all objects whose keys begin with prefix, and the data kept for them, as Erase
	// does.
	Wipe(ctx context.Context, prefix string) (EraseCount, error)
}

// An EraseCount counts destroyed objects and their bytes.
type EraseCount struct {
	Objects int
	Bytes   int64
}

// Add adds the counts of more.
func (g *EraseCount) Add(more EraseCount) {
	g.Objects += more.Objects
	g.Bytes += more.Bytes
}

// Erase destroys the objects whose keys begin with prefix, and the data that the bucket keeps for
// them. After an error some may be gone; Erase can be repeated. If b is a Wiper, or the Sub of one,
// it calls its Wipe.
func Erase(ctx context.Context, b Bucket, prefix string) (EraseCount, error) {
	switch b := b.(type) {
	case interface {
		wipe(ctx context.Context, prefix string) (EraseCount, error)
	}:
		return b.wipe(ctx, prefix)
	case Wiper:
		return b.Wipe(ctx, prefix)
	}
	var gone EraseCount
	var all []Object
	for o, err := range b.List(ctx, prefix) {
		if err != nil {
			return gone, fmt.Errorf("list the objects to erase: %w", err)
		}
		all = append(all, o)
	}
	deleted, err := DeleteAll(ctx, b, keysOf(all)...)
	for _, o := range all[:deleted] {
		gone.Add(EraseCount{1, o.Size})
	}
	if err != nil {
		return gone, fmt.Errorf("erase an object: %w", err)
	}
	kept, err := EraseKept(ctx, b, prefix)
	gone.Add(kept)
	return gone, err
}

// keysOf returns the keys of objects.
func keysOf(objects []Object) []string {
	keys := make([]string, len(objects))
	for i, o := range objects {
		keys[i] = o.Key
	}
	return keys
}

// EraseKept calls the EraseKept of a bucket that is an Eraser or the Sub of one. For any other
// bucket it does nothing, because such a bucket keeps no other data.
func EraseKept(ctx context.Context, b Bucket, prefix string) (EraseCount, error) {
	switch b := b.(type) {
	case interface {
		eraseKept(ctx context.Context, prefix string) (EraseCount, error)
	}:
		return b.eraseKept(ctx, prefix)
	case Eraser:
		return b.EraseKept(ctx, prefix)
	}
	return EraseCount{}, nil
}

// wipe is Erase for a Sub.
func (s sub) wipe(ctx context.Context, prefix string) (EraseCount, error) {
	if s.err != nil {
		return EraseCount{}, s.err
	}
	return Erase(ctx, s.bucket, s.prefix+prefix)
}

// eraseKept is EraseKept for a Sub.
func (s sub) eraseKept(ctx context.Context, prefix string) (EraseCount, error) {
	if s.err != nil {
		return EraseCount{}, s.err
	}
	return EraseKept(ctx, s.bucket, s.prefix+prefix)
}
