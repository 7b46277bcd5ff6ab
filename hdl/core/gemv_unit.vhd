-- GEMV of Q8_0 and Q4_0: quantises x into block RAM, then takes the matrix as one stream of words. A block's integer sum,
-- its scale and the sum of the row run in a pipe that never stalls; a row's result waits for credit before its words.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_fp_pkg.all;

entity gemv_unit is
  port (
    clk        : in  std_logic;                                 -- clock162
    kill       : in  std_logic;                                 -- back to idle
    start      : in  std_logic;                                 -- begins; the inputs below stay until done
    nibbles    : in  std_logic;                                 -- Q4_0, else Q8_0
    accumulate : in  std_logic;                                 -- adds the old y
    half       : in  std_logic;                                 -- results are F16
    columns    : in  unsigned(12 downto 0);                     -- N0, 32..4096, multiple of 32
    rows       : in  unsigned(27 downto 0);                     -- N1, 1..2^26
    w_valid    : in  std_logic;                                 -- word of the matrix
    w_data     : in  std_logic_vector(15 downto 0);             -- word, low byte first
    w_ready    : out std_logic;                                 -- takes it
    x_valid    : in  std_logic;                                 -- element of x
    x_data     : in  f32_t;                                     -- element of x
    x_ready    : out std_logic;                                 -- takes it
    y_valid    : in  std_logic;                                 -- element of the old y
    y_data     : in  f32_t;                                     -- element of the old y
    y_ready    : out std_logic;                                 -- takes it
    out_valid  : out std_logic;                                 -- result
    out_data   : out f32_t;                                     -- result, F16 in the low half
    out_ready  : in  std_logic;                                 -- the writer takes it
    done       : out std_logic                                  -- all results are given; until the next start
  );
end entity;

architecture rtl of gemv_unit is
  type state_t is (IDLE_S, QUANTISE, MATRIX, DRAIN);
  signal state     : state_t                       := IDLE_S;
  signal done_r    : std_logic                     := '0';
  -- Quantised x: words of two int8, twice, and the scales
  signal q_ready, q_valid, q_last : std_logic;
  signal q         : std_logic_vector(7 downto 0);
  signal q_scale   : f16_t;
  signal q_low     : std_logic_vector(7 downto 0)  := (others => '0');
  signal q_odd     : std_logic                     := '0';
  signal q_at      : unsigned(10 downto 0)         := (others => '0'); -- word to write
  signal q_block   : unsigned(6 downto 0)          := (others => '0');
  signal x_we, s_we : std_logic;
  signal x_word    : std_logic_vector(15 downto 0);
  signal x_left    : unsigned(12 downto 0)         := (others => '0'); -- elements of x to take
  signal q_left    : unsigned(12 downto 0)         := (others => '0'); -- elements of x to come
  -- Words of the matrix
  signal take      : std_logic;
  signal at_scale  : std_logic                     := '0';             -- the next word is a scale
  signal in_block  : unsigned(3 downto 0)          := (others => '0'); -- weight words taken of the block
  signal last_word : std_logic;
  signal block_i   : unsigned(6 downto 0)          := (others => '0'); -- block of the row
  signal blocks    : unsigned(7 downto 0)          := (others => '0'); -- blocks of a row
  signal last_block : std_logic                    := '0';
  signal rows_left : unsigned(27 downto 0)         := (others => '0');
  signal credit    : unsigned(5 downto 0)          := (others => '0');
  signal may_row   : std_logic                     := '0';
  signal in_row    : std_logic                     := '0';             -- the row has begun
  -- Stage 1: x words are at the RAMs' outputs
  signal lo_at, hi_at : unsigned(10 downto 0);
  signal x_lo, x_hi : std_logic_vector(15 downto 0);
  signal d_x       : f16_t;
  signal d1_v, d2_v : std_logic                    := '0';
  signal d1_w, d2_w : f16_t                        := (others => '0');
  signal w1_v, w1_first, w1_last : std_logic       := '0';
  signal w1        : std_logic_vector(15 downto 0) := (others => '0');
  -- Scales and sums
  signal fw_o, s_o, sum_o, int_o, t_o : std_logic;
  signal fw_y, fx_y, s_y, s_next, int_y, t_y : f32_t;
  signal sum       : std_logic_vector(31 downto 0);
  signal term_at   : unsigned(7 downto 0)          := (others => '0'); -- block that the next term is of
  signal acc       : f32_t                         := (others => '0');
  signal a_v       : std_logic                     := '0';
  signal a_b       : f32_t                         := (others => '0');
  signal a_o       : std_logic;
  signal a_y       : f32_t;
  signal row_end   : std_logic                     := '0';             -- the addition under way is the row's last
  signal r_v       : std_logic                     := '0';
  signal r         : f32_t                         := (others => '0');
  signal r_valid   : std_logic;
  signal r_head    : f32_t;
  signal r_pop     : std_logic;
  signal y_v, y_o  : std_logic;
  signal y_y       : f32_t;
  signal h_v, h_o  : std_logic                     := '0';
  signal h_a       : f32_t                         := (others => '0');
  signal h_y       : f16_t;
  signal o_push    : std_logic                     := '0';
  signal o_in      : f32_t                         := (others => '0');
  signal o_valid   : std_logic;
  signal o_pop     : std_logic;
begin
  done    <= done_r;
  x_ready <= q_ready when state = QUANTISE and x_left /= 0 else '0';
  x_we    <= q_valid and q_odd;
  x_word  <= q & q_low;
  s_we    <= q_valid and q_last;

  u_quantise : entity work.fp_quantise
    port map (clk => clk, reset => start, in_valid => x_valid and x_ready, in_ready => q_ready, x => x_data,
              out_valid => q_valid, out_last => q_last, q => q, scale => q_scale);

  -- Weight word w of a block meets words w and w + 8 of x.
  lo_at <= block_i & in_block;
  hi_at <= block_i & (in_block + 8);
  u_low : entity work.ram_sdp
    generic map (WIDTH => 16, LOG_DEPTH => 11)
    port map (clk => clk, we => x_we, waddr => q_at, wdata => x_word, re => '1', raddr => lo_at, rdata => x_lo);
  u_high : entity work.ram_sdp
    generic map (WIDTH => 16, LOG_DEPTH => 11)
    port map (clk => clk, we => x_we, waddr => q_at, wdata => x_word, re => '1', raddr => hi_at, rdata => x_hi);
  u_scales : entity work.ram_sdp
    generic map (WIDTH => 16, LOG_DEPTH => 7)
    port map (clk => clk, we => s_we, waddr => q_block, wdata => q_scale, re => '1', raddr => block_i, rdata => d_x);

  w_ready   <= take;
  take      <= w_valid and (in_row or may_row) when state = MATRIX else '0';
  last_word <= '1' when in_block = 15 or (nibbles = '1' and in_block = 7) else '0';

  u_fw : entity work.f16_to_f32
    port map (clk => clk, reset => kill, in_valid => d2_v, a => d2_w, out_valid => fw_o, y => fw_y);
  u_fx : entity work.f16_to_f32
    port map (clk => clk, reset => kill, in_valid => d2_v, a => d_x, out_valid => open, y => fx_y);
  u_scale : entity work.fp_mul
    port map (clk => clk, reset => kill, in_valid => fw_o, a => fw_y, b => fx_y, out_valid => s_o, y => s_y);
  u_wait : entity work.fifo_lut
    generic map (WIDTH => 32, LOG_DEPTH => 3)
    port map (clk => clk, clear => kill, push => s_o, din => s_y, pop => int_o, valid => open, room => open, dout => s_next);
  u_dot : entity work.dot_int8
    port map (clk => clk, reset => kill, in_valid => w1_v, first => w1_first, last => w1_last, nibbles => nibbles,
              word => w1, x_low => x_lo, x_high => x_hi, out_valid => sum_o, sum => sum);
  u_int : entity work.int_to_f32
    port map (clk => clk, reset => kill, in_valid => sum_o, a => sum, out_valid => int_o, y => int_y);
  u_term : entity work.fp_mul
    port map (clk => clk, reset => kill, in_valid => int_o, a => int_y, b => s_next, out_valid => t_o, y => t_y);
  -- A block is nine words or more, so the sum is back before the next term.
  u_row : entity work.fp_add
    port map (clk => clk, reset => kill, in_valid => a_v, a => acc, b => a_b, subtract => '0', out_valid => a_o, y => a_y);

  -- Results of rows, then the old y, then F16.
  u_results : entity work.fifo_lut
    generic map (WIDTH => 32, LOG_DEPTH => 5)
    port map (clk => clk, clear => kill, push => r_v, din => r, pop => r_pop, valid => r_valid, room => open,
              dout => r_head);
  r_pop   <= r_valid and (y_valid or not accumulate);
  y_ready <= r_valid and accumulate;
  y_v     <= r_pop and accumulate;
  u_old : entity work.fp_add
    port map (clk => clk, reset => kill, in_valid => y_v, a => y_data, b => r_head, subtract => '0', out_valid => y_o,
              y => y_y);
  u_half : entity work.f32_to_f16
    port map (clk => clk, reset => kill, in_valid => h_v, a => h_a, out_valid => h_o, y => h_y);
  u_out : entity work.fifo_lut
    generic map (WIDTH => 32, LOG_DEPTH => 5)
    port map (clk => clk, clear => kill, push => o_push, din => o_in, pop => o_pop, valid => o_valid, room => open,
              dout => out_data);
  out_valid <= o_valid;
  o_pop     <= o_valid and out_ready;

  process (clk)
    variable begun : boolean;
  begin
    if rising_edge(clk) then
      begun := false;

      -- Quantised x
      if q_valid = '1' then
        q_low  <= q;
        q_odd  <= not q_odd;
        q_left <= q_left - 1;
        if q_odd = '1' then
          q_at <= q_at + 1;
        end if;
        if q_last = '1' then
          q_block <= q_block + 1;
        end if;
      end if;
      if x_ready = '1' and x_valid = '1' then
        x_left <= x_left - 1;
      end if;

      -- Words of the matrix
      d1_v <= '0';
      w1_v <= '0';
      d1_w <= w_data;
      d2_v <= d1_v;
      d2_w <= d1_w;
      w1   <= w_data;
      w1_first <= '0';
      if in_block = 0 then
        w1_first <= '1';
      end if;
      w1_last <= last_word;
      last_block <= '0';
      if ('0' & block_i) + 1 = blocks then
        last_block <= '1';
      end if;
      if take = '1' then
        if at_scale = '1' then
          d1_v     <= '1';
          at_scale <= '0';
          if in_row = '0' then
            begun := true;
          end if;
          in_row <= '1';
        else
          w1_v     <= '1';
          in_block <= in_block + 1;
          if last_word = '1' then
            in_block <= (others => '0');
            at_scale <= '1';
            block_i  <= block_i + 1;
            if last_block = '1' then
              block_i   <= (others => '0');
              in_row    <= '0';
              rows_left <= rows_left - 1;
              if rows_left = 1 then
                state <= DRAIN;
              end if;
            end if;
          end if;
        end if;
      end if;

      -- Sum of the row
      a_v <= '0';
      r_v <= '0';
      if t_o = '1' then
        term_at <= term_at + 1;
        row_end <= '0';
        if term_at + 1 = blocks then
          term_at <= (others => '0');
          row_end <= '1';
        end if;
        a_b <= t_y;
        if term_at = 0 then
          acc <= t_y;
          if blocks = 1 then
            r_v <= '1';
            r   <= t_y;
          end if;
        else
          a_v <= '1';
        end if;
      end if;
      if a_o = '1' then
        acc <= a_y;
        if row_end = '1' then
          r_v <= '1';
          r   <= a_y;
        end if;
      end if;

      -- Results
      if accumulate = '1' then
        h_v <= y_o and half;
        h_a <= y_y;
      else
        h_v <= r_pop and half;
        h_a <= r_head;
      end if;
      o_push <= '0';
      if half = '1' then
        o_push <= h_o;
        o_in   <= x"0000" & h_y;
      elsif accumulate = '1' then
        o_push <= y_o;
        o_in   <= y_y;
      else
        o_push <= r_pop;
        o_in   <= r_head;
      end if;
      if begun and o_pop = '0' then
        credit <= credit - 1;
      elsif not begun and o_pop = '1' then
        credit <= credit + 1;
      end if;
      may_row <= '0';
      if credit > 1 then
        may_row <= '1';
      end if;

      case state is
        when QUANTISE =>
          if q_left = 0 then
            state <= MATRIX;
          end if;
        when DRAIN =>
          if credit = 24 then
            done_r <= '1';
            state  <= IDLE_S;
          end if;
        when others =>
          null;
      end case;

      if start = '1' then
        state     <= QUANTISE;
        done_r    <= '0';
        x_left    <= columns;
        q_left    <= columns;
        q_at      <= (others => '0');
        q_block   <= (others => '0');
        q_odd     <= '0';
        blocks    <= columns(12 downto 5);
        rows_left <= rows;
        block_i   <= (others => '0');
        in_block  <= (others => '0');
        at_scale  <= '1';
        in_row    <= '0';
        term_at   <= (others => '0');
        credit    <= to_unsigned(24, 6);
      end if;
      if kill = '1' then
        state  <= IDLE_S;
        done_r <= '0';
      end if;
    end if;
  end process;
end architecture;
