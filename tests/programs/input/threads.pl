# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# perl under test: each thread clones the interpreter, works on its clone and on shared data, and frees the clone as it ends.
use strict;
use warnings;
use threads;
use threads::shared;
use Thread::Queue;

my %big = map { $_ => "v" x ($_ % 200) } 1 .. 3000;
my ($jobs, $done) = (Thread::Queue->new, Thread::Queue->new);
my $sum : shared = 0;

sub work {
  while (defined(my $job = $jobs->dequeue)) {
    my $text = join "", map { $big{ $_ % 3000 + 1 } } $job .. $job + 50;
    my @found = $text =~ /(v{1,90})/g;
    { lock $sum; $sum += length($text) + @found; }
    $done->enqueue({ job => $job, size => length $text });
  }
  return scalar keys %big;
}

for my $round (1 .. 3) {
  my @crew = map { threads->create(\&work) } 1 .. 4;
  $jobs->enqueue($round * 100 + $_) for 1 .. 60;
  $jobs->enqueue(undef) for @crew;
  print "round $round keys ", join(",", map { $_->join } @crew), "\n";
}
my $size = 0;
while (defined(my $result = $done->dequeue_nb)) { $size += $result->{size} }
print "sum $sum size $size\n";
