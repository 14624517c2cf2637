module Rules
  # The first rule that fits gives the discount, in percent of the goods.
  ALL = [
    ["wholesale", 50, ->(order) { order.pieces >= 100 }],
    ["bulk", 20, ->(order) { order.pieces >= 3 }],
    ["loyal", 10, ->(order) { order.goods > 5000 }],
  ].freeze

  def self.discount(order)
    _, percent, = ALL.find { |_, _, fits| fits.call(order) } || [nil, 0]
    order.goods * percent / 100
  end
end
