package Rota;
use strict;
use warnings;
use integer;

sub new {
    my ($class, @people) = @_;
    return bless { people => [@people], swaps => {} }, $class;
}

# Somebody else does the duty in this week.
sub swap {
    my ($self, $week, $person) = @_;
    $self->{swaps}{$week} = $person;
    return $self;
}

# Who is on duty in a week, counted from 0 for the first week of the rota.
sub on_duty {
    my ($self, $week) = @_;
    return $self->{swaps}{$week} if exists $self->{swaps}{$week};
    my $people = $self->{people};
    my $count = @$people;
    return $people->[ ($week % $count + $count) % $count ];
}

1;
