#ifndef PERSON_H
#define PERSON_H

struct person {
    char *name;
    int age;
};

/* 0, or -1 without memory. */
int person_set(struct person *person, const char *name, int age);
void person_clear(struct person *person);

#endif
