/* Sends the records of a file by libzmq, or takes them: what its sockets give without Python.
 *
 *     zmq_push_pull LIBRARY pull ADDRESS LIMIT [OUTPUT]
 *         prints its endpoint; then, after the first empty message: records, bytes, seconds from the first to the last
 *     zmq_push_pull LIBRARY push ENDPOINT LIMIT copy|refer FILE SIZE
 *         records of SIZE bytes, then an empty message; waits for the end of its standard input, as a receiver
 *         may lose what a sender that has gone left under way
 *
 * LIMIT: messages that a side queues, 0: any number. The library is opened by its path, so that the one which Python
 * uses is measured, and no header of it is needed: the declarations are those of its stable interface.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum { PULL = 7, PUSH = 8, SNDHWM = 23, RCVHWM = 24, LAST_ENDPOINT = 32 };
typedef struct {
    _Alignas(void *) unsigned char opaque[64];
} Message;

static void *library;

static void *found(const char *name) {
    void *function = dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return function;
}

static void check(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(2);
    }
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pull(void *socket, const char *address, FILE *output) {
    int (*bind_to)(void *, const char *) = (int (*)(void *, const char *))found("zmq_bind");
    int (*get)(void *, int, void *, size_t *) = (int (*)(void *, int, void *, size_t *))found("zmq_getsockopt");
    int (*init)(Message *) = (int (*)(Message *))found("zmq_msg_init");
    int (*receive)(Message *, void *, int) = (int (*)(Message *, void *, int))found("zmq_msg_recv");
    void *(*data)(Message *) = (void *(*)(Message *))found("zmq_msg_data");
    char endpoint[256];
    size_t length = sizeof endpoint;
    Message message;
    uint64_t records = 0, bytes = 0;
    check(bind_to(socket, address) == 0, "zmq_bind");
    check(get(socket, LAST_ENDPOINT, endpoint, &length) == 0, "zmq_getsockopt");
    printf("%s\n", endpoint);
    fflush(stdout);
    init(&message);
    int size = receive(&message, socket, 0); /* receiving into a message lets go of what was in it */
    double started = now_s();
    for (; size > 0; size = receive(&message, socket, 0)) {
        ++records;
        bytes += (uint64_t)size;
        if (output != NULL)
            check(fwrite(data(&message), 1, (size_t)size, output) == (size_t)size, "write");
    }
    check(size == 0, "zmq_msg_recv");
    printf("%llu %llu %.9f\n", (unsigned long long)records, (unsigned long long)bytes, now_s() - started);
}

static void push(void *socket, const char *endpoint, int refer, const char *path, size_t size) {
    int (*connect_to)(void *, const char *) = (int (*)(void *, const char *))found("zmq_connect");
    int (*send)(void *, const void *, size_t, int) = (int (*)(void *, const void *, size_t, int))found("zmq_send");
    /* Without a function to free it, the content is constant: referred to, not counted. */
    int (*send_constant)(void *, const void *, size_t, int) =
        (int (*)(void *, const void *, size_t, int))found("zmq_send_const");
    int file = open(path, O_RDONLY);
    struct stat about;
    check(file >= 0 && fstat(file, &about) == 0, path);
    const char *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    check(data != MAP_FAILED, path);
    check(connect_to(socket, endpoint) == 0, "zmq_connect");
    for (size_t at = 0; at + size <= (size_t)about.st_size; at += size)
        check((refer ? send_constant : send)(socket, data + at, size, 0) >= 0, "zmq_send");
    check(send(socket, "", 0, 0) == 0, "zmq_send");
    while (getchar() != EOF) {
    }
}

int main(int count, char **words) {
    if (count < 5)
        return 2;
    library = dlopen(words[1], RTLD_NOW);
    check(library != NULL, words[1]);
    void *context = ((void *(*)(void))found("zmq_ctx_new"))();
    int pulls = strcmp(words[2], "pull") == 0, limit = atoi(words[4]);
    void *socket = ((void *(*)(void *, int))found("zmq_socket"))(context, pulls ? PULL : PUSH);
    int (*set)(void *, int, const void *, size_t) = (int (*)(void *, int, const void *, size_t))found("zmq_setsockopt");
    check(set(socket, pulls ? RCVHWM : SNDHWM, &limit, sizeof limit) == 0, "zmq_setsockopt");
    if (pulls) {
        FILE *output = count > 5 ? fopen(words[5], "wb") : NULL;
        pull(socket, words[3], output);
        check(output == NULL || fclose(output) == 0, "write");
    } else if (count > 7) {
        push(socket, words[3], strcmp(words[5], "refer") == 0, words[6], strtoull(words[7], NULL, 10));
    }
    ((int (*)(void *))found("zmq_close"))(socket);
    return ((int (*)(void *))found("zmq_ctx_term"))(context); /* waits until all is sent */
}
