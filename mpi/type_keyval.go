package mpi

// TypeKeyval is a key under which a value of type T can be cached on each Datatype (MPI 4.1,
// section 7.7.4). It is to datatypes what [Keyval] is to communicators.
type TypeKeyval[T any] struct{ key *attributeKey[*Datatype] }

// TypeKeyvalCreate makes a key (MPI 4.1, section 7.7.4, MPI_Type_create_keyval).
//
// copy is called when a Datatype that has a value v is duplicated by Dup: it returns the value of
// the duplicate, and whether it gets one; an error makes a duplicate with that error. nil: the
// duplicate gets none (MPI_TYPE_NULL_COPY_FN). delete is called with a value that is about to go,
// because Set replaces it or Delete deletes it; an error makes that call fail, and the value stays.
// A Datatype is never freed, so nothing else calls it. nil: nothing is to do.
func TypeKeyvalCreate[T any](copy func(old *Datatype, v T) (T, bool, error), delete func(t *Datatype, v T) error) *TypeKeyval[T] {
	k := &attributeKey[*Datatype]{}
	if copy != nil {
		k.copy = func(old *Datatype, v any) (any, bool, error) { return copy(old, valueAs[T](v)) }
	}
	if delete != nil {
		k.delete = func(t *Datatype, v any) error { return delete(t, valueAs[T](v)) }
	}
	return &TypeKeyval[T]{k}
}

// Set caches v on t (MPI 4.1, section 7.7.4, MPI_Type_set_attr). A value that was there is deleted
// first; if that fails it stays, and Set returns its error. What TypeOf returns belongs to all the
// program and takes no values: an error of class [ErrType] says so. Cache on its Dup. After Free it
// is an error of class [ErrKeyval].
func (k *TypeKeyval[T]) Set(t *Datatype, v T) error {
	const op = "TypeKeyval.Set"
	if err := k.usable(op, t); err != nil {
		return err
	}
	switch {
	case k.key.isFreed():
		return opErrorf(ErrKeyval, op, "the key was freed: it takes no new values")
	case t.contents.Combiner == CombinerNamed:
		return opErrorf(ErrType, op, "%s is a Go type, which all the program shares: cache on its Dup", t)
	}
	if err := t.attrs.set(t, k.key, v); err != nil {
		return opError(classOr(err, ErrOther), op, &callbackError{"deleting the old value", err})
	}
	return nil
}

// usable says what is wrong with a key and a Datatype, if anything.
func (k *TypeKeyval[T]) usable(op string, t *Datatype) error {
	if err := t.check(); err != nil {
		return opError(err.Class, op, err)
	}
	if k == nil || k.key == nil {
		return opErrorf(ErrKeyval, op, "the key is nil: make one with TypeKeyvalCreate")
	}
	return nil
}

// Get returns the value cached on t under k, and whether there is one (MPI 4.1, section 7.7.4,
// MPI_Type_get_attr).
func (k *TypeKeyval[T]) Get(t *Datatype) (v T, ok bool) {
	if k.usable("TypeKeyval.Get", t) != nil {
		return v, false
	}
	x, ok := t.attrs.get(k.key)
	return valueAs[T](x), ok
}

// Delete deletes the value cached on t under k (MPI 4.1, section 7.7.4, MPI_Type_delete_attr). If
// there is none it is an error of class [ErrKeyval]. If the delete function fails the value stays,
// and Delete returns its error.
func (k *TypeKeyval[T]) Delete(t *Datatype) error {
	const op = "TypeKeyval.Delete"
	if err := k.usable(op, t); err != nil {
		return err
	}
	found, err := t.attrs.remove(t, k.key)
	switch {
	case err != nil:
		return opError(classOr(err, ErrOther), op, &callbackError{"deleting the value", err})
	case !found:
		return opErrorf(ErrKeyval, op, "the datatype has no value under this key")
	}
	return nil
}

// Free says that no value will be set under k any more (MPI 4.1, section 7.7.4,
// MPI_Type_free_keyval). Values that are there stay, with their functions.
func (k *TypeKeyval[T]) Free() {
	if k != nil && k.key != nil {
		k.key.free()
	}
}

// copyAttributesTo gives d, a new duplicate of t, the attributes that their copy functions let it
// have.
func (t *Datatype) copyAttributesTo(d *Datatype) {
	if err := t.attrs.copyTo(t, d, &d.attrs); err != nil && d.err == nil {
		d.m, d.err = nil, opError(classOr(err, ErrOther), "Dup", &callbackError{"copying an attribute", err})
	}
}
