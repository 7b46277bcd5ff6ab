-- Copies bytes from one memory port to the other: a small master with which the testbench tries its memory models,
-- protocol checkers, recordings and replays. No part of the accelerator.

library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity lump_copy is
  port (
    clk            : in  std_logic;                      -- rising edge
    reset          : in  std_logic;                      -- synchronous, high active
    start          : in  std_logic;                      -- one cycle, while not busy
    src            : in  std_logic_vector(26 downto 0);  -- byte address in the first RAM, multiple of 8
    dst            : in  std_logic_vector(26 downto 0);  -- byte address in the second RAM, multiple of 8
    count          : in  std_logic_vector(15 downto 0);  -- bytes, multiple of 8
    busy           : out std_logic;                      -- from the cycle after start until all bytes are written
    failed         : out std_logic;                      -- a read timed out since start
    hr_cmd_valid   : out std_logic;                      -- first port, only reads
    hr_cmd_ready   : in  std_logic;                      -- accepted when both are high
    hr_cmd_op      : out std_logic_vector(1 downto 0);   -- always READ
    hr_cmd_addr    : out std_logic_vector(26 downto 0);  -- byte address
    hr_cmd_len     : out std_logic_vector(8 downto 0);   -- bytes, 8..256
    hr_rdata       : in  std_logic_vector(15 downto 0);  -- low byte is the lower address
    hr_rdata_valid : in  std_logic;                      -- a word came
    hr_wdata_req   : in  std_logic;                      -- never
    hr_wdata       : out std_logic_vector(15 downto 0);  -- unused
    hr_wdata_be    : out std_logic_vector(1 downto 0);   -- unused
    hr_cmd_done    : in  std_logic;                      -- read complete
    hr_error       : in  std_logic;                      -- read timed out
    hr_idle        : in  std_logic;                      -- unused
    sd_cmd_valid   : out std_logic;                      -- second port, only writes
    sd_cmd_ready   : in  std_logic;                      -- accepted when both are high
    sd_cmd_op      : out std_logic_vector(1 downto 0);   -- always WRITE
    sd_cmd_addr    : out std_logic_vector(26 downto 0);  -- byte address
    sd_cmd_len     : out std_logic_vector(8 downto 0);   -- bytes, 8..256
    sd_rdata       : in  std_logic_vector(15 downto 0);  -- unused
    sd_rdata_valid : in  std_logic;                      -- never
    sd_wdata_req   : in  std_logic;                      -- the next word is to be registered at this edge
    sd_wdata       : out std_logic_vector(15 downto 0);  -- word
    sd_wdata_be    : out std_logic_vector(1 downto 0);   -- always both bytes
    sd_cmd_done    : in  std_logic;                      -- write complete
    sd_error       : in  std_logic;                      -- never
    sd_idle        : in  std_logic                       -- unused
  );
end entity;

architecture rtl of lump_copy is
  type state_t is (IDLE, NEXT_BURST, READ_COMMAND, READ_DATA, WRITE_COMMAND, WRITE_DATA);
  type buffer_t is array (0 to 127) of std_logic_vector(15 downto 0);
  signal state    : state_t := IDLE;
  signal words    : buffer_t := (others => (others => '0'));
  signal from_r   : unsigned(26 downto 0) := (others => '0');
  signal to_r     : unsigned(26 downto 0) := (others => '0');
  signal left     : unsigned(15 downto 0) := (others => '0');
  signal length   : unsigned(8 downto 0) := (others => '0');
  signal fill     : unsigned(6 downto 0) := (others => '0');
  signal take     : unsigned(6 downto 0) := (others => '0');
  signal failed_r : std_logic := '0';

  -- Bytes from an address to the next multiple of 256.
  function room(address : unsigned(26 downto 0)) return unsigned is
  begin
    return to_unsigned(256, 9) - resize(address(7 downto 0), 9);
  end function;

  function smaller(a, b : unsigned(8 downto 0)) return unsigned is
  begin
    if a < b then
      return a;
    end if;
    return b;
  end function;
begin
  busy         <= '0' when state = IDLE else '1';
  failed       <= failed_r;
  hr_cmd_valid <= '1' when state = READ_COMMAND else '0';
  hr_cmd_op    <= "00";
  hr_cmd_addr  <= std_logic_vector(from_r);
  hr_cmd_len   <= std_logic_vector(length);
  hr_wdata     <= (others => '0');
  hr_wdata_be  <= "00";
  sd_cmd_valid <= '1' when state = WRITE_COMMAND else '0';
  sd_cmd_op    <= "01";
  sd_cmd_addr  <= std_logic_vector(to_r);
  sd_cmd_len   <= std_logic_vector(length);
  sd_wdata_be  <= "11";

  store : process (clk)
  begin
    if rising_edge(clk) then
      if hr_rdata_valid = '1' then
        words(to_integer(fill)) <= hr_rdata;
      end if;
      if sd_wdata_req = '1' then
        sd_wdata <= words(to_integer(take));
      end if;
    end if;
  end process;

  control : process (clk)
    variable both : unsigned(8 downto 0);
  begin
    if rising_edge(clk) then
      if hr_rdata_valid = '1' then
        fill <= fill + 1;
      end if;
      if sd_wdata_req = '1' then
        take <= take + 1;
      end if;
      if hr_error = '1' then
        failed_r <= '1';
      end if;
      case state is
        when IDLE =>
          if start = '1' then
            from_r   <= unsigned(src);
            to_r     <= unsigned(dst);
            left     <= unsigned(count);
            failed_r <= '0';
            state    <= NEXT_BURST;
          end if;
        when NEXT_BURST =>
          fill <= (others => '0');
          take <= (others => '0');
          both := smaller(room(from_r), room(to_r));
          if left < resize(both, 16) then
            both := left(8 downto 0);
          end if;
          length <= both;
          state  <= READ_COMMAND;
          if left = 0 then
            state <= IDLE;
          end if;
        when READ_COMMAND =>
          if hr_cmd_ready = '1' then
            state <= READ_DATA;
          end if;
        when READ_DATA =>
          if hr_cmd_done = '1' then
            state <= WRITE_COMMAND;
          end if;
        when WRITE_COMMAND =>
          if sd_cmd_ready = '1' then
            state <= WRITE_DATA;
          end if;
        when WRITE_DATA =>
          if sd_cmd_done = '1' then
            from_r <= from_r + resize(length, 27);
            to_r   <= to_r + resize(length, 27);
            left   <= left - resize(length, 16);
            state  <= NEXT_BURST;
          end if;
      end case;
      if reset = '1' then
        state    <= IDLE;
        failed_r <= '0';
      end if;
    end if;
  end process;
end architecture;
