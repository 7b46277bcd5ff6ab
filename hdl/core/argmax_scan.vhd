-- Index of the largest of a run of singles, the first of equals. A NaN is never the largest; of NaNs alone it is 0.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity argmax_scan is
  port (
    clk   : in  std_logic;                                      -- clock162
    clear : in  std_logic;                                      -- a run begins
    valid : in  std_logic;                                      -- x is the next element
    x     : in  f32_t;                                          -- any single
    index : out unsigned(20 downto 0)                           -- of the largest so far, 0..2^20-1, two cycles later
  );
end entity;

architecture rtl of argmax_scan is
  signal key, best    : unsigned(31 downto 0) := (others => '0');
  signal key_v, found : std_logic             := '0';
  signal next_i       : unsigned(20 downto 0) := (others => '0');
  signal key_i, at    : unsigned(20 downto 0) := (others => '0');
begin
  index <= at;

  process (clk)
    variable k : unsigned(31 downto 0);
  begin
    if rising_edge(clk) then
      -- A key that orders as the numbers do, both zeros equal.
      k := unsigned(x);
      if x(30 downto 0) = "000" & x"0000000" then
        k := x"80000000";
      elsif x(31) = '1' then
        k := not k;
      else
        k(31) := '1';
      end if;
      key   <= k;
      key_i <= next_i;
      key_v <= valid and not is_nan(x);
      if valid = '1' then
        next_i <= next_i + 1;
      end if;
      if key_v = '1' and (found = '0' or key > best) then
        best  <= key;
        at    <= key_i;
        found <= '1';
      end if;
      if clear = '1' then
        found  <= '0';
        key_v  <= '0';
        at     <= (others => '0');
        next_i <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
