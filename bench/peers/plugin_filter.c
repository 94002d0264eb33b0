/* For GNU parallel: a compiled gristmill plugin as a filter. plugin_filter PLUGIN.so CONFIG < lines > lines */
#include "plugin_host.h"

#include <unistd.h>

static int write_all(const uint8_t *data, size_t size) {
    while (size > 0) {
        ssize_t done = write(STDOUT_FILENO, data, size);
        if (done <= 0)
            return -1;
        data += done;
        size -= (size_t)done;
    }
    return 0;
}

int main(int count, char **arguments) {
    host_plugin plugin;
    host_bytes output = {NULL, 0, 0};
    size_t room = 16u << 20, size = 0;
    uint8_t *input = malloc(room);
    if (count != 3 || input == NULL || host_open(&plugin, arguments[1], arguments[2]) != 0)
        return 2;
    for (;;) {
        if (room - size <= GM_BATCH_PADDING) {
            room *= 2;
            input = realloc(input, room);
            if (input == NULL)
                return 2;
        }
        ssize_t more = read(STDIN_FILENO, input + size, room - size - GM_BATCH_PADDING);
        if (more < 0)
            return 2;
        if (more == 0)
            break;
        size += (size_t)more;
    }
    if (host_run(&plugin, input, size, &output) != 0 || write_all(output.data, output.size) != 0)
        return 1;
    host_close(&plugin);
    return 0;
}
