-- Single precision product: nearest even, subnormals kept, every NaN canonical. Two DSP48.
--
-- 1 take the operands apart; 2 multiply by the two parts of b; 3 add these; 4 shift by 8, 4 and 16 places; 5 by the
-- rest; 6 round, pack. While the DSPs multiply, the shift is computed from the exponents alone, so that one shifter
-- does both: left, past the leading zeros of a subnormal operand, and right, to a subnormal result. Where both operands
-- are subnormal the product is too small to be anything but sticky.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity fp_mul is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- clears valid bits
    in_valid  : in  std_logic;  -- a, b are there
    a         : in  f32_t;      -- any single
    b         : in  f32_t;      -- any single
    out_valid : out std_logic;  -- in_valid, FP_MUL_LATENCY later
    y         : out f32_t       -- a * b, nearest even
  );
end entity;

architecture rtl of fp_mul is

  type flags_t is record
    sign    : std_logic;  -- of the result
    is_nan  : std_logic;  -- the result is NaN
    is_inf  : std_logic;  -- an operand is infinite
    is_zero : std_logic;  -- an operand is zero
  end record;
  type flags_vec_t is array (1 to 5) of flags_t;

  signal valid : std_logic_vector(1 to FP_MUL_LATENCY) := (others => '0');
  signal flags : flags_vec_t;

  signal man_a1, man_b1 : unsigned(23 downto 0);
  signal tiny1    : unsigned(23 downto 0);  -- the subnormal operand, if there is one
  signal exp1     : unsigned(8 downto 0);   -- sum of the biased exponents
  signal low2     : unsigned(40 downto 0);  -- man_a * low 17 bits of man_b
  signal high2    : unsigned(30 downto 0);  -- man_a * high 7 bits of man_b
  signal left2    : unsigned(4 downto 0);   -- 0..23, places that a subnormal operand lacks
  signal exp2     : signed(9 downto 0);     -- of the product, biased, if its leading one is bit 46
  signal product3 : unsigned(47 downto 0);
  signal right3   : unsigned(5 downto 0);   -- 0..50, shift of product & '0' that puts the leading one to bit 24 or 25
  signal exp3     : signed(9 downto 0);     -- then, 1 at the least; above 255 from there on
  signal window4  : unsigned(28 downto 0);
  signal sticky4  : std_logic;
  signal right4   : unsigned(1 downto 0);
  signal exp4     : signed(9 downto 0);
  signal man5     : unsigned(23 downto 0);  -- with hidden bit
  signal up5      : std_logic;
  signal exp5     : unsigned(7 downto 0);   -- less the hidden bit
  signal big5     : std_logic;              -- the result is infinite

begin

  process (clk)
    variable pa, pb : fp_parts_t;
  begin
    if rising_edge(clk) then
      pa := unpack(a);
      pb := unpack(b);
      man_a1 <= pa.man;
      man_b1 <= pb.man;
      if pa.man(23) = '0' then
        tiny1 <= pa.man;
      else
        tiny1 <= pb.man;
      end if;
      exp1 <= resize(pa.exp, 9) + resize(pb.exp, 9);
      flags(1).sign <= pa.sign xor pb.sign;
      flags(1).is_nan <= pa.is_nan or pb.is_nan or (pa.is_inf and pb.is_zero) or (pa.is_zero and pb.is_inf);
      flags(1).is_inf <= pa.is_inf or pb.is_inf;
      flags(1).is_zero <= pa.is_zero or pb.is_zero;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      flags(2) <= flags(1);
      low2 <= man_a1 * man_b1(16 downto 0);
      high2 <= man_a1 * man_b1(23 downto 17);
      left2 <= to_unsigned(leading_zeros(tiny1), 5);
      exp2 <= signed(resize(exp1, 10)) - to_signed(127, 10);
    end if;
  end process;

  -- Left by left2, or by exp - 1 where that is less: then the exponent is 1.
  process (clk)
    variable exp_less : signed(9 downto 0);
  begin
    if rising_edge(clk) then
      flags(3) <= flags(2);
      product3 <= (high2 & (16 downto 0 => '0')) + resize(low2, 48);
      exp_less := exp2 - signed(resize(left2, 10));
      if exp_less >= 1 then
        exp3 <= exp_less;
        right3 <= to_unsigned(23, 6) - resize(left2, 6);
      else
        exp3 <= to_signed(1, 10);
        if exp2 < -26 then
          right3 <= to_unsigned(50, 6);
        else
          -- 23 - (exp - 1), which is 0..50
          right3 <= to_unsigned(24, 6) - unsigned(exp2(5 downto 0));
        end if;
      end if;
    end if;
  end process;

  process (clk)
    variable s : unsigned(48 downto 0);
    variable sticky : std_logic;
  begin
    if rising_edge(clk) then
      flags(4) <= flags(3);
      s := product3 & '0';
      sticky := '0';
      case right3(5 downto 4) is
        when "00" => null;
        when "01" =>
          sticky := or s(15 downto 0);
          s := shift_right(s, 16);
        when "10" =>
          sticky := or s(31 downto 0);
          s := shift_right(s, 32);
        when others =>
          sticky := or s(47 downto 0);
          s := shift_right(s, 48);
      end case;
      case right3(3 downto 2) is
        when "00" => null;
        when "01" =>
          sticky := sticky or (or s(3 downto 0));
          s := shift_right(s, 4);
        when "10" =>
          sticky := sticky or (or s(7 downto 0));
          s := shift_right(s, 8);
        when others =>
          sticky := sticky or (or s(11 downto 0));
          s := shift_right(s, 12);
      end case;
      window4 <= s(28 downto 0);
      sticky4 <= sticky;
      right4 <= right3(1 downto 0);
      exp4 <= exp3;
    end if;
  end process;

  process (clk)
    variable w : unsigned(25 downto 0);
    variable lost, guard, sticky, last : std_logic;
  begin
    if rising_edge(clk) then
      flags(5) <= flags(4);
      lost := sticky4;
      w := window4(25 downto 0);
      case right4 is
        when "00" => null;
        when "01" =>
          lost := lost or window4(0);
          w := window4(26 downto 1);
        when "10" =>
          lost := lost or (or window4(1 downto 0));
          w := window4(27 downto 2);
        when others =>
          lost := lost or (or window4(2 downto 0));
          w := window4(28 downto 3);
      end case;
      if w(25) = '1' then
        man5 <= w(25 downto 2);
        last := w(2);
        guard := w(1);
        sticky := lost or w(0);
        exp5 <= unsigned(exp4(7 downto 0));
      else
        man5 <= w(24 downto 1);
        last := w(1);
        guard := w(0);
        sticky := lost;
        exp5 <= unsigned(exp4(7 downto 0)) - 1;
      end if;
      up5 <= guard and (sticky or last);
      big5 <= '0';
      if exp4 >= 255 or (exp4 = 254 and w(25) = '1') then
        big5 <= '1';
      end if;
    end if;
  end process;

  process (clk)
    variable field : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      field := ((exp5 & "000" & x"00000") + man5) + ("" & up5);
      if flags(5).is_nan = '1' then
        y <= F32_NAN;
      elsif flags(5).is_inf = '1' or (big5 = '1' and flags(5).is_zero = '0') then
        y <= infinity(flags(5).sign);
      elsif flags(5).is_zero = '1' then
        y <= zero(flags(5).sign);
      else
        y <= flags(5).sign & std_logic_vector(field);
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to FP_MUL_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(FP_MUL_LATENCY);

end architecture;
