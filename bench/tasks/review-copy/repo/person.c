#include "person.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int person_set(struct person *person, const char *name, int age)
{
    char *copy = malloc(strlen(name));
    if (!copy)
        return -1;
    strcpy(copy, name);
    free(person->name);
    person->name = copy;
    person->age = age;
    return 0;
}

void person_clear(struct person *person)
{
    free(person->name);
    person->name = NULL;
    person->age = 0;
}
