# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
#
# perl under test: hashes, sorting, regular expressions, strings that grow, closures, deep data, fork with pipes.
use strict;
use warnings;
use Storable qw(freeze thaw);
use Digest::SHA qw(sha256_hex);

my $x = 12345;
sub number { $x = ($x * 1103515245 + 12345) & 0x7fffffff; return $x >> 5; }

my %group;
for my $id (1 .. 8000) {
  my @tags = map { number() % 9 } 1 .. 5;
  push @{ $group{ number() % 3001 } }, { id => $id, text => "t" x (number() % 300), tags => \@tags };
}
my $digest = sha256_hex(join ",", map { "$_:" . scalar @{ $group{$_} } } sort { $a <=> $b } keys %group);
print "groups ", scalar(keys %group), " $digest\n";

my $copy = thaw(freeze(\%group));
my $bytes = 0;
for my $list (values %$copy) { $bytes += length $_->{text} for @$list; }
print "copied $bytes\n";
delete $group{$_} for grep { $_ % 2 } keys %group;
print "left ", scalar(keys %group), "\n";

my $text = "";
$text .= sprintf("%d:%s;", $_, chr(97 + $_ % 26) x ($_ % 70)) for 1 .. 20000;
my %count;
$count{$1}++ while $text =~ /(\d+):(?=a)/g;
(my $short = $text) =~ s/(\w)\1{5,}/$1+/g;
print "text ", length $text, " ", length $short, " ", scalar(keys %count), " ", sha256_hex($short), "\n";
my @parts = split /;/, $text;
print "split ", scalar(@parts), " ", sha256_hex(join "|", sort @parts), "\n";

my @makers = map { my $n = $_; my @own = (1 .. $n % 50); sub { $n + scalar @own } } 1 .. 20000;
my $sum = 0;
$sum += $_->() for @makers;
print "closures $sum\n";

sub nest { my $depth = shift; return $depth ? { in => nest($depth - 1), pad => "p" x $depth } : {}; }
my ($deep, $levels) = (nest(90), 0);
while ($deep->{in}) { $deep = $deep->{in}; $levels++ }
print "nested $levels\n";

for my $child (1 .. 2) {
  my $pid = open(my $pipe, "-|") // die "fork: $!";
  if (!$pid) { my @list = map { "$child-$_" x 20 } 1 .. 2000; print sha256_hex(join "", @list), "\n"; exit 0; }
  print "child $child ", <$pipe>;
  close $pipe or die "child $child: $?";
}
print "sprintf ", join(",", map { sprintf "%.3e|%5s|%x", $_ / 7, $_, $_ } 1 .. 5), "\n";
