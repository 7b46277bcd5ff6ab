-- Single precision to the quantiser's integers: nearest, halves away from zero; infinite or NaN gives 0.
--
-- 1 shift the magnitude to 8 bits and a half; 2 round, negate.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity f32_to_int8 is
  port (
    clk       : in  std_logic;                    -- rising edge
    reset     : in  std_logic;                    -- clears valid bits
    in_valid  : in  std_logic;                    -- a is there
    a         : in  f32_t;                        -- rounds to -127..127, or is infinite or NaN
    out_valid : out std_logic;                    -- in_valid, F32_TO_INT8_LATENCY later
    y         : out std_logic_vector(7 downto 0)  -- two's complement; nearest, halves away from zero; infinite or NaN gives 0
  );
end entity;

architecture rtl of f32_to_int8 is
  signal valid : std_logic_vector(1 to F32_TO_INT8_LATENCY) := (others => '0');
  signal sign1 : std_logic;
  signal half1 : unsigned(7 downto 0);  -- 0..255, magnitude in halves, cut
begin

  process (clk)
    variable p : fp_parts_t;
    variable m : unsigned(7 downto 0);
  begin
    if rising_edge(clk) then
      p := unpack(a);
      sign1 <= p.sign;
      half1 <= (others => '0');
      -- 2^-1 has exponent 126, and is one half.
      for e in 126 to 133 loop
        if p.exp = to_unsigned(e, 8) then
          half1 <= shift_right(p.man(23 downto 16), 133 - e);  -- flow: ok, an integer
        end if;
      end loop;

      m := '0' & half1(7 downto 1);
      m := m + ("" & half1(0));
      if sign1 = '1' then
        y <= std_logic_vector(-signed(m));
      else
        y <= std_logic_vector(m);
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to F32_TO_INT8_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(F32_TO_INT8_LATENCY);

end architecture;
