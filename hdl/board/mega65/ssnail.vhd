-- SSNAIL for the MEGA65: drops into the computer's core in place of the public one, with its port names. Adds the
-- tri-state data bus to ssnail_chip and nothing else.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity ssnail is
  generic (
    has_sdram : boolean := false                                -- the board has SDRAM (R4 to R6)
  );
  port (
    cpuclock       : in  std_logic;                             -- 40.5 MHz
    reset          : in  std_logic;                             -- low active, four cycles of cpuclock or more
    irq            : out std_logic;                             -- done interrupt, low active
    ssnail_cs      : in  std_logic;                             -- FFD7500..FFD751F is addressed
    fastio_addr    : in  unsigned(19 downto 0);                 -- bits 4..0: register
    fastio_write   : in  std_logic;                             -- write at the next edge of cpuclock
    fastio_read    : in  std_logic;                             -- read
    fastio_wdata   : in  unsigned(7 downto 0);                  -- byte to write
    fastio_rdata   : out unsigned(7 downto 0);                  -- byte read, combinational; Z unless read
    clock162       : in  std_logic;                             -- 162 MHz, from the same source as cpuclock
    hr_cmd_valid   : out std_logic;                             -- HyperRAM: command, held until hr_cmd_ready
    hr_cmd_ready   : in  std_logic;                             -- command is taken
    hr_cmd_op      : out unsigned(1 downto 0);                  -- 0 READ, 1 WRITE, 2 INVALIDATE
    hr_cmd_addr    : out unsigned(26 downto 0);                 -- byte address, multiple of 8
    hr_cmd_len     : out unsigned(8 downto 0);                  -- bytes, 8..256, multiple of 8
    hr_rdata       : in  unsigned(15 downto 0);                 -- word read, low byte = lower address
    hr_rdata_valid : in  std_logic;                             -- hr_rdata is a word
    hr_wdata_req   : in  std_logic;                             -- a word is wanted
    hr_wdata       : out unsigned(15 downto 0);                 -- word to write
    hr_wdata_be    : out unsigned(1 downto 0);                  -- its bytes to write
    hr_cmd_done    : in  std_logic;                             -- a command is done
    hr_error       : in  std_logic;                             -- a read failed
    hr_idle        : in  std_logic;                             -- nothing queued or in flight
    sd_cmd_valid   : out std_logic;                             -- SDRAM: command, held until sd_cmd_ready
    sd_cmd_ready   : in  std_logic := '0';                      -- command is taken
    sd_cmd_op      : out unsigned(1 downto 0);                  -- 0 READ, 1 WRITE, 2 INVALIDATE
    sd_cmd_addr    : out unsigned(26 downto 0);                 -- byte address, multiple of 8
    sd_cmd_len     : out unsigned(8 downto 0);                  -- bytes, 8..256, multiple of 8
    sd_rdata       : in  unsigned(15 downto 0) := x"0000";      -- word read, low byte = lower address
    sd_rdata_valid : in  std_logic := '0';                      -- sd_rdata is a word
    sd_wdata_req   : in  std_logic := '0';                      -- a word is wanted
    sd_wdata       : out unsigned(15 downto 0);                 -- word to write
    sd_wdata_be    : out unsigned(1 downto 0);                  -- its bytes to write
    sd_cmd_done    : in  std_logic := '0';                      -- a command is done
    sd_error       : in  std_logic := '0';                      -- a read failed
    sd_idle        : in  std_logic := '1'                       -- nothing queued or in flight
  );
end entity;

architecture rtl of ssnail is
  signal rdata                                     : std_logic_vector(7 downto 0);
  signal rdata_en                                  : std_logic;
  signal hr_op, sd_op, hr_be, sd_be                : std_logic_vector(1 downto 0);
  signal hr_addr, sd_addr                          : std_logic_vector(26 downto 0);
  signal hr_len, sd_len                            : std_logic_vector(8 downto 0);
  signal hr_data, sd_data                          : std_logic_vector(15 downto 0);
begin
  fastio_rdata <= unsigned(rdata) when rdata_en = '1' else (others => 'Z');  -- flow: ok
  hr_cmd_op    <= unsigned(hr_op);
  hr_cmd_addr  <= unsigned(hr_addr);
  hr_cmd_len   <= unsigned(hr_len);
  hr_wdata     <= unsigned(hr_data);
  hr_wdata_be  <= unsigned(hr_be);
  sd_cmd_op    <= unsigned(sd_op);
  sd_cmd_addr  <= unsigned(sd_addr);
  sd_cmd_len   <= unsigned(sd_len);
  sd_wdata     <= unsigned(sd_data);
  sd_wdata_be  <= unsigned(sd_be);

  u_chip : entity work.ssnail_chip
    generic map (HAS_SDRAM => has_sdram)
    port map (
      cpuclock => cpuclock, reset => reset, irq => irq, ssnail_cs => ssnail_cs,
      fastio_addr => std_logic_vector(fastio_addr), fastio_write => fastio_write, fastio_read => fastio_read,
      fastio_wdata => std_logic_vector(fastio_wdata), fastio_rdata => rdata, fastio_rdata_en => rdata_en,
      clock162 => clock162,
      hr_cmd_valid => hr_cmd_valid, hr_cmd_ready => hr_cmd_ready, hr_cmd_op => hr_op, hr_cmd_addr => hr_addr,
      hr_cmd_len => hr_len, hr_rdata => std_logic_vector(hr_rdata), hr_rdata_valid => hr_rdata_valid,
      hr_wdata_req => hr_wdata_req, hr_wdata => hr_data, hr_wdata_be => hr_be, hr_cmd_done => hr_cmd_done,
      hr_error => hr_error, hr_idle => hr_idle,
      sd_cmd_valid => sd_cmd_valid, sd_cmd_ready => sd_cmd_ready, sd_cmd_op => sd_op, sd_cmd_addr => sd_addr,
      sd_cmd_len => sd_len, sd_rdata => std_logic_vector(sd_rdata), sd_rdata_valid => sd_rdata_valid,
      sd_wdata_req => sd_wdata_req, sd_wdata => sd_data, sd_wdata_be => sd_be, sd_cmd_done => sd_cmd_done,
      sd_error => sd_error, sd_idle => sd_idle,
      retire_valid => open, retire_pc => open, retire_next_pc => open, retire_fault => open, retire_reg_kind => open,
      retire_reg => open, retire_value => open, retire_n0 => open, retire_n1 => open, retire_n2 => open);
end architecture;
