-- Reads a run of bytes at any byte address of one RAM as a stream of elements: bursts up to 256 bytes that never cross a
-- multiple of 256, credit so that every word asked for has room, alignment, and words put together to 32-bit elements.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity stream_reader is
  generic (
    LOG_DEPTH : positive := 11                                  -- log2 of the words that the FIFO holds, 8..12
  );
  port (
    clk      : in  std_logic;                                   -- clock162
    clear    : in  std_logic;                                   -- drops everything; words still asked for are ignored
    start    : in  std_logic;                                   -- begins a run; only while idle
    addr     : in  std_logic_vector(26 downto 0);               -- first byte in its RAM
    bytes    : in  std_logic_vector(27 downto 0);               -- length, 0..2^28-1
    half     : in  std_logic;                                   -- elements are 16 bits wide, else 32
    idle     : out std_logic;                                   -- all words that were asked for have come
    req      : out std_logic;                                   -- wants a burst
    req_addr : out std_logic_vector(26 downto 0);               -- its byte address, multiple of 8
    req_len  : out std_logic_vector(8 downto 0);                -- its bytes, 8..256, multiple of 8
    ack      : in  std_logic;                                   -- the burst is asked for
    in_valid : in  std_logic;                                   -- in_data is a word of this reader
    in_data  : in  std_logic_vector(15 downto 0);               -- the word
    valid    : out std_logic;                                   -- data is an element; after the last one it may be padding
    data     : out std_logic_vector(31 downto 0);               -- the element, upper half 0 for 16 bits
    ready    : in  std_logic                                    -- takes the element
  );
end entity;

architecture rtl of stream_reader is
  type state_t is (IDLE_S, SETUP, CALC, CHECK, ASK);
  signal state     : state_t                           := IDLE_S;
  signal cur       : unsigned(26 downto 3)             := (others => '0');
  signal left      : unsigned(28 downto 3)             := (others => '0'); -- 8-byte units to ask for
  signal burst     : unsigned(5 downto 0)              := (others => '0'); -- 8-byte units, 1..32
  signal free      : unsigned(LOG_DEPTH downto 0)      := (others => '0'); -- words of room
  signal due       : unsigned(LOG_DEPTH downto 0)      := (others => '0'); -- words asked for that have not come
  signal start_lo  : unsigned(2 downto 0)              := (others => '0');
  signal len_r     : unsigned(27 downto 0)             := (others => '0');
  signal skip      : unsigned(1 downto 0)              := (others => '0');
  signal odd       : std_logic                         := '0';
  signal primed    : std_logic                         := '0'; -- hold is the upper byte of the word before
  signal half_r    : std_logic                         := '0';
  signal phase     : std_logic                         := '0';
  signal hold      : std_logic_vector(7 downto 0)      := (others => '0');
  signal low       : std_logic_vector(15 downto 0)     := (others => '0');
  signal out_v     : std_logic                         := '0';
  signal out_d     : std_logic_vector(31 downto 0)     := (others => '0');
  signal none_due  : std_logic                         := '1';
  signal restart   : std_logic;
  signal push, pop : std_logic;
  signal f_valid   : std_logic;
  signal f_data    : std_logic_vector(15 downto 0);
  signal word      : std_logic_vector(15 downto 0);
begin
  idle     <= '1' when state = IDLE_S and none_due = '1' else '0';
  req      <= '1' when state = ASK else '0';
  req_addr <= std_logic_vector(cur) & "000";
  req_len  <= std_logic_vector(burst) & "000";
  valid    <= out_v;
  data     <= out_d;
  restart  <= clear or start;
  push     <= in_valid;
  pop      <= f_valid and (ready or not out_v);
  word     <= f_data when odd = '0' else f_data(7 downto 0) & hold;

  u_fifo : entity work.fifo_sync
    generic map (WIDTH => 16, LOG_DEPTH => LOG_DEPTH)
    port map (clk => clk, clear => restart, push => push, din => in_data, pop => pop, valid => f_valid, dout => f_data);

  requests : process (clk)
    variable room : unsigned(5 downto 0);
    variable f, d : unsigned(LOG_DEPTH downto 0);
  begin
    if rising_edge(clk) then
      f := free;
      d := due;
      if pop = '1' then
        f := f + 1;
      end if;
      if in_valid = '1' then
        d := d - 1;
      end if;
      case state is
        when IDLE_S =>
          null;
        when SETUP =>
          left  <= resize((resize(len_r, 29) + start_lo + 7) srl 3, 26);
          state <= CALC;
        when CALC =>
          room := to_unsigned(32, 6) - ('0' & cur(7 downto 3));
          if left < 32 and left(8 downto 3) < room then
            burst <= left(8 downto 3);
          else
            burst <= room;
          end if;
          if left = 0 then
            state <= IDLE_S;
          else
            state <= CHECK;
          end if;
        when CHECK =>
          if free >= (burst & "00") then
            state <= ASK;
          end if;
        when ASK =>
          if ack = '1' then
            f     := f - (burst & "00");
            d     := d + (burst & "00");
            cur   <= cur + burst;
            left  <= left - burst;
            state <= CALC;
          end if;
      end case;
      free <= f;
      due  <= d;
      if d = 0 then
        none_due <= '1';
      else
        none_due <= '0';
      end if;
      if start = '1' then
        cur      <= unsigned(addr(26 downto 3));
        start_lo <= unsigned(addr(2 downto 0));
        len_r    <= unsigned(bytes);
        free     <= to_unsigned(2 ** LOG_DEPTH, LOG_DEPTH + 1);
        state    <= SETUP;
      end if;
      if clear = '1' then
        state    <= IDLE_S;
        due      <= (others => '0');
        none_due <= '1';
      end if;
    end if;
  end process;

  elements : process (clk)
  begin
    if rising_edge(clk) then
      if ready = '1' then
        out_v <= '0';
      end if;
      if pop = '1' then
        if skip /= 0 then
          skip <= skip - 1;
        elsif odd = '1' and primed = '0' then
          primed <= '1';
        elsif half_r = '1' then
          out_v <= '1';
          out_d <= x"0000" & word;
        elsif phase = '0' then
          phase <= '1';
          low   <= word;
        else
          phase <= '0';
          out_v <= '1';
          out_d <= word & low;
        end if;
        hold <= f_data(15 downto 8);
      end if;
      if start = '1' then
        skip   <= unsigned(addr(2 downto 1));
        odd    <= addr(0);
        half_r <= half;
      end if;
      if restart = '1' then
        primed <= '0';
        phase  <= '0';
        out_v  <= '0';
      end if;
    end if;
  end process;
end architecture;
