package relink

// RewriteParsed is Rewrite that parses the text in any case. ok is false if Rewrite would do so too.
func (r *Relinker) RewriteParsed(id string, text []byte) (res Result, ok bool) {
	was, is, ok := r.note(id)
	if !ok || is.Quarantine() != nil || hasNoReferences(is, text) {
		return Result{Text: text}, false
	}
	_, ok = r.fromIndex(was, is, text)
	return r.fromText(was, is, text), ok
}
