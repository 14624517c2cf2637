package Ignore;
use strict;
use warnings;
use Wildcard;

# The names that no pattern covers.
sub keep {
    my ($patterns, @names) = @_;
    my @compiled = map { Wildcard::compile($_) } @$patterns;
    return grep {
        my $name = $_;
        !grep { $name =~ $_ } @compiled;
    } @names;
}

1;
