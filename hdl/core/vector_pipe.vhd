-- The arithmetic of the vector instructions: adders, multipliers, function table and conversions, wired by the opcode. An
-- element goes in a cycle at most and comes out a fixed time later; there is no stall, so who feeds it keeps credit.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_fp_pkg.all;
use work.ssnail_tables_pkg.all;

entity vector_pipe is
  port (
    clk       : in  std_logic;                                  -- clock162
    kill      : in  std_logic;                                  -- forgets everything under way
    op        : in  std_logic_vector(7 downto 0);               -- opcode; stays while elements are under way
    format    : in  std_logic_vector(7 downto 0);               -- DEQROW: weight format
    summing   : in  std_logic;                                  -- a pass that adds up: nothing comes out
    second    : in  std_logic;                                  -- LAYERNORM: the sum is that of (x - mu)^2
    in_valid  : in  std_logic;                                  -- x, y, b, q are there
    x         : in  std_logic_vector(31 downto 0);              -- element; DEQROW: integer or half
    y         : in  std_logic_vector(31 downto 0);              -- second operand, gain; ROPE: factor of x
    b         : in  std_logic_vector(31 downto 0);              -- bias; ROPE: second element
    q         : in  std_logic_vector(31 downto 0);              -- ROPE: factor of b
    subtract  : in  std_logic;                                  -- ROPE: x*y - b*q, else the sum
    scale     : in  std_logic_vector(15 downto 0);              -- DEQROW: scale of the block, F16; used 7 cycles later and on
    mu        : in  std_logic_vector(31 downto 0);              -- LAYERNORM: mean
    factor    : in  std_logic_vector(31 downto 0);              -- norms: reciprocal root
    out_valid : out std_logic;                                  -- result
    result    : out std_logic_vector(31 downto 0);              -- result, F16 in the low half
    sum_clear : in  std_logic;                                  -- the sum becomes +0
    sum       : out std_logic_vector(31 downto 0);              -- sequential sum; items are FP_ADD_LATENCY cycles apart or more
    -- Scalar operations between passes
    s_mul     : in  std_logic;                                  -- s_a * s_b
    s_add     : in  std_logic;                                  -- s_a + s_b
    s_conv    : in  std_logic;                                  -- F32 of the integer s_a
    s_a, s_b  : in  std_logic_vector(31 downto 0);              -- operands
    s_valid   : out std_logic;                                  -- s_y is the result
    s_y       : out std_logic_vector(31 downto 0)               -- result
  );
end entity;

architecture rtl of vector_pipe is
  signal v0, v0_out, sub0                   : std_logic := '0';
  signal x0, y0, b0, q0                     : f32_t     := (others => '0');
  signal scale_r                            : f16_t     := (others => '0');
  signal m1_v, m2_v, a2_v                   : std_logic := '0';   -- operands are there
  signal a1_v                               : std_logic;
  signal m1_a, m1_b, m2_a, m2_b, a2_a, a2_b : f32_t     := (others => '0');
  signal a1_o, m1_o, m2_o, a2_o, t_o        : std_logic;          -- results are there
  signal a1_y, m1_y, m2_y, a2_y, t_y        : f32_t;
  signal ci_v, ci_o, ch_o, cf_v, cf_o       : std_logic;
  signal ci_a, ci_y, cf_y, d_y              : f32_t;
  signal ch_y                               : f16_t;
  signal t_v                                : std_logic;
  signal func                               : table_t;
  signal s_mul_r, s_add_r                   : std_logic := '0';   -- the operation under way is a scalar one
  signal s_wait                             : std_logic := '0';
  signal sub_a2                             : std_logic := '0';
  signal sub_line                           : std_logic_vector(FP_MUL_LATENCY downto 0) := (others => '0');
  signal item_v                             : std_logic := '0';
  signal item                               : f32_t     := (others => '0');
  signal acc                                : f32_t     := (others => '0');
  signal acc_now                            : f32_t;
  signal acc_o                              : std_logic;
  signal acc_y                              : f32_t;
  signal y_push, y_pop, b_push, b_pop       : std_logic;
  signal y_late, b_late                     : f32_t;
  signal out_v                              : std_logic := '0';
  signal out_d                              : f32_t     := (others => '0');
  signal quantised                          : std_logic := '0';
  signal norm_rms, norm_layer               : std_logic := '0';
begin
  out_valid <= out_v;
  result    <= out_d;
  sum       <= acc;

  func <= TABLE_GELU when op = OP_GELU else TABLE_SILU;
  t_v  <= v0 when op = OP_GELU or op = OP_SILUMUL else '0';
  cf_v <= v0 when op = OP_DEQROW and format = FMT_F16 else '0';
  ci_v <= s_conv or (v0 and quantised);
  ci_a <= s_a when s_conv = '1' else x0;
  a1_v <= v0 when norm_layer = '1' and (summing = '0' or second = '1') else '0';

  u_a1 : entity work.fp_add
    port map (clk => clk, reset => kill, in_valid => a1_v, a => x0, b => mu, subtract => '1', out_valid => a1_o, y => a1_y);
  u_m1 : entity work.fp_mul
    port map (clk => clk, reset => kill, in_valid => m1_v, a => m1_a, b => m1_b, out_valid => m1_o, y => m1_y);
  u_m2 : entity work.fp_mul
    port map (clk => clk, reset => kill, in_valid => m2_v, a => m2_a, b => m2_b, out_valid => m2_o, y => m2_y);
  u_a2 : entity work.fp_add
    port map (clk => clk, reset => kill, in_valid => a2_v, a => a2_a, b => a2_b, subtract => sub_a2, out_valid => a2_o,
              y => a2_y);
  u_acc : entity work.fp_add
    port map (clk => clk, reset => kill, in_valid => item_v, a => acc_now, b => item, subtract => '0', out_valid => acc_o,
              y => acc_y);
  u_table : entity work.fp_table
    port map (clk => clk, reset => kill, in_valid => t_v, func => func, a => x0, out_valid => t_o, y => t_y);
  u_int : entity work.int_to_f32
    port map (clk => clk, reset => kill, in_valid => ci_v, a => ci_a, out_valid => ci_o, y => ci_y);
  u_to_half : entity work.f32_to_f16
    port map (clk => clk, reset => kill, in_valid => v0_out, a => x0, out_valid => ch_o, y => ch_y);
  u_from_half : entity work.f16_to_f32
    port map (clk => clk, reset => kill, in_valid => cf_v, a => x0(15 downto 0), out_valid => cf_o, y => cf_y);
  u_scale : entity work.f16_to_f32
    port map (clk => clk, reset => kill, in_valid => '1', a => scale_r, out_valid => open, y => d_y);

  v0_out  <= v0 when op = OP_CVT16 else '0';
  acc_now <= acc_y when acc_o = '1' else acc;

  -- Second operands wait for the first ones.
  y_push <= v0 when summing = '0' and (op = OP_SILUMUL or norm_rms = '1' or norm_layer = '1') else '0';
  y_pop  <= t_o when op = OP_SILUMUL else
            m1_o and not s_mul_r when summing = '0' and (norm_rms = '1' or norm_layer = '1') else '0';
  b_push <= v0 when summing = '0' and norm_layer = '1' else '0';
  b_pop  <= m2_o when norm_layer = '1' else '0';

  u_y : entity work.fifo_lut
    generic map (WIDTH => 32, LOG_DEPTH => 5)
    port map (clk => clk, clear => kill, push => y_push, din => y0, pop => y_pop, valid => open, room => open, dout => y_late);
  u_b : entity work.fifo_lut
    generic map (WIDTH => 32, LOG_DEPTH => 5)
    port map (clk => clk, clear => kill, push => b_push, din => b0, pop => b_pop, valid => open, room => open, dout => b_late);

  s_valid <= (s_mul_r and m1_o) or (s_add_r and a2_o) or (s_wait and ci_o);
  s_y     <= m1_y when s_mul_r = '1' else a2_y when s_add_r = '1' else ci_y;

  process (clk)
  begin
    if rising_edge(clk) then
      v0      <= in_valid;
      x0      <= x;
      y0      <= y;
      b0      <= b;
      q0      <= q;
      sub0    <= subtract;
      scale_r <= scale;
      norm_rms <= '0';
      norm_layer <= '0';
      quantised  <= '0';
      if op = OP_RMSNORM then
        norm_rms <= '1';
      end if;
      if op = OP_LAYERNORM then
        norm_layer <= '1';
      end if;
      if op = OP_DEQROW and (format = FMT_Q8_0 or format = FMT_Q4_0) then
        quantised <= '1';
      end if;

      -- First multiplier
      m1_v <= '0';
      m1_a <= x0;
      m1_b <= y0;
      if s_mul = '1' then
        m1_v <= '1';
        m1_a <= s_a;
        m1_b <= s_b;
      elsif quantised = '1' then
        m1_v <= ci_o;
        m1_a <= ci_y;
        m1_b <= d_y;
      elsif op = OP_SILUMUL then
        m1_v <= t_o;
        m1_a <= t_y;
        m1_b <= y_late;
      elsif norm_layer = '1' then
        m1_v <= a1_o;
        m1_a <= a1_y;
        m1_b <= factor;
        if summing = '1' then
          m1_b <= a1_y;
        end if;
      elsif norm_rms = '1' then
        m1_v <= v0;
        m1_b <= factor;
        if summing = '1' then
          m1_b <= x0;
        end if;
      elsif op = OP_VMUL or op = OP_ROPE then
        m1_v <= v0;
      end if;

      -- Second multiplier
      m2_v <= '0';
      m2_a <= m1_y;
      m2_b <= y_late;
      if op = OP_ROPE then
        m2_v <= v0;
        m2_a <= b0;
        m2_b <= q0;
      elsif (norm_rms = '1' or norm_layer = '1') and summing = '0' and s_mul_r = '0' then
        m2_v <= m1_o;
      end if;

      -- Last adder
      sub_line <= sub_line(FP_MUL_LATENCY - 1 downto 0) & sub0;
      a2_v     <= '0';
      a2_a     <= m2_y;
      a2_b     <= b_late;
      sub_a2   <= '0';
      if s_add = '1' then
        a2_v <= '1';
        a2_a <= s_a;
        a2_b <= s_b;
      elsif op = OP_VADD then
        a2_v <= v0;
        a2_a <= x0;
        a2_b <= y0;
      elsif op = OP_ROPE then
        a2_v   <= m1_o;
        a2_a   <= m1_y;
        a2_b   <= m2_y;
        sub_a2 <= sub_line(FP_MUL_LATENCY);
      elsif norm_layer = '1' then
        a2_v <= m2_o;
      end if;

      -- Sequential sum
      item_v <= '0';
      item   <= m1_y;
      if summing = '1' then
        if norm_layer = '1' and second = '0' then
          item_v <= v0;
          item   <= x0;
        else
          item_v <= m1_o and not s_mul_r;
        end if;
      end if;
      if acc_o = '1' then
        acc <= acc_y;
      end if;
      if sum_clear = '1' then
        acc <= (others => '0');
      end if;

      if s_mul = '1' then
        s_mul_r <= '1';
      elsif m1_o = '1' then
        s_mul_r <= '0';
      end if;
      if s_add = '1' then
        s_add_r <= '1';
      elsif a2_o = '1' then
        s_add_r <= '0';
      end if;
      if s_conv = '1' then
        s_wait <= '1';
      elsif ci_o = '1' then
        s_wait <= '0';
      end if;

      -- Results
      out_v <= '0';
      out_d <= a2_y;
      case op is
        when OP_VADD | OP_ROPE | OP_LAYERNORM =>
          out_v <= a2_o and not s_add_r;
        when OP_VMUL | OP_SILUMUL =>
          out_v <= m1_o;
          out_d <= m1_y;
        when OP_RMSNORM =>
          out_v <= m2_o;
          out_d <= m2_y;
        when OP_GELU =>
          out_v <= t_o;
          out_d <= t_y;
        when OP_CVT16 =>
          out_v <= ch_o;
          out_d <= x"0000" & ch_y;
        when OP_DEQROW =>
          case format is
            when FMT_F16 =>
              out_v <= cf_o;
              out_d <= cf_y;
            when FMT_BF16 =>
              out_v <= v0;
              out_d <= bf16_to_f32(x0(15 downto 0));
            when FMT_F32 =>
              out_v <= v0;
              out_d <= x0;
              if is_nan(x0) = '1' then
                out_d <= F32_NAN;
              end if;
            when others =>
              out_v <= m1_o;
              out_d <= m1_y;
          end case;
        when others => -- COPY
          out_v <= v0;
          out_d <= x0;
      end case;

      if kill = '1' then
        v0      <= '0';
        m1_v    <= '0';
        m2_v    <= '0';
        a2_v    <= '0';
        item_v  <= '0';
        out_v   <= '0';
        s_mul_r <= '0';
        s_add_r <= '0';
        s_wait  <= '0';
      end if;
    end if;
  end process;
end architecture;
