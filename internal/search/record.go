package search

import (
	"encoding/binary"
	"unsafe"
)

// A record is a type that consists of numbers of 32 bits only. So a list of records is a list of
// numbers, and on a little-endian machine it has the same bytes in memory as in an image.
type record interface{ uint32 | doc | slot | member }

// sizeOf returns the size of a record in bytes.
func sizeOf[R record]() int64 {
	var r R
	return int64(unsafe.Sizeof(r))
}

// numbers returns the numbers of a list of records. They share its memory.
func numbers[R record](list []R) []uint32 {
	first := (*uint32)(unsafe.Pointer(unsafe.SliceData(list)))
	return unsafe.Slice(first, len(list)*int(sizeOf[R]()/4))
}

// records returns the records that data of an image contains; an incomplete record at the end is
// ignored. They share the memory of data if it is aligned and the machine is little-endian;
// otherwise they are copied.
func records[R record](data []byte) []R {
	n := len(data) / int(sizeOf[R]())
	if n == 0 {
		return []R{} // data can be at the end of its memory, where no record begins
	}
	at := unsafe.Pointer(unsafe.SliceData(data))
	if littleEndian() && uintptr(at)%4 == 0 {
		return unsafe.Slice((*R)(at), n)
	}
	// The bytes are not in the order or alignment of the machine, so they must be converted.
	list := make([]R, n)
	for i := range numbers(list) {
		numbers(list)[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return list
}

// littleEndian reports whether the machine stores numbers as images do.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// inPlace returns data as a string that shares its memory. data must not be changed afterwards.
func inPlace(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }
