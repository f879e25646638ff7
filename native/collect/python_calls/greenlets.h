// Greenlets: several stacks of frames that take turns in one thread, without the interpreter's telling.
//
// The greenlet module tells whoever asks it. At each switch the calls of the stack that is left end, and
// those of the stack that goes on are resumed, as those of a generator are: so events nest, and nobody is
// charged for the time in which others run. Needs the GIL.
#pragma once

namespace kinetograph::collect {

// Whether the program has loaded the module.
bool has_greenlets();

// From now on in the calling thread. Somebody else who asked to be told goes on to be.
void follow_greenlets();
void leave_greenlets();

}  // namespace kinetograph::collect
