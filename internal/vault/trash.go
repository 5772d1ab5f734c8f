package vault

// Trash is the folder that deleted notes go to. Nothing in it is a note.
const Trash = ".trash/"
