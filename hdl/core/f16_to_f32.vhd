-- Half to single precision: exact, a NaN canonical.
--
-- 1 count the leading zeros of a subnormal; 2 shift it up, pack.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity f16_to_f32 is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- clears valid bits
    in_valid  : in  std_logic;  -- a is there
    a         : in  f16_t;      -- any half
    out_valid : out std_logic;  -- in_valid, F16_TO_F32_LATENCY later
    y         : out f32_t       -- the same number, a NaN canonical
  );
end entity;

architecture rtl of f16_to_f32 is
  signal valid : std_logic_vector(1 to F16_TO_F32_LATENCY) := (others => '0');
  signal a1    : f16_t;
  signal zeros1 : unsigned(3 downto 0);  -- 0..10, above the first one of the fraction
begin

  process (clk)
    variable exp : unsigned(7 downto 0);
    variable fraction : unsigned(9 downto 0);
  begin
    if rising_edge(clk) then
      a1 <= a;
      zeros1 <= to_unsigned(leading_zeros(unsigned(a(9 downto 0))), 4);

      exp := resize(unsigned(a1(14 downto 10)), 8) + to_unsigned(112, 8);
      fraction := unsigned(a1(9 downto 0));
      if (and a1(14 downto 10)) = '1' then
        if (or fraction) = '1' then
          y <= F32_NAN;
        else
          y <= infinity(a1(15));
        end if;
      elsif (or a1(14 downto 10)) = '1' then
        y <= a1(15) & std_logic_vector(exp) & std_logic_vector(fraction) & (12 downto 0 => '0');
      elsif zeros1 = 10 then
        y <= zero(a1(15));
      else
        -- 0.1f * 2^-14 is 1.f * 2^-15, whose biased exponent is 112.
        exp := to_unsigned(112, 8) - resize(zeros1, 8);
        fraction := shift_left(fraction, to_integer(zeros1));
        y <= a1(15) & std_logic_vector(exp) & std_logic_vector(fraction(8 downto 0)) & (13 downto 0 => '0');
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to F16_TO_F32_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(F16_TO_F32_LATENCY);

end architecture;
