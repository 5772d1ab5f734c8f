package index

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestTheStructuresAreSmall bounds the sizes of the structures of which an index has many, in bytes
// on a machine with 64 bits.
func TestTheStructuresAreSmall(t *testing.T) {
	if unsafe.Sizeof(0) != 8 {
		t.Skip("not a machine with 64 bits")
	}
	for name, size := range map[string][2]uintptr{
		"note":        {unsafe.Sizeof(Note{}), 448},
		"section":     {unsafe.Sizeof(Section{}), 120},
		"ref":         {unsafe.Sizeof(Ref{}), 32},
		"trait":       {unsafe.Sizeof(Trait{}), 48},
		"place":       {unsafe.Sizeof(Place{}), 40},
		"trait value": {unsafe.Sizeof(TraitValue{}), 96},
	} {
		require.LessOrEqual(t, size[0], size[1], name)
	}
}
