-- A simple dual port RAM of one clock: one write port, one read port with registered output. A read at the address of a
-- write gives the old word. Together with the FIFOs the only place where block RAM is inferred.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity ram_sdp is
  generic (
    WIDTH     : positive := 16;                                 -- bits of a word, 1..64
    LOG_DEPTH : positive := 10                                  -- log2 of the number of words, 1..14
  );
  port (
    clk   : in  std_logic;                                      -- clock of both ports
    we    : in  std_logic;                                      -- write enable
    waddr : in  unsigned(LOG_DEPTH - 1 downto 0);               -- word to write
    wdata : in  std_logic_vector(WIDTH - 1 downto 0);           -- what to write
    re    : in  std_logic;                                      -- read enable; rdata keeps its word without it
    raddr : in  unsigned(LOG_DEPTH - 1 downto 0);               -- word to read
    rdata : out std_logic_vector(WIDTH - 1 downto 0)            -- the word, one cycle after re
  );
end entity;

architecture rtl of ram_sdp is
  type ram_t is array (0 to 2 ** LOG_DEPTH - 1) of std_logic_vector(WIDTH - 1 downto 0);
  signal ram : ram_t := (others => (others => '0'));
  signal q   : std_logic_vector(WIDTH - 1 downto 0) := (others => '0');
begin
  rdata <= q;

  process (clk)
  begin
    if rising_edge(clk) then
      if we = '1' then
        ram(to_integer(waddr)) <= wdata;
      end if;
      if re = '1' then
        q <= ram(to_integer(raddr));
      end if;
    end if;
  end process;
end architecture;
