package repo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
)

// TestReplacedTextsLeaveTheirBlock checks that the cache does not keep the texts of a block that were
// replaced by newer ones, except the last few, and that the memory of a block shrinks with them.
func TestReplacedTextsLeaveTheirBlock(t *testing.T) {
	const count, size = 40, 8 << 10
	texts := NewTexts(1 << 20).Sub("t")
	key := func(part int) textKey { return textKey{"v", eventlog.PartRef{Run: 7, Part: part}} }
	text := func(part int) []byte { return bytes.Repeat([]byte{byte(part)}, size) }
	b := block{first: 3}
	for i := range count {
		b.texts = append(b.texts, text(3+i))
	}
	b.texts = append(inOnePiece(b.texts), nil) // a deleted note has no text
	require.True(t, texts.addBlock(key(3).runKey(), texts.state("v"), b))
	full := texts.held
	const half = (count - 8) / 2
	for part := 3; part < 3+half; part++ {
		texts.replaced([]textKey{key(part), key(3 + count)}) // the second has no text
		texts.Sub("other").replaced([]textKey{key(3 + count - 1)})
	}
	var rest []textKey
	for part := 3 + half; part < 3+2*half; part++ {
		rest = append(rest, key(part))
	}
	texts.replaced(rest) // of one commit: they stay until the next one
	require.NotEmpty(t, texts.old)
	for part := 3 + half; part < 3+count; part++ {
		got, ok := texts.get(key(part))
		require.True(t, ok, part)
		require.Equal(t, text(part), got)
	}
	texts.replaced(nil)
	kept := int(texts.most / oldShare / size) // of those that were replaced
	for i := range count {
		got, ok := texts.get(key(3 + i))
		require.Equal(t, i >= count-8-kept, ok, i)
		if ok {
			require.Equal(t, text(3+i), got)
		}
	}
	require.Less(t, texts.held, full/2)
	require.GreaterOrEqual(t, texts.held, int64(8+kept)*size)

	texts.dropRuns("v", map[uint64]bool{7: true})
	require.Zero(t, texts.held)
	texts.replaced([]textKey{key(4)})
	require.Zero(t, texts.held)
}

// TestABlockHasLittleUnusedMemory removes the texts of a block one by one.
func TestABlockHasLittleUnusedMemory(t *testing.T) {
	const count, size = 40, 1 << 10
	texts := make([][]byte, count)
	for i := range texts {
		texts[i] = bytes.Repeat([]byte{byte(i)}, size)
	}
	b := block{texts: inOnePiece(texts)}
	copied, first := 0, func() *byte { return &b.texts[count-1][0] }
	for part := range count - 1 {
		before := first()
		b = b.without(part)
		if first() != before {
			copied += b.size()
		}
		require.Equal(t, (count-part-1)*size, b.size())
		require.LessOrEqual(t, mostIdle*b.idle, b.size()+b.idle)
		require.Equal(t, texts[count-1], b.at(count-1))
	}
	require.LessOrEqual(t, copied, (mostIdle-1)*count*size)
}
