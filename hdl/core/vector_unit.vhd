-- Sequencer of all instructions with memory operands that work element by element: takes elements from the readers,
-- sends them through the pipe with credit for the results, makes the passes of the norms with the scalar operations
-- between them, and keeps ROPE's table.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_fp_pkg.all;

entity vector_unit is
  port (
    clk      : in  std_logic;                                   -- clock162
    kill     : in  std_logic;                                   -- back to idle
    start    : in  std_logic;                                   -- begins an instruction; the inputs below stay until done
    op       : in  std_logic_vector(7 downto 0);                -- opcode
    format   : in  std_logic_vector(7 downto 0);                -- DEQROW: weight format
    n        : in  unsigned(20 downto 0);                       -- elements, 1..2^20
    pairs    : in  unsigned(8 downto 0);                        -- ROPE: N1, elements of the table
    eps      : in  std_logic_vector(31 downto 0);               -- norms: N2
    value    : in  std_logic_vector(31 downto 0);               -- what STR stores
    x_valid  : in  std_logic;                                   -- element of X
    x_data   : in  std_logic_vector(31 downto 0);               -- element of X
    x_ready  : out std_logic;                                   -- takes it
    x_idle   : in  std_logic;                                   -- reader X may start
    x_again  : out std_logic;                                   -- reads X once more
    y_valid  : in  std_logic;                                   -- element of Y
    y_data   : in  std_logic_vector(31 downto 0);               -- element of Y
    y_ready  : out std_logic;                                   -- takes it
    b_valid  : in  std_logic;                                   -- element of B, LAYERNORM's bias
    b_data   : in  std_logic_vector(31 downto 0);               -- element of B
    b_ready  : out std_logic;                                   -- takes it
    w_valid  : out std_logic;                                   -- element to write
    w_data   : out std_logic_vector(31 downto 0);               -- element to write
    w_ready  : in  std_logic;                                   -- the writer takes it
    done     : out std_logic;                                   -- all elements are taken and given; until the next start
    result   : out std_logic_vector(31 downto 0)                -- value for the register
  );
end entity;

architecture rtl of vector_unit is
  type mode_t is (IDLE_S, LOAD, STORE, STREAM, TABLE, PAIR_0, PAIR_1, TURN_0, TURN_1, COMPARE, COMPARE_END, RECIP_N,
                  SUM_1, MEAN, SUM_2, ROOT, DRAIN);
  signal mode      : mode_t                         := IDLE_S;
  signal left      : unsigned(20 downto 0)          := (others => '0'); -- elements to take in this pass
  signal step      : std_logic                      := '0';             -- ROPE: the cosine is kept
  signal pace      : unsigned(5 downto 0)           := (others => '0');
  signal res       : std_logic_vector(31 downto 0)  := (others => '0');
  signal done_r    : std_logic                      := '0';
  signal again     : std_logic                      := '0';             -- X is to be read once more
  signal again_r   : std_logic                      := '0';
  signal credit    : unsigned(6 downto 0)           := (others => '0'); -- results that there is room for
  signal some      : std_logic                      := '0';             -- credit is left
  signal i_valid   : std_logic                      := '0';
  signal ix, iy, ib, iq : f32_t                     := (others => '0');
  signal isub      : std_logic                      := '0';
  signal scale     : std_logic_vector(15 downto 0);
  signal summing, second : std_logic                := '0';
  signal mu, factor : f32_t                         := (others => '0');
  signal sum       : f32_t;
  signal sum_clear : std_logic                      := '0';
  signal s_mul, s_add, s_conv, s_valid : std_logic;
  signal s_a, s_b, s_y : f32_t;
  signal begin_n, ask_mean, ask_root : std_logic    := '0';
  signal scalar_done : std_logic;
  signal scalar    : f32_t;
  signal p_valid   : std_logic;
  signal p_data    : f32_t;
  signal f_valid   : std_logic;
  signal f_data    : f32_t;
  signal f_pop     : std_logic;
  signal take_x, take_y, take_b : std_logic;
  signal needs_y, needs_b : std_logic               := '0';
  signal all_there : std_logic;
  -- ROPE
  signal t_we      : std_logic;
  signal t_at      : unsigned(7 downto 0)           := (others => '0');
  signal t_last    : unsigned(8 downto 0)           := (others => '0');
  signal t_q       : f32_t;
  signal v0, cosine : f32_t                         := (others => '0');
  signal v1        : f32_t                          := (others => '0');
  -- DEQROW
  signal blocks, quad : std_logic                   := '0'; -- of quantised weights, of Q4_0
  signal u_clear, u_valid, u_ready, u_take : std_logic;
  signal u_data    : f32_t;
  -- ARGMAX
  signal index     : unsigned(20 downto 0);
  signal scan      : std_logic;
begin
  done    <= done_r;
  result  <= res;
  x_again <= again_r;
  x_ready <= take_x;
  y_ready <= take_y;
  b_ready <= take_b;
  f_pop   <= f_valid and w_ready;
  w_valid <= '1' when mode = STORE else f_valid;
  w_data  <= value when mode = STORE else f_data;

  all_there <= u_valid when blocks = '1' else x_valid and (y_valid or not needs_y) and (b_valid or not needs_b);
  u_clear   <= kill or start;
  u_take    <= '1' when mode = STREAM and some = '1' else '0';
  scan      <= '1' when mode = COMPARE and x_valid = '1' else '0';

  takes : process (all)
  begin
    take_x <= '0';
    take_y <= '0';
    take_b <= '0';
    case mode is
      when LOAD | PAIR_0 | COMPARE =>
        take_x <= '1';
      when PAIR_1 =>
        take_x <= some;
      when STREAM =>
        take_x <= all_there and some;
        if blocks = '1' then
          take_x <= u_ready;
        end if;
        take_y <= all_there and some and needs_y;
        take_b <= all_there and some and needs_b;
      when TABLE =>
        take_y <= '1';
      when SUM_1 | SUM_2 =>
        if pace = 0 and left /= 0 then
          take_x <= '1';
        end if;
      when others =>
        null;
    end case;
  end process;

  t_we <= '1' when mode = TABLE and y_valid = '1' else '0';

  u_table : entity work.ram_sdp
    generic map (WIDTH => 32, LOG_DEPTH => 8)
    port map (clk => clk, we => t_we, waddr => t_at, wdata => y_data, re => '1', raddr => t_at, rdata => t_q);

  u_pipe : entity work.vector_pipe
    port map (
      clk => clk, kill => kill, op => op, format => format, summing => summing, second => second, in_valid => i_valid,
      x => ix, y => iy, b => ib, q => iq, subtract => isub, scale => scale, mu => mu, factor => factor,
      out_valid => p_valid, result => p_data, sum_clear => sum_clear, sum => sum, s_mul => s_mul, s_add => s_add,
      s_conv => s_conv, s_a => s_a, s_b => s_b, s_valid => s_valid, s_y => s_y);

  u_blocks : entity work.block_unpack
    port map (
      clk => clk, clear => u_clear, nibbles => quad, in_valid => x_valid, in_data => x_data(15 downto 0),
      in_ready => u_ready, out_valid => u_valid, out_data => u_data, out_ready => u_take, scale => scale);
  u_argmax : entity work.argmax_scan
    port map (clk => clk, clear => start, valid => scan, x => x_data, index => index);
  u_scalars : entity work.norm_scalars
    port map (
      clk => clk, kill => kill, begin_n => begin_n, mean => ask_mean, root => ask_root, n => n, sum => sum, eps => eps,
      done => scalar_done, value => scalar, s_mul => s_mul, s_add => s_add, s_conv => s_conv, s_a => s_a, s_b => s_b,
      s_valid => s_valid, s_y => s_y);

  u_results : entity work.fifo_sync
    generic map (WIDTH => 32, LOG_DEPTH => 6)
    port map (clk => clk, clear => kill, push => p_valid, din => p_data, pop => f_pop, valid => f_valid, dout => f_data);

  process (clk)
    variable issue  : boolean;
  begin
    if rising_edge(clk) then
      issue     := false;
      i_valid   <= '0';
      sum_clear <= '0';
      begin_n   <= '0';
      ask_mean  <= '0';
      ask_root  <= '0';
      again_r   <= '0';
      if again = '1' and x_idle = '1' and again_r = '0' then
        again_r <= '1';
        again   <= '0';
      end if;
      if pace /= 0 then
        pace <= pace - 1;
      end if;

      case mode is
        when IDLE_S =>
          null;

        when LOAD =>
          if x_valid = '1' then
            res    <= x_data;
            mode   <= IDLE_S;
            done_r <= '1';
          end if;
        when STORE =>
          if w_ready = '1' then
            mode   <= IDLE_S;
            done_r <= '1';
          end if;

        when STREAM =>
          ix <= x_data;
          if blocks = '1' then
            ix <= u_data;
          end if;
          iy <= y_data;
          ib <= b_data;
          if all_there = '1' and some = '1' then
            issue := true;
            left  <= left - 1;
            if left = 1 then
              mode <= DRAIN;
            end if;
          end if;

        -- ROPE: the table once, then two pairs of products for each two elements.
        when TABLE =>
          if y_valid = '1' then
            t_at   <= t_at + 1;
            t_last <= t_last - 1;
            if t_last = 1 then
              t_at   <= (others => '0');
              t_last <= pairs;
              mode   <= PAIR_0;
            end if;
          end if;
        when PAIR_0 =>
          v0 <= x_data;
          if x_valid = '1' then
            t_at <= t_at + 1;
            mode <= PAIR_1;
          end if;
        when PAIR_1 =>
          v1 <= x_data;
          if step = '0' then
            cosine <= t_q;
            step   <= '1';
          end if;
          if x_valid = '1' and some = '1' then
            step <= '0';
            mode <= TURN_0;
          end if;
        when TURN_0 =>
          -- t_q is the sine.
          issue := true;
          ix    <= v0;
          iy    <= cosine;
          ib    <= v1;
          iq    <= t_q;
          isub  <= '1';
          mode  <= TURN_1;
        when TURN_1 =>
          issue := true;
          ix    <= v0;
          iy    <= iq;
          ib    <= v1;
          iq    <= cosine;
          isub  <= '0';
          t_at  <= t_at + 1;
          t_last <= t_last - 2;
          if t_last = 2 then
            t_at   <= (others => '0');
            t_last <= pairs;
          end if;
          left <= left - 2;
          mode <= PAIR_0;
          if left = 2 then
            mode <= DRAIN;
          end if;

        when COMPARE =>
          if x_valid = '1' then
            left <= left - 1;
            if left = 1 then
              mode <= COMPARE_END;
              pace <= to_unsigned(3, 6);
            end if;
          end if;
        when COMPARE_END =>
          res <= x"00" & "000" & std_logic_vector(index);
          if pace = 0 then
            done_r <= '1';
            mode   <= IDLE_S;
          end if;

        -- Norms
        when RECIP_N =>
          if scalar_done = '1' then
            mode <= SUM_1;
          end if;
        when SUM_1 | SUM_2 =>
          ix <= x_data;
          if pace = 0 and x_valid = '1' and left /= 0 then
            i_valid <= '1';
            pace    <= to_unsigned(FP_ADD_LATENCY - 1, 6);
            left    <= left - 1;
            if left = 1 then
              again <= '1';
              pace  <= to_unsigned(2 * FP_ADD_LATENCY + FP_MUL_LATENCY + 8, 6);
            end if;
          elsif pace = 0 and left = 0 then
            left <= n;
            if op = OP_LAYERNORM and second = '0' then
              ask_mean <= '1';
              mode     <= MEAN;
            else
              ask_root <= '1';
              mode     <= ROOT;
            end if;
          end if;
        when MEAN =>
          if scalar_done = '1' then
            mu        <= scalar;
            second    <= '1';
            sum_clear <= '1';
            mode      <= SUM_2;
          end if;
        when ROOT =>
          if scalar_done = '1' then
            factor  <= scalar;
            summing <= '0';
            needs_y <= '1';
            if op = OP_LAYERNORM then
              needs_b <= '1';
            end if;
            mode <= STREAM;
          end if;

        when DRAIN =>
          -- All credit is back when the last result has been given to the writer.
          if credit = 60 and i_valid = '0' then
            done_r <= '1';
            mode   <= IDLE_S;
          end if;
      end case;

      if issue then
        i_valid <= '1';
      end if;
      if issue and f_pop = '0' then
        credit <= credit - 1;
      elsif not issue and f_pop = '1' then
        credit <= credit + 1;
      end if;
      -- Two in reserve: ROPE sends two elements at once, and `some` is a cycle late.
      if credit > 4 then
        some <= '1';
      else
        some <= '0';
      end if;

      if start = '1' then
        left      <= n;
        done_r    <= '0';
        step      <= '0';
        pace      <= (others => '0');
        credit    <= to_unsigned(60, 7);
        t_at      <= (others => '0');
        t_last    <= pairs;
        again     <= '0';
        summing   <= '0';
        second    <= '0';
        needs_y   <= '0';
        needs_b   <= '0';
        blocks    <= '0';
        sum_clear <= '1';
        quad      <= '0';
        isub      <= '0';
        case op is
          when OP_LDR => mode <= LOAD;
          when OP_STR => mode <= STORE;
          when OP_ARGMAX => mode <= COMPARE;
          when OP_ROPE => mode <= TABLE;
          when OP_RMSNORM | OP_LAYERNORM =>
            mode    <= RECIP_N;
            summing <= '1';
            begin_n <= '1';
          when OP_DEQROW =>
            mode <= STREAM;
            if format = FMT_Q8_0 or format = FMT_Q4_0 then
              blocks <= '1';
            end if;
            if format = FMT_Q4_0 then
              quad <= '1';
            end if;
          when OP_VADD | OP_VMUL | OP_SILUMUL =>
            mode    <= STREAM;
            needs_y <= '1';
          when others =>
            mode <= STREAM;
        end case;
      end if;
      if kill = '1' then
        mode    <= IDLE_S;
        done_r  <= '0';
        again   <= '0';
        i_valid <= '0';
      end if;
    end if;
  end process;
end architecture;
