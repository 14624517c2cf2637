#include "list.h"

#include <stdlib.h>

void list_append(struct list *list, int song)
{
    struct node *node = malloc(sizeof *node);
    if (!node)
        abort();
    node->song = song;
    node->next = NULL;
    if (list->tail)
        list->tail->next = node;
    else
        list->head = node;
    list->tail = node;
    list->length++;
}

int list_remove(struct list *list, int song)
{
    struct node *before = NULL;
    for (struct node *node = list->head; node; before = node, node = node->next) {
        if (node->song != song)
            continue;
        if (before)
            before->next = node->next;
        else
            list->head = node->next;
        if (list->tail == node)
            list->tail = before;
        free(node);
        list->length--;
        return 1;
    }
    return 0;
}

void list_clear(struct list *list)
{
    while (list->head) {
        struct node *next = list->head->next;
        free(list->head);
        list->head = next;
    }
    list->tail = NULL;
    list->length = 0;
}
