// A page starts no programs: the C library of Emscripten leaves out posix_spawnp, so here it fails.
#include <spawn.h>

#include <cerrno>

extern "C" int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*,
                            const posix_spawnattr_t*, char* const[], char* const[]) {
    return ENOSYS;
}
