package search

import (
	"encoding/binary"
	"unsafe"
)

// A record consists of numbers of 32 bits and nothing else. So a list of records is a list of
// numbers, and one of an image lies there as it does in memory, where the machine is little-endian.
type record interface{ uint32 | doc | slot | member }

// sizeOf is the size of a record in bytes.
func sizeOf[R record]() int64 {
	var r R
	return int64(unsafe.Sizeof(r))
}

// numbers are the numbers of which a list of records consists, in the same memory.
func numbers[R record](list []R) []uint32 {
	first := (*uint32)(unsafe.Pointer(unsafe.SliceData(list)))
	return unsafe.Slice(first, len(list)*int(sizeOf[R]()/4))
}

// records are the records that some bytes of an image are, as many as these hold: in place if
// possible, else copied.
func records[R record](data []byte) []R {
	n := len(data) / int(sizeOf[R]())
	if n == 0 {
		return []R{} // no record begins at data, which may be at the end of its memory
	}
	at := unsafe.Pointer(unsafe.SliceData(data))
	if littleEndian() && uintptr(at)%4 == 0 {
		return unsafe.Slice((*R)(at), n)
	}
	list := make([]R, n)
	for i := range numbers(list) {
		numbers(list)[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return list
}

// littleEndian reports whether the machine has numbers in memory as images have them.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// inPlace are bytes as a string in the same memory. They must not be changed any more.
func inPlace(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }
