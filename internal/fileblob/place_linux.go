package fileblob

import "golang.org/x/sys/unix"

func renameNew(a int, from string, b int, to string) error {
	return unix.Renameat2(a, from, b, to, unix.RENAME_NOREPLACE)
}

func renameSwap(a int, one string, b int, two string) error {
	return unix.Renameat2(a, one, b, two, unix.RENAME_EXCHANGE)
}
