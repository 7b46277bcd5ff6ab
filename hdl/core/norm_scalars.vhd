-- What the norms compute once for a vector: the reciprocal of its length, a mean, and the reciprocal root of mean + eps.
-- Products and sums are made by the pipe's units, whose elements wait meanwhile.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity norm_scalars is
  port (
    clk     : in  std_logic;                                    -- clock162
    kill    : in  std_logic;                                    -- back to idle
    begin_n : in  std_logic;                                    -- makes the reciprocal of n
    mean    : in  std_logic;                                    -- value = sum / n
    root    : in  std_logic;                                    -- value = 1 / sqrt(sum / n + eps)
    n       : in  unsigned(20 downto 0);                        -- elements, 1..2^20
    sum     : in  f32_t;                                        -- sequential sum, stays until done
    eps     : in  f32_t;                                        -- N2
    done    : out std_logic;                                    -- what was asked for is there, one cycle
    value   : out f32_t;                                        -- with done, and until the next one
    -- Units of the pipe
    s_mul   : out std_logic;                                    -- s_a * s_b
    s_add   : out std_logic;                                    -- s_a + s_b
    s_conv  : out std_logic;                                    -- F32 of the integer s_a
    s_a     : out f32_t;                                        -- operand
    s_b     : out f32_t;                                        -- operand
    s_valid : in  std_logic;                                    -- s_y is the result
    s_y     : in  f32_t                                         -- result
  );
end entity;

architecture rtl of norm_scalars is
  type state_t is (IDLE_S, CONVERT, INVERT_N, DIVIDE, ADD_EPS, TAKE_ROOT, INVERT);
  signal state                : state_t   := IDLE_S;
  signal with_root            : std_logic := '0';
  signal rn, value_r, a, b    : f32_t     := (others => '0');
  signal mul_r, add_r, conv_r : std_logic := '0';
  signal div_v, root_v        : std_logic := '0';
  signal done_r               : std_logic := '0';
  signal div_o, root_o        : std_logic;
  signal div_y, root_y        : f32_t;
begin
  done   <= done_r;
  value  <= value_r;
  s_mul  <= mul_r;
  s_add  <= add_r;
  s_conv <= conv_r;
  s_a    <= a;
  s_b    <= b;

  u_div : entity work.fp_div
    port map (clk => clk, reset => kill, in_valid => div_v, in_ready => open, a => F32_ONE, b => a, out_valid => div_o,
              y => div_y);
  u_sqrt : entity work.fp_sqrt
    port map (clk => clk, reset => kill, in_valid => root_v, in_ready => open, a => a, out_valid => root_o, y => root_y);

  process (clk)
  begin
    if rising_edge(clk) then
      mul_r  <= '0';
      add_r  <= '0';
      conv_r <= '0';
      div_v  <= '0';
      root_v <= '0';
      done_r <= '0';
      case state is
        when IDLE_S =>
          with_root <= root;
          if begin_n = '1' then
            conv_r <= '1';
            a      <= x"00" & "000" & std_logic_vector(n);
            state  <= CONVERT;
          elsif mean = '1' or root = '1' then
            mul_r <= '1';
            a     <= sum;
            b     <= rn;
            state <= DIVIDE;
          end if;
        when CONVERT =>
          if s_valid = '1' then
            div_v <= '1';
            a     <= s_y;
            state <= INVERT_N;
          end if;
        when INVERT_N =>
          if div_o = '1' then
            rn     <= div_y;
            done_r <= '1';
            state  <= IDLE_S;
          end if;
        when DIVIDE =>
          if s_valid = '1' then
            value_r <= s_y;
            a       <= s_y;
            b       <= eps;
            if with_root = '1' then
              add_r <= '1';
              state <= ADD_EPS;
            else
              done_r <= '1';
              state  <= IDLE_S;
            end if;
          end if;
        when ADD_EPS =>
          if s_valid = '1' then
            root_v <= '1';
            a      <= s_y;
            state  <= TAKE_ROOT;
          end if;
        when TAKE_ROOT =>
          if root_o = '1' then
            div_v <= '1';
            a     <= root_y;
            state <= INVERT;
          end if;
        when INVERT =>
          if div_o = '1' then
            value_r <= div_y;
            done_r  <= '1';
            state   <= IDLE_S;
          end if;
      end case;
      if kill = '1' then
        state  <= IDLE_S;
        done_r <= '0';
      end if;
    end if;
  end process;
end architecture;
