-- Arithmetic: formats and latencies of the units in hdl/core, and helpers that they share.
-- Every unit takes one operation a clock and cannot be stalled, except fp_div, fp_sqrt and fp_quantise (in_ready).
-- A latency counts the registers from operand to result: the operand on the port in cycle t, the result in cycle t + latency.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

package ssnail_fp_pkg is

  subtype f32_t is std_logic_vector(31 downto 0);   -- IEEE 754 single
  subtype f16_t is std_logic_vector(15 downto 0);   -- IEEE 754 half
  subtype bf16_t is std_logic_vector(15 downto 0);  -- upper half of a single

  constant F32_NAN : f32_t := x"7FC00000";
  constant F32_INF : f32_t := x"7F800000";
  constant F32_ONE : f32_t := x"3F800000";
  constant F32_127 : f32_t := x"42FE0000";
  constant F16_NAN : f16_t := x"7E00";

  constant FP_ADD_LATENCY      : positive := 5;   -- cycles
  constant FP_MUL_LATENCY      : positive := 6;   -- cycles
  constant F16_TO_F32_LATENCY  : positive := 2;   -- cycles
  constant F32_TO_F16_LATENCY  : positive := 3;   -- cycles
  constant INT_TO_F32_LATENCY  : positive := 4;   -- cycles
  constant F32_TO_INT8_LATENCY : positive := 2;   -- cycles
  constant FP_COMPARE_LATENCY  : positive := 2;   -- cycles
  -- x - lo, times k, segment, ROM, times c1, plus c0, choice
  constant FP_TABLE_LATENCY    : positive := 2 * FP_ADD_LATENCY + 2 * FP_MUL_LATENCY + 4;  -- cycles

  constant DOT_INT8_LATENCY    : positive := 6;   -- cycles, from a block's last word
  -- From the edge that takes the operands to the result, nothing being subnormal; a new operation starts with the result
  constant FP_DIV_CYCLES       : positive := 17;  -- cycles
  constant FP_SQRT_CYCLES      : positive := 28;  -- cycles

  -- bf16 as single: exact, a NaN canonical; no register
  function bf16_to_f32(x : bf16_t) return f32_t;
  function is_nan(x : f32_t) return std_logic;
  function negate(x : f32_t) return f32_t;

  -- A single's parts
  type fp_parts_t is record
    sign    : std_logic;              -- 1 negative
    exp     : unsigned(7 downto 0);   -- biased; 1 for subnormals and zero
    man     : unsigned(23 downto 0);  -- with hidden bit, 0 for subnormals and zero
    is_nan  : std_logic;              -- not a number
    is_inf  : std_logic;              -- an infinity
    is_zero : std_logic;              -- a zero
  end record;
  function unpack(x : f32_t) return fp_parts_t;
  function infinity(sign : std_logic) return f32_t;
  function zero(sign : std_logic) return f32_t;
  -- Zeros above the first one, 0..v'length, in as many bits as that takes
  function leading_zeros(v : unsigned) return natural;

  -- The exact sum: limbs of 32 bits in units of 2^-298; room in a limb for the parts of 4096 products and the sign
  constant EXACT_LIMBS      : positive := 19;  -- 608 bits
  constant EXACT_LIMB_BITS  : positive := 46;  -- bits
  constant EXACT_SUM_CYCLES : positive := 19;  -- cycles, at the least from one row's last product to the next one's
  type exact_special_t is record
    is_nan  : std_logic;  -- a NaN, or 0 * infinity
    pos_inf : std_logic;  -- a product is +infinity
    neg_inf : std_logic;  -- a product is -infinity
  end record;

end package;

package body ssnail_fp_pkg is

  function bf16_to_f32(x : bf16_t) return f32_t is
  begin
    if (and x(14 downto 7)) = '1' and (or x(6 downto 0)) = '1' then
      return F32_NAN;
    end if;
    return x & x"0000";
  end function;

  function is_nan(x : f32_t) return std_logic is
  begin
    return (and x(30 downto 23)) and (or x(22 downto 0));
  end function;

  function negate(x : f32_t) return f32_t is
  begin
    return (not x(31)) & x(30 downto 0);
  end function;

  function unpack(x : f32_t) return fp_parts_t is
    variable r : fp_parts_t;
    variable ones, normal, fraction : std_logic;
  begin
    ones := and x(30 downto 23);
    normal := or x(30 downto 23);
    fraction := or x(22 downto 0);
    r.sign := x(31);
    r.exp := unsigned(x(30 downto 24)) & (x(23) or not normal);
    r.man := normal & unsigned(x(22 downto 0));
    r.is_nan := ones and fraction;
    r.is_inf := ones and not fraction;
    r.is_zero := not normal and not fraction;
    return r;
  end function;

  function infinity(sign : std_logic) return f32_t is
  begin
    return sign & F32_INF(30 downto 0);
  end function;

  function zero(sign : std_logic) return f32_t is
  begin
    return sign & (30 downto 0 => '0');
  end function;

  function leading_zeros(v : unsigned) return natural is
    alias a : unsigned(v'length - 1 downto 0) is v;
    variable n : natural range 0 to v'length := v'length;
  begin
    for i in 0 to v'length - 1 loop  -- the last hit, the highest, stays
      if a(i) = '1' then
        n := v'length - 1 - i;
      end if;
    end loop;
    return n;
  end function;

end package body;
