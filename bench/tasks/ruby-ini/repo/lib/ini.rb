module Ini
  # Sections by name; what stands before the first section belongs to the section "".
  def self.parse(text)
    sections = Hash.new { |all, name| all[name] = {} }
    section = ""
    text.each_line(chomp: true) do |line|
      if line =~ /\A\[(.+)\]\z/
        section = $1
      else
        key, value = line.split("=")
        sections[section][key.strip] = value.strip
      end
    end
    sections
  end
end
