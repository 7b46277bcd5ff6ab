-- SiLU, GELU and exp by chords: c0 + c1*x with the coefficients of segment floor((x - lo) * k), 255 at the most.
--
-- One adder and one multiplier find the segment, another pair evaluates the chord; four DSP48. Meanwhile x goes
-- along, and from the ROM on where it lies (below, above, NaN).
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;
use work.ssnail_tables_pkg.all;

entity fp_table is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- clears valid bits
    in_valid  : in  std_logic;  -- a, func are there
    func      : in  table_t;    -- TABLE_SILU, TABLE_GELU or TABLE_EXP, may change each cycle
    a         : in  f32_t;      -- any single
    out_valid : out std_logic;  -- in_valid, FP_TABLE_LATENCY later
    y         : out f32_t       -- the function by chords
  );
end entity;

architecture rtl of fp_table is

  constant SEGMENT_LATENCY : positive := FP_ADD_LATENCY + FP_MUL_LATENCY;  -- a to scaled
  constant COEFF_LATENCY   : positive := SEGMENT_LATENCY + 3;              -- a to c0, c1
  constant DELAY           : positive := FP_TABLE_LATENCY - 1;             -- a to the choice

  type f32_vec_t is array (natural range <>) of f32_t;
  type func_vec_t is array (natural range <>) of table_t;
  subtype place_t is std_logic_vector(2 downto 0);  -- NaN, below, above
  type place_vec_t is array (natural range <>) of place_t;

  signal valid    : std_logic_vector(1 to FP_TABLE_LATENCY) := (others => '0');
  signal neg_lo   : f32_t;
  signal shifted  : f32_t;  -- a - lo
  signal k        : f32_t;
  signal scaled   : f32_t;  -- times k
  signal segment  : unsigned(9 downto 0);
  signal c0, c1   : f32_t;
  signal product  : f32_t;
  signal chord    : f32_t;
  signal a_line   : f32_vec_t(1 to COEFF_LATENCY - 1);
  signal x        : f32_t;  -- a, when c1 is there
  signal x_line   : f32_vec_t(COEFF_LATENCY + 1 to DELAY);
  signal c0_line  : f32_vec_t(1 to FP_MUL_LATENCY - 1);
  signal c0_late  : f32_t;  -- c0, when product is there
  signal func_line  : func_vec_t(1 to DELAY);
  signal place_line : place_vec_t(COEFF_LATENCY + 1 to DELAY);

begin

  neg_lo <= TABLE_RANGES(to_integer(unsigned(func))).neg_lo;

  u_shift : entity work.fp_add
    port map (clk => clk, reset => reset, in_valid => in_valid, a => a, b => neg_lo, subtract => '0',
              out_valid => open, y => shifted);

  u_scale : entity work.fp_mul
    port map (clk => clk, reset => reset, in_valid => in_valid, a => shifted, b => k, out_valid => open, y => scaled);

  u_rom : entity work.table_rom
    port map (clk => clk, addr => segment, c0 => c0, c1 => c1);

  u_slope : entity work.fp_mul
    port map (clk => clk, reset => reset, in_valid => in_valid, a => c1, b => x,
              out_valid => open, y => product);

  u_chord : entity work.fp_add
    port map (clk => clk, reset => reset, in_valid => in_valid, a => c0_late, b => product,
              subtract => '0', out_valid => open, y => chord);

  process (clk)
    variable limits : table_range_t;
    variable floor  : unsigned(7 downto 0);
    variable place  : place_t;
  begin
    if rising_edge(clk) then
      a_line <= a & a_line(1 to COEFF_LATENCY - 2);
      x <= a_line(COEFF_LATENCY - 1);
      x_line <= x & x_line(COEFF_LATENCY + 1 to DELAY - 1);
      func_line <= func & func_line(1 to DELAY - 1);
      c0_line <= c0 & c0_line(1 to FP_MUL_LATENCY - 2);
      c0_late <= c0_line(FP_MUL_LATENCY - 1);
      k <= TABLE_RANGES(to_integer(unsigned(func_line(FP_ADD_LATENCY - 1)))).k;

      -- lo is negative, hi positive or +0, which -0 equals.
      limits := TABLE_RANGES(to_integer(unsigned(func_line(COEFF_LATENCY))));
      place := "000";
      if is_nan(x) = '1' then
        place := "100";
      elsif x(31) = '1' then
        if unsigned(x(30 downto 0)) > unsigned(limits.lo(30 downto 0)) then
          place := "010";
        elsif (or x(30 downto 0)) = '0' and (or limits.hi) = '0' then
          place := "001";
        end if;
      elsif unsigned(x(30 downto 0)) >= unsigned(limits.hi(30 downto 0)) then
        place := "001";
      end if;
      place_line <= place & place_line(COEFF_LATENCY + 1 to DELAY - 1);

      -- Integer part of scaled, which is 0 or more wherever the chord is used
      floor := (others => '0');
      for e in 127 to 134 loop
        if unsigned(scaled(30 downto 23)) = to_unsigned(e, 8) then
          floor := shift_right('1' & unsigned(scaled(22 downto 16)), 134 - e);  -- flow: ok, an integer
        end if;
      end loop;
      if unsigned(scaled(30 downto 23)) > 134 then
        floor := (others => '1');
      end if;
      segment <= unsigned(func_line(SEGMENT_LATENCY)) & floor;

      y <= chord;
      if place_line(DELAY)(2) = '1' then
        y <= F32_NAN;
      elsif place_line(DELAY)(1) = '1' then
        y <= (others => '0');
      elsif place_line(DELAY)(0) = '1' then
        y <= x_line(DELAY);
        if TABLE_RANGES(to_integer(unsigned(func_line(DELAY)))).above_one = '1' then
          y <= F32_ONE;
        end if;
      end if;

      valid <= in_valid & valid(1 to FP_TABLE_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
        -- With a reset these are registers and not the slow ends of shift registers.
        x <= (others => '0');
        c0_late <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(FP_TABLE_LATENCY);

end architecture;
