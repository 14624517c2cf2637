module Money
  # Cents as a text such as 1,234.50.
  def self.format(cents)
    whole = cents / 100
    rest = cents % 100
    "#{whole}.#{rest.to_s.rjust(2, "0")}"
  end
end
