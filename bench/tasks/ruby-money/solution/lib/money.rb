module Money
  # Cents as a text such as 1,234.50.
  def self.format(cents)
    whole, rest = cents.abs.divmod(100)
    whole = whole.to_s.reverse.scan(/\d{1,3}/).join(",").reverse
    "#{"-" if cents.negative?}#{whole}.#{rest.to_s.rjust(2, "0")}"
  end
end
