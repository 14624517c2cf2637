#include "person.h"

#include <stddef.h>

int person_set(struct person *person, const char *name, int age)
{
    person->name = (char *)name;
    person->age = age;
    return 0;
}

void person_clear(struct person *person)
{
    person->name = NULL;
    person->age = 0;
}
