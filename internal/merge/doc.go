// Package merge joins what two sides made of one note.
package merge
