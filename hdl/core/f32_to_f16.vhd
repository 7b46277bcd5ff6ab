-- Single to half precision: nearest even, subnormals kept, infinity from 65520 on, every NaN canonical.
--
-- 1 exponent, and by how much a subnormal is shifted down; 2 shift; 3 round, pack.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity f32_to_f16 is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- clears valid bits
    in_valid  : in  std_logic;  -- a is there
    a         : in  f32_t;      -- any single
    out_valid : out std_logic;  -- in_valid, F32_TO_F16_LATENCY later
    y         : out f16_t       -- nearest even, from 65520 on infinity, a NaN canonical
  );
end entity;

architecture rtl of f32_to_f16 is

  type flags_t is record
    sign   : std_logic;             -- of the result
    is_nan : std_logic;             -- the result is NaN
    is_inf : std_logic;             -- infinite, or too large before rounding
    exp    : unsigned(4 downto 0);  -- biased, less the hidden bit: 0..29
  end record;
  type flags_vec_t is array (1 to 2) of flags_t;

  signal valid  : std_logic_vector(1 to F32_TO_F16_LATENCY) := (others => '0');
  signal flags  : flags_vec_t;
  signal man1   : unsigned(23 downto 0);
  signal right1 : unsigned(3 downto 0);  -- 0..12, shift of a subnormal
  signal tiny1  : std_logic;             -- nothing of it is left but sticky
  signal man2   : unsigned(10 downto 0);
  signal up2    : std_logic;

begin

  process (clk)
    variable p : fp_parts_t;
  begin
    if rising_edge(clk) then
      p := unpack(a);
      flags(1).sign <= p.sign;
      flags(1).is_nan <= p.is_nan;
      flags(1).is_inf <= '0';
      man1 <= p.man;
      right1 <= (others => '0');
      tiny1 <= '0';
      flags(1).exp <= (others => '0');
      if p.exp > 142 then     -- 2^16 and above
        flags(1).is_inf <= '1';
      elsif p.exp > 112 then  -- normal; 113 - 112 less the hidden bit is 0
        flags(1).exp <= p.exp(4 downto 0) - 17;
      elsif p.exp < 101 then  -- below 2^-26: less than half of the smallest subnormal
        tiny1 <= '1';
      else
        right1 <= to_unsigned(1, 4) - p.exp(3 downto 0);  -- 113 - exp modulo 16
      end if;
    end if;
  end process;

  process (clk)
    variable s : unsigned(23 downto 0);
    variable lost : std_logic;
  begin
    if rising_edge(clk) then
      flags(2) <= flags(1);
      s := shift_right(man1, to_integer(right1));
      lost := or s(11 downto 0);
      for i in 0 to 11 loop
        if man1(i) = '1' and right1 > i then
          lost := '1';
        end if;
      end loop;
      man2 <= s(23 downto 13);
      up2 <= s(12) and (lost or s(13));
      if tiny1 = '1' then
        man2 <= (others => '0');
        up2 <= '0';
      end if;
    end if;
  end process;

  process (clk)
    variable field : unsigned(14 downto 0);
  begin
    if rising_edge(clk) then
      field := ((flags(2).exp & "0000000000") + man2) + ("" & up2);
      if flags(2).is_nan = '1' then
        y <= F16_NAN;
      elsif flags(2).is_inf = '1' then
        y <= flags(2).sign & "111110000000000";
      else
        y <= flags(2).sign & std_logic_vector(field);
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to F32_TO_F16_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(F32_TO_F16_LATENCY);

end architecture;
