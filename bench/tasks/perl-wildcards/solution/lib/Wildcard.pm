package Wildcard;
use strict;
use warnings;

# A pattern with * for anything and ? for one character as a regular expression for whole names.
sub compile {
    my ($pattern) = @_;
    my $expression = join '', map { $_ eq '*' ? '.*' : $_ eq '?' ? '.' : quotemeta } split //, $pattern;
    return qr/\A$expression\z/s;
}

1;
