-- Comparison of two singles: greater, or unordered where one is NaN. -0 equals +0.
--
-- 1 compare the magnitudes; 2 look at the signs.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity fp_compare is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- clears valid bits
    in_valid  : in  std_logic;  -- a, b are there
    a         : in  f32_t;      -- any single
    b         : in  f32_t;      -- any single
    out_valid : out std_logic;  -- in_valid, FP_COMPARE_LATENCY later
    greater   : out std_logic;  -- a > b; 0 where either is NaN
    unordered : out std_logic   -- either is NaN
  );
end entity;

architecture rtl of fp_compare is
  signal valid  : std_logic_vector(1 to FP_COMPARE_LATENCY) := (others => '0');
  signal above1 : std_logic;  -- |a| > |b|
  signal below1 : std_logic;  -- |a| < |b|
  signal zero1  : std_logic;  -- both are zero
  signal nan1   : std_logic;  -- either is NaN
  signal sign_a1, sign_b1 : std_logic;
begin

  process (clk)
  begin
    if rising_edge(clk) then
      above1 <= '0';
      below1 <= '0';
      if unsigned(a(30 downto 0)) > unsigned(b(30 downto 0)) then
        above1 <= '1';
      end if;
      if unsigned(a(30 downto 0)) < unsigned(b(30 downto 0)) then
        below1 <= '1';
      end if;
      zero1 <= not ((or a(30 downto 0)) or (or b(30 downto 0)));
      nan1 <= is_nan(a) or is_nan(b);
      sign_a1 <= a(31);
      sign_b1 <= b(31);

      unordered <= nan1;
      greater <= '0';
      if nan1 = '0' and zero1 = '0' then
        if sign_a1 /= sign_b1 then
          greater <= sign_b1;
        elsif sign_a1 = '0' then
          greater <= above1;
        else
          greater <= below1;
        end if;
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to FP_COMPARE_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(FP_COMPARE_LATENCY);

end architecture;
