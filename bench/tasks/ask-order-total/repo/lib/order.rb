require_relative "rules"

# Amounts are in cents.
class Order
  attr_reader :pieces, :price

  def initialize(pieces:, price:, abroad: false)
    @pieces = pieces
    @price = price
    @abroad = abroad
  end

  def goods
    pieces * price
  end

  def shipping
    @abroad ? 1300 : 500
  end

  def total
    goods - Rules.discount(self) + shipping
  end
end
