-- Sixteen registers in distributed RAM with one write port and three read ports without latency.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity reg_file is
  generic (
    WIDTH : positive := 32                                      -- bits of a register, 1..64
  );
  port (
    clk    : in  std_logic;                                     -- clock of the write port
    we     : in  std_logic;                                     -- write enable
    waddr  : in  std_logic_vector(3 downto 0);                  -- register to write
    wdata  : in  std_logic_vector(WIDTH - 1 downto 0);          -- what to write
    raddr0 : in  std_logic_vector(3 downto 0);                  -- register to read, port 0
    raddr1 : in  std_logic_vector(3 downto 0);                  -- register to read, port 1
    raddr2 : in  std_logic_vector(3 downto 0);                  -- register to read, port 2
    rdata0 : out std_logic_vector(WIDTH - 1 downto 0);          -- its value
    rdata1 : out std_logic_vector(WIDTH - 1 downto 0);          -- its value
    rdata2 : out std_logic_vector(WIDTH - 1 downto 0)           -- its value
  );
end entity;

architecture rtl of reg_file is
  type ram_t is array (0 to 15) of std_logic_vector(WIDTH - 1 downto 0);
  signal ram : ram_t := (others => (others => '0'));
begin
  rdata0 <= ram(to_integer(unsigned(raddr0)));
  rdata1 <= ram(to_integer(unsigned(raddr1)));
  rdata2 <= ram(to_integer(unsigned(raddr2)));

  process (clk)
  begin
    if rising_edge(clk) then
      if we = '1' then
        ram(to_integer(unsigned(waddr))) <= wdata;
      end if;
    end if;
  end process;
end architecture;
