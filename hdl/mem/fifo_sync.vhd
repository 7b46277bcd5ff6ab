-- A FIFO in block RAM whose first word shows at the output before it is taken. Without a full flag: who pushes keeps
-- credit. A word pushed into the empty FIFO shows two cycles later; a word a cycle goes through.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity fifo_sync is
  generic (
    WIDTH     : positive := 16;                                 -- bits of a word, 1..64
    LOG_DEPTH : positive := 10                                  -- log2 of the number of words, 2..14
  );
  port (
    clk   : in  std_logic;                                      -- clock
    clear : in  std_logic;                                      -- empties the FIFO; push and pop are ignored
    push  : in  std_logic;                                      -- takes din; the user knows that there is room
    din   : in  std_logic_vector(WIDTH - 1 downto 0);           -- word to append
    pop   : in  std_logic;                                      -- takes dout away; ignored without valid
    valid : out std_logic;                                      -- dout is the first word
    dout  : out std_logic_vector(WIDTH - 1 downto 0)            -- first word
  );
end entity;

architecture rtl of fifo_sync is
  signal wptr, rptr : unsigned(LOG_DEPTH - 1 downto 0) := (others => '0');
  signal in_ram     : unsigned(LOG_DEPTH downto 0)     := (others => '0'); -- words not yet at the output
  signal some       : std_logic                        := '0';             -- in_ram is not 0
  signal q_valid    : std_logic                        := '0';
  signal re         : std_logic;
begin
  re    <= some and (pop or not q_valid);
  valid <= q_valid;

  u_ram : entity work.ram_sdp
    generic map (WIDTH => WIDTH, LOG_DEPTH => LOG_DEPTH)
    port map (clk => clk, we => push, waddr => wptr, wdata => din, re => re, raddr => rptr, rdata => dout);

  process (clk)
    variable next_count : unsigned(LOG_DEPTH downto 0);
  begin
    if rising_edge(clk) then
      next_count := in_ram;
      if push = '1' and re = '0' then
        next_count := in_ram + 1;
      elsif push = '0' and re = '1' then
        next_count := in_ram - 1;
      end if;
      in_ram <= next_count;
      if next_count = 0 then
        some <= '0';
      else
        some <= '1';
      end if;
      if push = '1' then
        wptr <= wptr + 1;
      end if;
      if re = '1' then
        rptr    <= rptr + 1;
        q_valid <= '1';
      elsif pop = '1' then
        q_valid <= '0';
      end if;
      if clear = '1' then
        wptr    <= (others => '0');
        rptr    <= (others => '0');
        in_ram  <= (others => '0');
        some    <= '0';
        q_valid <= '0';
      end if;
    end if;
  end process;
end architecture;
