-- The chords of the function tables: 1024 words of 64 bits in two block RAMs, two cycles from address to word.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_tables_pkg.all;

entity table_rom is
  port (
    clk  : in  std_logic;                      -- rising edge
    addr : in  unsigned(9 downto 0);           -- function (2 bits) and segment (8 bits)
    c0   : out std_logic_vector(31 downto 0);  -- F32, two cycles after addr
    c1   : out std_logic_vector(31 downto 0)   -- F32, likewise
  );
end entity;

architecture rtl of table_rom is
  signal word1, word2 : std_logic_vector(63 downto 0);
begin
  process (clk)
  begin
    if rising_edge(clk) then
      word1 <= TABLE_WORDS(to_integer(addr));
      word2 <= word1;
    end if;
  end process;
  c0 <= word2(63 downto 32);
  c1 <= word2(31 downto 0);
end architecture;
