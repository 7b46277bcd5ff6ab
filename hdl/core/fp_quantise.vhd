-- A vector as Q8_0, block by block of 32: amax = max |x|, d = amax / 127, id = 1 / d or 0, q = x * id rounded.
--
-- Three steps overlap: while a block is taken in, the scale of the one before is divided, and the one before that comes
-- out. Elements wait in a RAM of four blocks. One divider does both quotients of a block, which takes 38 cycles.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity fp_quantise is
  port (
    clk       : in  std_logic;                     -- rising edge
    reset     : in  std_logic;                     -- forgets everything taken so far
    in_valid  : in  std_logic;                     -- x is there; taken on an edge with in_ready
    in_ready  : out std_logic;                     -- room for an element
    x         : in  f32_t;                         -- 32 elements make a block
    out_valid : out std_logic;                     -- q is there; the 32 of a block in order, in adjacent cycles
    out_last  : out std_logic;                     -- with the last of a block
    q         : out std_logic_vector(7 downto 0);  -- -127..127, two's complement
    scale     : out f16_t                          -- of the block that q is of
  );
end entity;

architecture rtl of fp_quantise is

  -- From the address of an element to its q: RAM and a register, since block RAM is slow; times id; to an integer
  constant Q_LATENCY : positive := 2 + FP_MUL_LATENCY + F32_TO_INT8_LATENCY;

  type state_t is (WAIT_BLOCK, DIVIDE_127, WAIT_D, DIVIDE_1, WAIT_ID, HAND_OVER);

  -- Taking in
  signal ready    : std_logic;
  signal take     : std_logic;
  signal write_at : unsigned(6 downto 0) := (others => '0');  -- block modulo 4, element
  signal largest  : unsigned(30 downto 0);                     -- |x| so far in this block, as bits
  signal full     : std_logic := '0';                          -- a whole block's amax waits for the divider
  signal amax     : unsigned(30 downto 0);

  -- Dividing
  signal state      : state_t := WAIT_BLOCK;
  signal accept     : std_logic;  -- amax goes to the divider
  signal div_start  : std_logic;
  signal div_ready  : std_logic;
  signal div_done   : std_logic;
  signal numerator  : f32_t;
  signal divisor    : f32_t;
  signal quotient   : f32_t;
  signal d          : f32_t;
  signal id         : f32_t;
  signal half_start : std_logic;
  signal half       : f16_t;
  signal d_half     : f16_t;
  signal half_done  : std_logic;

  -- Coming out
  signal busy     : std_logic := '0';
  signal start    : std_logic;
  signal read_last    : std_logic;                                 -- the last element of a block has been read
  signal read_at  : unsigned(6 downto 0) := (others => '0');
  signal element  : f32_t;
  signal element2 : f32_t;
  signal factor   : f32_t;                                     -- id of the block that comes out
  signal reading  : std_logic := '0';                          -- element comes out of the RAM
  signal mul_in   : std_logic := '0';
  signal scaled   : f32_t;
  signal scaled_valid : std_logic;
  signal last     : std_logic_vector(1 to Q_LATENCY) := (others => '0');
  signal next_scale : f16_t;
  signal first    : std_logic_vector(1 to Q_LATENCY - 1) := (others => '0');

begin

  -- The end of a block needs the place of its amax. So no more than four blocks are ever in the RAM: one that comes in,
  -- one whose amax waits, one that is divided, one that comes out.
  ready <= '1' when full = '0' or write_at(4 downto 0) /= 31 else '0';
  in_ready <= ready;
  take <= in_valid and ready;
  accept <= '1' when state = WAIT_BLOCK and full = '1' else '0';
  start <= '1' when state = HAND_OVER and busy = '0' else '0';
  read_last <= '1' when busy = '1' and read_at(4 downto 0) = 31 else '0';

  take_in : process (clk)
    variable magnitude : unsigned(30 downto 0);
    variable above : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      if accept = '1' then
        full <= '0';
      end if;
      if take = '1' then
        write_at <= write_at + 1;
        magnitude := unsigned(x(30 downto 0));
        above := largest;
        if write_at(4 downto 0) = 0 or magnitude > largest then
          above := magnitude;
        end if;
        largest <= above;
        if write_at(4 downto 0) = 31 then
          amax <= above;
          full <= '1';
        end if;
      end if;
      if reset = '1' then
        write_at <= (others => '0');
        full <= '0';
      end if;
    end if;
  end process;

  u_ram : entity work.ram_sdp
    generic map (WIDTH => 32, LOG_DEPTH => 7)
    port map (clk => clk, we => take, waddr => write_at, wdata => x, re => busy, raddr => read_at, rdata => element);

  u_div : entity work.fp_div
    port map (clk => clk, reset => reset, in_valid => div_start, in_ready => div_ready, a => numerator, b => divisor,
              out_valid => div_done, y => quotient);

  u_half : entity work.f32_to_f16
    port map (clk => clk, reset => reset, in_valid => half_start, a => d, out_valid => half_done, y => half);

  div_start <= '1' when state = DIVIDE_127 or (state = DIVIDE_1 and (or d(30 downto 0)) = '1') else '0';

  divide : process (clk)
  begin
    if rising_edge(clk) then
      half_start <= '0';
      if half_done = '1' then
        d_half <= half;
      end if;
      case state is
        when WAIT_BLOCK =>
          numerator <= '0' & std_logic_vector(amax);
          divisor <= F32_127;
          if full = '1' then
            state <= DIVIDE_127;
          end if;
        when DIVIDE_127 =>
          if div_ready = '1' then
            state <= WAIT_D;
          end if;
        when WAIT_D =>
          if div_done = '1' then
            d <= quotient;
            numerator <= F32_ONE;
            divisor <= quotient;
            half_start <= '1';
            state <= DIVIDE_1;
          end if;
        when DIVIDE_1 =>
          id <= (others => '0');
          if (or d(30 downto 0)) = '0' then
            state <= WAIT_ID;
          elsif div_ready = '1' then
            state <= WAIT_ID;
          end if;
        when WAIT_ID =>
          -- Where d is 0 nothing was divided; the conversion of d takes longer than getting here.
          if (or d(30 downto 0)) = '0' then
            if half_done = '1' then
              state <= HAND_OVER;
            end if;
          elsif div_done = '1' then
            id <= quotient;
            state <= HAND_OVER;
          end if;
        when HAND_OVER =>
          if busy = '0' then
            state <= WAIT_BLOCK;
          end if;
      end case;
      if reset = '1' then
        state <= WAIT_BLOCK;
        half_start <= '0';
      end if;
    end if;
  end process;

  u_mul : entity work.fp_mul
    port map (clk => clk, reset => reset, in_valid => mul_in, a => element2, b => factor, out_valid => scaled_valid,
              y => scaled);

  u_int8 : entity work.f32_to_int8
    port map (clk => clk, reset => reset, in_valid => scaled_valid, a => scaled, out_valid => out_valid, y => q);

  come_out : process (clk)
  begin
    if rising_edge(clk) then
      reading <= busy;
      mul_in <= reading;
      element2 <= element;
      last <= read_last & last(1 to Q_LATENCY - 1);
      first <= start & first(1 to Q_LATENCY - 2);
      if start = '1' then
        busy <= '1';
        next_scale <= d_half;
      elsif read_last = '1' then
        busy <= '0';
      end if;
      if busy = '1' then
        read_at <= read_at + 1;
      end if;
      -- The last element of the block before may be waiting for its factor while this block starts.
      if first(1) = '1' then
        factor <= id;
      end if;
      if first(Q_LATENCY - 1) = '1' then
        scale <= next_scale;
      end if;
      if reset = '1' then
        busy <= '0';
        reading <= '0';
        mul_in <= '0';
        read_at <= (others => '0');
        last <= (others => '0');
        first <= (others => '0');
      end if;
    end if;
  end process;
  out_last <= last(Q_LATENCY);

end architecture;
