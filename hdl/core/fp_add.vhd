-- Single precision sum or difference: nearest even, subnormals kept, every NaN canonical.
--
-- 1 order the operands by magnitude; 2 shift the smaller one; 3 add; 4 shift left by whole nibbles; 5 shift by the
-- rest, round, pack. A subnormal result must not be shifted up to its leading one: a one put into the count at the
-- place where the exponent would become 1 stops the shift there, and saves a comparison after the count.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity fp_add is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- clears valid bits
    in_valid  : in  std_logic;  -- a, b, subtract are there
    a         : in  f32_t;      -- any single
    b         : in  f32_t;      -- any single
    subtract  : in  std_logic;  -- 1: a - b
    out_valid : out std_logic;  -- in_valid, FP_ADD_LATENCY later
    y         : out f32_t       -- a + b or a - b, nearest even
  );
end entity;

architecture rtl of fp_add is

  -- What does not change on the way
  type flags_t is record
    sign      : std_logic;             -- of the larger operand, or of an infinity
    zero_sign : std_logic;             -- of an exact zero
    opposite  : std_logic;             -- the signs differ: a difference of magnitudes
    is_nan    : std_logic;             -- the result is NaN
    is_inf    : std_logic;             -- an operand is infinite
    exp       : unsigned(7 downto 0);  -- of the larger operand, biased, 1..255
  end record;
  type flags_vec_t is array (1 to 4) of flags_t;

  signal valid  : std_logic_vector(1 to FP_ADD_LATENCY) := (others => '0');
  signal flags  : flags_vec_t;
  signal large1 : unsigned(23 downto 0);
  signal small1 : unsigned(23 downto 0);
  signal diff1  : unsigned(7 downto 0);
  signal large2 : unsigned(23 downto 0);
  signal small2 : unsigned(26 downto 0);  -- 24 bits, guard, round, sticky
  signal sum3   : unsigned(27 downto 0);
  signal stop3  : unsigned(27 downto 0);  -- a one where the exponent would be 1
  signal nibble4 : unsigned(27 downto 0);  -- the leading one, or the stop, in the top nibble
  signal fine4   : unsigned(1 downto 0);   -- shift that is left
  signal shift4  : unsigned(4 downto 0);   -- 0..27, whole shift
  signal zero4   : std_logic;

begin

  process (clk)
    variable pa, pb : fp_parts_t;
    variable a_small : std_logic;
    variable a_minus_b, b_minus_a : unsigned(7 downto 0);
    variable sign_b : std_logic;
  begin
    if rising_edge(clk) then
      pa := unpack(a);
      pb := unpack(b);
      sign_b := pb.sign xor subtract;
      a_small := '0';
      if unsigned(a(30 downto 0)) < unsigned(b(30 downto 0)) then
        a_small := '1';
      end if;
      a_minus_b := pa.exp - pb.exp;
      b_minus_a := pb.exp - pa.exp;
      if a_small = '1' then
        large1 <= pb.man;
        small1 <= pa.man;
        diff1 <= b_minus_a;
        flags(1).exp <= pb.exp;
        flags(1).sign <= sign_b;
      else
        large1 <= pa.man;
        small1 <= pb.man;
        diff1 <= a_minus_b;
        flags(1).exp <= pa.exp;
        flags(1).sign <= pa.sign;
      end if;
      flags(1).zero_sign <= pa.sign and sign_b;
      flags(1).opposite <= pa.sign xor sign_b;
      flags(1).is_nan <= pa.is_nan or pb.is_nan or (pa.is_inf and pb.is_inf and (pa.sign xor sign_b));
      flags(1).is_inf <= pa.is_inf or pb.is_inf;
    end if;
  end process;

  -- The smaller operand to the larger one's exponent. What is lost is or-ed into the last bit, step by step.
  process (clk)
    variable s : unsigned(26 downto 0);
    variable sticky : std_logic;
  begin
    if rising_edge(clk) then
      flags(2) <= flags(1);
      large2 <= large1;
      s := small1 & "000";
      sticky := '0';
      case diff1(4 downto 3) is
        when "00" => null;
        when "01" =>
          sticky := or s(7 downto 0);
          s := shift_right(s, 8);
        when "10" =>
          sticky := or s(15 downto 0);
          s := shift_right(s, 16);
        when others =>
          sticky := or s(23 downto 0);
          s := shift_right(s, 24);
      end case;
      case diff1(2 downto 1) is
        when "00" => null;
        when "01" =>
          sticky := sticky or (or s(1 downto 0));
          s := shift_right(s, 2);
        when "10" =>
          sticky := sticky or (or s(3 downto 0));
          s := shift_right(s, 4);
        when others =>
          sticky := sticky or (or s(5 downto 0));
          s := shift_right(s, 6);
      end case;
      if diff1(0) = '1' then
        sticky := sticky or s(0);
        s := shift_right(s, 1);
      end if;
      if (or diff1(7 downto 5)) = '1' then
        sticky := or small1;
        s := (others => '0');
      end if;
      small2 <= s(26 downto 1) & (s(0) or sticky);
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      flags(3) <= flags(2);
      if flags(2).opposite = '1' then
        sum3 <= ('0' & large2 & "000") - ('0' & small2);
      else
        sum3 <= ('0' & large2 & "000") + ('0' & small2);
      end if;
      -- Shifted left by n the exponent is exp + 1 - n; it is 1 at n = exp.
      stop3 <= (others => '0');
      for n in 1 to 27 loop
        if flags(2).exp = to_unsigned(n, 8) then
          stop3(27 - n) <= '1';  -- flow: ok, an integer
        end if;
      end loop;
    end if;
  end process;

  process (clk)
    variable count : unsigned(27 downto 0);
    variable used  : std_logic_vector(6 downto 0);  -- nibble has a one, 6 the top
    variable coarse : natural range 0 to 7;
    variable top   : unsigned(3 downto 0);
  begin
    if rising_edge(clk) then
      flags(4) <= flags(3);
      count := sum3 or stop3;
      for i in 0 to 6 loop
        used(i) := or count(4 * i + 3 downto 4 * i);
      end loop;
      if used(6) = '1' then
        coarse := 0;
      elsif used(5) = '1' then
        coarse := 1;
      elsif used(4) = '1' then
        coarse := 2;
      elsif used(3) = '1' then
        coarse := 3;
      elsif used(2) = '1' then
        coarse := 4;
      elsif used(1) = '1' then
        coarse := 5;
      else
        coarse := 6;
      end if;
      nibble4 <= (others => '0');
      top := (others => '0');
      for i in 0 to 6 loop
        if coarse = i then
          nibble4 <= shift_left(sum3, 4 * i);
          top := count(27 - 4 * i downto 24 - 4 * i);
        end if;
      end loop;
      fine4 <= "11";
      if top(3) = '1' then
        fine4 <= "00";
      elsif top(2) = '1' then
        fine4 <= "01";
      elsif top(1) = '1' then
        fine4 <= "10";
      end if;
      shift4(4 downto 2) <= to_unsigned(coarse, 3);
      zero4 <= not (or sum3);
    end if;
  end process;
  shift4(1 downto 0) <= fine4;

  process (clk)
    variable m     : unsigned(27 downto 0);
    variable exp   : unsigned(7 downto 0);
    variable up    : std_logic;
    variable field : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      m := shift_left(nibble4, to_integer(fine4));
      -- Less one, since the hidden bit, where there is one, adds it again.
      exp := flags(4).exp - shift4;
      up := m(3) and (m(4) or (or m(2 downto 0)));
      field := ((exp & "000" & x"00000") + m(27 downto 4)) + ("" & up);
      if flags(4).is_nan = '1' then
        y <= F32_NAN;
      elsif flags(4).is_inf = '1' or (flags(4).exp = 254 and shift4 = 0) then
        y <= infinity(flags(4).sign);
      elsif zero4 = '1' then
        y <= zero(flags(4).zero_sign);
      else
        y <= flags(4).sign & std_logic_vector(field);
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to FP_ADD_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(FP_ADD_LATENCY);

end architecture;
