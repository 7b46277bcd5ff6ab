-- A short FIFO in distributed RAM whose first word shows at the output: for tags and descriptors. A word pushed shows in
-- the next cycle.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity fifo_lut is
  generic (
    WIDTH     : positive := 8;                                  -- bits of a word, 1..64
    LOG_DEPTH : positive := 3                                   -- log2 of the number of words, 1..5
  );
  port (
    clk   : in  std_logic;                                      -- clock
    clear : in  std_logic;                                      -- empties the FIFO
    push  : in  std_logic;                                      -- takes din; only while room
    din   : in  std_logic_vector(WIDTH - 1 downto 0);           -- word to append
    pop   : in  std_logic;                                      -- takes dout away; only while valid
    valid : out std_logic;                                      -- dout is the first word
    room  : out std_logic;                                      -- at least two more words fit
    dout  : out std_logic_vector(WIDTH - 1 downto 0)            -- first word
  );
end entity;

architecture rtl of fifo_lut is
  type ram_t is array (0 to 2 ** LOG_DEPTH - 1) of std_logic_vector(WIDTH - 1 downto 0);
  signal ram        : ram_t                            := (others => (others => '0'));
  signal wptr, rptr : unsigned(LOG_DEPTH - 1 downto 0) := (others => '0');
  signal count      : unsigned(LOG_DEPTH downto 0)     := (others => '0');
begin
  dout  <= ram(to_integer(rptr));
  valid <= '0' when count = 0 else '1';
  room  <= '1' when count < 2 ** LOG_DEPTH - 1 else '0';

  process (clk)
  begin
    if rising_edge(clk) then
      if push = '1' then
        ram(to_integer(wptr)) <= din;
        wptr                  <= wptr + 1;
      end if;
      if pop = '1' then
        rptr <= rptr + 1;
      end if;
      if push = '1' and pop = '0' then
        count <= count + 1;
      elsif push = '0' and pop = '1' then
        count <= count - 1;
      end if;
      if clear = '1' then
        wptr  <= (others => '0');
        rptr  <= (others => '0');
        count <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
