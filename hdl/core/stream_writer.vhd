-- Writes a stream of elements to a run of words in one RAM: bursts up to 256 bytes, padded to multiples of 8 bytes with
-- byte enables off, each whole in the FIFO before it is asked for.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity stream_writer is
  port (
    clk      : in  std_logic;                                   -- clock162
    kill     : in  std_logic;                                   -- stops asking for bursts; those asked for keep their words
    clear    : in  std_logic;                                   -- drops everything; only when no burst is under way
    start    : in  std_logic;                                   -- begins a run; only while idle
    addr     : in  std_logic_vector(26 downto 1);               -- first word in its RAM
    words    : in  std_logic_vector(21 downto 0);               -- 16-bit words to write, 1..2^22-1
    half     : in  std_logic;                                   -- elements are 16 bits wide, else 32
    valid    : in  std_logic;                                   -- data is an element
    data     : in  std_logic_vector(31 downto 0);               -- the element
    be       : in  std_logic_vector(1 downto 0);                -- bytes to write of each of its words
    ready    : out std_logic;                                   -- takes the element
    idle     : out std_logic;                                   -- everything is written and acknowledged
    req      : out std_logic;                                   -- wants to write a burst
    req_addr : out std_logic_vector(26 downto 0);               -- its byte address, multiple of 8
    req_len  : out std_logic_vector(8 downto 0);                -- its bytes, 8..256, multiple of 8
    ack      : in  std_logic;                                   -- the burst is asked for
    done     : in  std_logic;                                   -- one of the bursts is written
    out_data : out std_logic_vector(15 downto 0);               -- next word of the bursts asked for
    out_be   : out std_logic_vector(1 downto 0);                -- its bytes to write
    out_pop  : in  std_logic                                    -- takes the word away
  );
end entity;

architecture rtl of stream_writer is
  type state_t is (IDLE_S, HEAD, WORDS_S, TAIL, DRAIN);
  signal state   : state_t                       := IDLE_S;
  signal cur     : unsigned(26 downto 1)         := (others => '0'); -- address of the next word
  signal first   : unsigned(26 downto 3)         := (others => '0'); -- address of the burst in the making
  signal open_b  : std_logic                     := '0';             -- the burst in the making has words
  signal skip    : unsigned(1 downto 0)          := (others => '0');
  signal left    : unsigned(21 downto 0)         := (others => '0');
  signal half_r  : std_logic                     := '0';
  signal phase   : std_logic                     := '0';
  signal fill    : unsigned(9 downto 0)          := (others => '0'); -- words in the FIFO
  signal room    : std_logic                     := '1';
  signal pending : unsigned(4 downto 0)          := (others => '0'); -- bursts not yet written
  signal take    : std_logic;
  signal push_r  : std_logic                     := '0';
  signal word_r  : std_logic_vector(17 downto 0) := (others => '0');
  signal out_w   : std_logic_vector(17 downto 0);
  signal d_push  : std_logic                     := '0';
  signal d_wait  : std_logic                     := '0';
  signal d_in    : std_logic_vector(29 downto 0) := (others => '0'); -- address / 8, length / 8
  signal d_late  : std_logic                     := '0';
  signal d_valid, d_room : std_logic;
  signal d_out   : std_logic_vector(29 downto 0);
begin
  take     <= '1' when state = WORDS_S and room = '1' and valid = '1' else '0';
  ready    <= '1' when state = WORDS_S and room = '1' and (half_r = '1' or phase = '1') else '0';
  idle     <= '1' when state = IDLE_S else '0';
  req      <= d_valid and not kill and not ack;
  req_addr <= d_out(29 downto 6) & "000";
  req_len  <= d_out(5 downto 0) & "000";
  out_data <= out_w(15 downto 0);
  out_be   <= out_w(17 downto 16);

  u_words : entity work.fifo_sync
    generic map (WIDTH => 18, LOG_DEPTH => 9)
    port map (clk => clk, clear => clear, push => push_r, din => word_r, pop => out_pop, valid => open, dout => out_w);
  -- A descriptor waits two cycles behind its last word, so that the FIFO shows the first one before the port can want it.
  u_bursts : entity work.fifo_lut
    generic map (WIDTH => 30, LOG_DEPTH => 3)
    port map (clk => clk, clear => clear, push => d_late, din => d_in, pop => ack, valid => d_valid, room => d_room,
              dout => d_out);

  process (clk)
    variable step  : boolean;
    variable final : boolean;
  begin
    if rising_edge(clk) then
      push_r <= '0';
      d_push <= '0';
      d_wait <= d_push;
      d_late <= d_wait;
      step   := false;
      final  := false;
      case state is
        when IDLE_S =>
          null;
        when HEAD =>
          if skip = 0 then
            state <= WORDS_S;
          else
            skip   <= skip - 1;
            push_r <= '1';
            word_r <= (others => '0');
          end if;
        when WORDS_S =>
          if take = '1' then
            push_r <= '1';
            step   := true;
            left   <= left - 1;
            if phase = '0' then
              word_r <= be & data(15 downto 0);
            else
              word_r <= be & data(31 downto 16);
            end if;
            phase <= not half_r and not phase;
            if left = 1 then
              state <= TAIL;
            end if;
          end if;
        when TAIL =>
          if open_b = '0' then
            state <= DRAIN;
          elsif cur(2 downto 1) /= 0 then
            push_r <= '1';
            word_r <= (others => '0');
            step   := true;
          else
            final := true;
            state <= DRAIN;
          end if;
        when DRAIN =>
          if pending = 0 and open_b = '0' then
            state <= IDLE_S;
          end if;
      end case;

      if step then
        cur    <= cur + 1;
        open_b <= '1';
        -- The last word of 256 bytes ends the burst.
        if cur(7 downto 1) = "1111111" then
          d_push <= '1';
          d_in   <= std_logic_vector(first) & std_logic_vector(to_unsigned(32, 6) - ('0' & first(7 downto 3)));
          open_b <= '0';
          first  <= cur(26 downto 3) + 1;
        end if;
      end if;
      if final then
        d_push <= '1';
        d_in   <= std_logic_vector(first) & std_logic_vector(('0' & cur(7 downto 3)) - ('0' & first(7 downto 3)));
        open_b <= '0';
      end if;

      if push_r = '1' and out_pop = '0' then
        fill <= fill + 1;
      elsif push_r = '0' and out_pop = '1' then
        fill <= fill - 1;
      end if;
      if fill < 496 and d_room = '1' then
        room <= '1';
      else
        room <= '0';
      end if;
      if d_push = '1' and done = '0' then
        pending <= pending + 1;
      elsif d_push = '0' and done = '1' then
        pending <= pending - 1;
      end if;
      -- A burst that has just been closed counts from the cycle after.
      if state = DRAIN and d_push = '1' then
        state <= DRAIN;
      end if;

      if start = '1' then
        cur    <= unsigned(addr);
        first  <= unsigned(addr(26 downto 3));
        skip   <= unsigned(addr(2 downto 1));
        left   <= unsigned(words);
        half_r <= half;
        phase  <= '0';
        state  <= HEAD;
      end if;
      if clear = '1' then
        state   <= IDLE_S;
        fill    <= (others => '0');
        pending <= (others => '0');
        open_b  <= '0';
        push_r  <= '0';
        d_push  <= '0';
        d_wait  <= '0';
        d_late  <= '0';
      end if;
    end if;
  end process;
end architecture;
