// The Python bindings of the core. They check shapes, release the GIL and react to Ctrl-C.
//
// Nothing outside of the given arrays is read or written, whatever they contain: the loops check
// the features of each chunk, and the index by feature is an object that only column_index() makes.
#include "bindings/arrays.hpp"

NB_MODULE(_native, m) {
    using namespace isotopic;
    m.doc() = "The hot loops of isotopic on plain arrays.";
#ifdef NDEBUG
    // Python need not release every object when it ends: a worker of pytest may still hold a
    // traceback, and with it a Workspace. Users cannot act on that; debug builds report it.
    nb::set_leak_warnings(false);
#endif
    bind_data(m);
    bind_passes(m);
    bind_samples(m);
    bind_factors(m);
    bind_statistics(m);
    m.def("level", [] { return std::string(current_level().name); });
    m.def("levels", [] {
        std::vector<std::string> names;
        for (const Level* level : available_levels()) names.push_back(level->name);
        return names;
    });
}
