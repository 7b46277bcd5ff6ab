-- Performance counters of the running or last job, latched together for the CPU.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity perf_counters is
  port (
    clk     : in  std_logic;                                    -- clock162
    clear   : in  std_logic;                                    -- a job begins
    latch   : in  std_logic;                                    -- copies all counters to `latched`
    busy    : in  std_logic;                                    -- a job runs
    retired : in  std_logic;                                    -- an instruction retired or faulted
    reads   : in  std_logic_vector(1 downto 0);                 -- a word was read from HyperRAM (0), SDRAM (1)
    writes  : in  std_logic_vector(1 downto 0);                 -- a word was written there
    waits   : in  std_logic;                                    -- memory is busy and no word came or went
    latched : out std_logic_vector(159 downto 0)                -- cycles, instructions, bytes read, bytes written, waits
  );
end entity;

architecture rtl of perf_counters is
  signal cycles, instrs, rd, wr, idle : unsigned(31 downto 0)          := (others => '0');
  signal latched_r                    : std_logic_vector(159 downto 0) := (others => '0');
  signal rd_r, wr_r                   : std_logic_vector(1 downto 0)   := (others => '0');

  function bytes(v : std_logic_vector(1 downto 0)) return unsigned is
  begin
    if v = "11" then
      return to_unsigned(4, 3);
    elsif v = "00" then
      return to_unsigned(0, 3);
    end if;
    return to_unsigned(2, 3);
  end function;
begin
  latched <= latched_r;

  process (clk)
  begin
    if rising_edge(clk) then
      rd_r <= reads;
      wr_r <= writes;
      if busy = '1' then
        cycles <= cycles + 1;
        rd     <= rd + bytes(rd_r);
        wr     <= wr + bytes(wr_r);
        if waits = '1' then
          idle <= idle + 1;
        end if;
      end if;
      -- The last one of a job retires when it has ended.
      if retired = '1' then
        instrs <= instrs + 1;
      end if;
      if latch = '1' then
        latched_r <= std_logic_vector(idle & wr & rd & instrs & cycles);
      end if;
      if clear = '1' then
        cycles <= (others => '0');
        instrs <= (others => '0');
        rd     <= (others => '0');
        wr     <= (others => '0');
        idle   <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
