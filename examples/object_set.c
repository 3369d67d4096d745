// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Many types: one call makes any of them, one call ends any of them, whose type the address tells.
//
// Prints:
//     end of a circle
//     end of a label
#include <lido/object.h>
#include <stdio.h>
#include <string.h>

struct circle {
    double radius;
};
struct label {
    char text[100];
};

static int circle_construct(void *object, void *arguments, void *context) {
    (void)context;
    ((struct circle *)object)->radius = *(const double *)arguments;
    return 0;
}
static int label_construct(void *object, void *arguments, void *context) {
    (void)context;
    snprintf(((struct label *)object)->text, sizeof((struct label *)object)->text, "%s", (const char *)arguments);
    return 0;
}
static void count_down(void *object, void *context) {
    printf("end of a %s\n", lido_object_type_of(object)->name);
    --*(int *)context;
}

int main(void) {
    int left = 2;
    lido_type circle = {"circle", sizeof(struct circle), 0, circle_construct, count_down, NULL, &left};
    lido_type label = {"label", sizeof(struct label), 0, label_construct, count_down, NULL, &left};
    lido_object_set *shapes = lido_object_set_new(NULL);
    if (shapes == NULL) return 1;
    int circles = lido_object_set_add(shapes, &circle), labels = lido_object_set_add(shapes, &label);
    if (circles < 0 || labels < 0) return 1;
    double radius = 2;
    char text[] = "two";
    void *drawing[] = {lido_object_set_make(shapes, circles, &radius), lido_object_set_make(shapes, labels, text)};
    for (int i = 0; i < 2; i++) lido_object_free(drawing[i]);
    lido_object_set_destroy(shapes);
    return left;
}
