-- Product of two 28-bit numbers in four DSP slices, a product a cycle. For LEA, and for the sizes of matrices.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity multiplier28 is
  port (
    clk : in  std_logic;                                        -- clock162
    a   : in  unsigned(27 downto 0);                            -- factor
    b   : in  unsigned(27 downto 0);                            -- factor
    p   : out unsigned(55 downto 0)                             -- product, 5 cycles later
  );
end entity;

architecture rtl of multiplier28 is
  signal al, ah, bl, bh     : unsigned(13 downto 0) := (others => '0');
  signal ll0, lh0, hl0, hh0 : unsigned(27 downto 0) := (others => '0');
  signal ll, hh, ll2, hh2   : unsigned(27 downto 0) := (others => '0');
  signal lh, hl             : unsigned(27 downto 0) := (others => '0');
  signal mid                : unsigned(28 downto 0) := (others => '0');
  signal sum                : unsigned(55 downto 0) := (others => '0');
begin
  p <= sum;

  process (clk)
  begin
    if rising_edge(clk) then
      al  <= a(13 downto 0);
      ah  <= a(27 downto 14);
      bl  <= b(13 downto 0);
      bh  <= b(27 downto 14);
      ll0 <= al * bl;
      lh0 <= al * bh;
      hl0 <= ah * bl;
      hh0 <= ah * bh;
      ll  <= ll0;
      lh  <= lh0;
      hl  <= hl0;
      hh  <= hh0;
      mid <= ('0' & lh) + ('0' & hl);
      ll2 <= ll;
      hh2 <= hh;
      sum <= (hh2 & ll2) + shift_left(resize(mid, 56), 14);
    end if;
  end process;
end architecture;
