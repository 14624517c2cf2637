require "money"

{ 5 => "0.05", -150 => "-1.50", 123_456 => "1,234.56" }.each do |cents, text|
  abort "#{cents}: got #{Money.format(cents)}" unless Money.format(cents) == text
end
puts "ok"
