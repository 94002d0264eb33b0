/* See faulty_io.h. The calls themselves are made without the C library, which this stands before. */
#define _GNU_SOURCE
#include "faulty_io.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { RULES_MAX = 8, TEXT_MAX = 512 };

enum { CALL_READ, CALL_PREAD, CALL_RECV, CALL_PWRITE, CALL_FTRUNCATE, CALL_FALLOCATE, CALLS };
static const char *const call_names[CALLS] = {"read",   "pread",     "recv",
                                              "pwrite", "ftruncate", "fallocate"};

struct rule {
    unsigned calls; /* bits */
    int error;      /* 0: short */
    unsigned long first, last; /* of the calls that fit, from 1 */
    unsigned long one_in;      /* > 0: at random instead */
    uint64_t random;
    char where[TEXT_MAX];
    unsigned long seen, hits;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rule rules[RULES_MAX];
static unsigned rule_count;
static int initialised;

static uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int parse_calls(char *text, unsigned *calls) {
    char *rest = NULL;
    *calls = 0;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        int call = 0;
        while (call < CALLS && strcmp(name, call_names[call]) != 0)
            ++call;
        if (call == CALLS)
            return 0;
        *calls |= 1u << call;
    }
    return *calls != 0;
}

static int parse_rule(const char *text, struct rule *rule) {
    char calls[TEXT_MAX], action[TEXT_MAX], when[TEXT_MAX];
    unsigned long long seed = 0;
    char dash = 0;
    memset(rule, 0, sizeof *rule);
    if (sscanf(text, " %511s %511s %511s %511s", calls, action, when, rule->where) != 4 ||
        !parse_calls(calls, &rule->calls))
        return 0;
    rule->error = strcmp(action, "short") == 0 ? 0 : atoi(action);
    if (rule->error == 0 && strcmp(action, "short") != 0)
        return 0;
    if (sscanf(when, "1/%lu@%llu", &rule->one_in, &seed) == 2) {
        rule->random = seed;
        return rule->one_in > 0;
    }
    const int found = sscanf(when, "%lu%c", &rule->first, &dash);
    rule->last = found == 2 && dash == '-' ? ~0ul : rule->first;
    return found >= 1 && rule->first > 0;
}

static int set_rules(const char *text) {
    char copy[RULES_MAX * TEXT_MAX];
    char *rest = NULL;
    rule_count = 0;
    if (!text || strlen(text) >= sizeof copy)
        return !text;
    strcpy(copy, text);
    for (char *one = strtok_r(copy, ";", &rest); one; one = strtok_r(NULL, ";", &rest)) {
        if (rule_count == RULES_MAX || !parse_rule(one, &rules[rule_count])) {
            rule_count = 0;
            return 0;
        }
        ++rule_count;
    }
    return 1;
}

static ssize_t link_text(const char *path, char *text) {
    const ssize_t bytes = syscall(SYS_readlinkat, -100 /* AT_FDCWD */, path, text, TEXT_MAX - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes;
}

static void initialise(void) {
    char program[TEXT_MAX];
    initialised = 1;
    link_text("/proc/self/exe", program);
    const char *name = strrchr(program, '/');
    if (name && strncmp(name, "/gristmill-worker", 17) == 0 && !getenv("FAULTY_IO_WORKERS"))
        return;
    if (!set_rules(getenv("FAULTY_IO")))
        abort();
}

int faulty_io_set(const char *text) {
    pthread_mutex_lock(&mutex);
    initialised = 1;
    const int good = set_rules(text);
    pthread_mutex_unlock(&mutex);
    return good;
}

unsigned long faulty_io_hits(unsigned index) {
    pthread_mutex_lock(&mutex);
    const unsigned long hits = index < rule_count ? rules[index].hits : 0;
    pthread_mutex_unlock(&mutex);
    return hits;
}

/* What becomes of this call: -1 with errno, or how many bytes it may ask for. */
static ssize_t decide(int call, int fd, size_t bytes) {
    const int saved = errno;
    ssize_t result = (ssize_t)bytes;
    char path[64], link[TEXT_MAX];
    pthread_mutex_lock(&mutex);
    if (!initialised)
        initialise();
    if (rule_count > 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        link_text(path, link);
    }
    for (unsigned i = 0; i < rule_count; ++i) {
        struct rule *rule = &rules[i];
        if (!(rule->calls >> call & 1) || strncmp(link, rule->where, strlen(rule->where)) != 0)
            continue;
        ++rule->seen;
        if (rule->one_in > 0 ? next_random(&rule->random) % rule->one_in != 0
                             : rule->seen < rule->first || rule->seen > rule->last)
            continue;
        ++rule->hits;
        if (rule->error == 0 && bytes > 1)
            result = (ssize_t)(1 + next_random(&rule->random) % (bytes - 1));
        if (rule->error != 0)
            result = -1;
        errno = rule->error;
        break;
    }
    pthread_mutex_unlock(&mutex);
    if (result >= 0)
        errno = saved;
    return result;
}

ssize_t read(int fd, void *to, size_t bytes) {
    const ssize_t allowed = decide(CALL_READ, fd, bytes);
    return allowed < 0 ? -1 : syscall(SYS_read, fd, to, (size_t)allowed);
}

ssize_t recv(int fd, void *to, size_t bytes, int flags) {
    const ssize_t allowed = decide(CALL_RECV, fd, bytes);
    return allowed < 0 ? -1 : syscall(SYS_recvfrom, fd, to, (size_t)allowed, flags, NULL, NULL);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset) {
    const ssize_t allowed = decide(CALL_PREAD, fd, bytes);
    return allowed < 0 ? -1 : syscall(SYS_pread64, fd, to, (size_t)allowed, offset);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset) {
    const ssize_t allowed = decide(CALL_PWRITE, fd, bytes);
    return allowed < 0 ? -1 : syscall(SYS_pwrite64, fd, from, (size_t)allowed, offset);
}

int ftruncate(int fd, off_t bytes) {
    return decide(CALL_FTRUNCATE, fd, 0) < 0 ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
    return decide(CALL_FALLOCATE, fd, 0) < 0 ? -1
                                             : (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

/* The same where files are large. */
ssize_t pread64(int fd, void *to, size_t bytes, off_t offset) { return pread(fd, to, bytes, offset); }
ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t offset) {
    return pwrite(fd, from, bytes, offset);
}
int ftruncate64(int fd, off_t bytes) { return ftruncate(fd, bytes); }
int fallocate64(int fd, int mode, off_t offset, off_t bytes) {
    return fallocate(fd, mode, offset, bytes);
}
