require "money"

{
  0 => "0.00", 100 => "1.00", -5 => "-0.05", -99 => "-0.99", -100 => "-1.00", 99_999 => "999.99",
  100_000 => "1,000.00", -100_000 => "-1,000.00", 123_456_789_01 => "123,456,789.01", -12_345_678 => "-123,456.78"
}.each do |cents, text|
  abort "#{cents}: got #{Money.format(cents)}" unless Money.format(cents) == text
end
puts "ok"
