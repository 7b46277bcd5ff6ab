-- The registers as the CPU sees them, in the cpuclock domain. Commands go to the core through a ring of four entries with
-- a Gray-coded pointer, its state comes back in coherent snapshots by a toggle handshake; what does not change while the
-- core looks at it (job pointer, map) is given directly.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_core_pkg.all;

entity cpu_regs is
  generic (
    HAS_SDRAM : boolean := false                                -- the board has SDRAM
  );
  port (
    clk       : in  std_logic;                                  -- cpuclock
    reset     : in  std_logic;                                  -- high active, synchronous
    cs        : in  std_logic;                                  -- registers are addressed
    addr      : in  std_logic_vector(4 downto 0);               -- register
    wr        : in  std_logic;                                  -- write
    wdata     : in  std_logic_vector(7 downto 0);               -- byte to write
    rdata     : out std_logic_vector(7 downto 0);               -- byte read, combinational
    irq       : out std_logic;                                  -- done interrupt, low active
    -- To clock162
    cmd_ptr   : out std_logic_vector(1 downto 0);               -- Gray code of the number of commands
    cmd_ring  : out std_logic_vector(51 downto 0);              -- 4 x (register, byte), stable for three more commands
    job       : out std_logic_vector(27 downto 0);              -- job pointer, stable while busy
    map_bytes : out std_logic_vector(31 downto 0);              -- registers 13..10, stable while busy
    snap_req  : out std_logic;                                  -- changes to ask for a snapshot
    snap_ack  : in  std_logic;                                  -- follows snap_req when snap is stable
    snap      : in  std_logic_vector(53 downto 0);              -- error, consumed(10:0), commits(3:0), alive, ended, fault, pc
    counters  : in  std_logic_vector(159 downto 0)              -- 5 latched counters, stable but for the latching
  );
end entity;

architecture rtl of cpu_regs is
  function choose(c : boolean; a, b : std_logic_vector) return std_logic_vector is
  begin
    if c then
      return a;
    end if;
    return b;
  end function;

  constant MAP_RESET : std_logic_vector(31 downto 0) := choose(HAS_SDRAM,
    HYPERRAM_BASE_WITH_SDRAM & SDRAM_MB_WITH_SDRAM & SDRAM_BASE_WITH_SDRAM & HYPERRAM_MB_WITH_SDRAM,
    HYPERRAM_BASE_WITHOUT_SDRAM & SDRAM_MB_WITHOUT_SDRAM & SDRAM_BASE_WITHOUT_SDRAM & HYPERRAM_MB_WITHOUT_SDRAM);

  signal busy, done, pending, enable : std_logic                     := '0';
  signal fault                       : std_logic_vector(7 downto 0)  := (others => '0');
  signal pc, job_r                   : std_logic_vector(27 downto 0) := (others => '0');
  signal map_r                       : std_logic_vector(31 downto 0) := MAP_RESET;
  signal written                     : unsigned(10 downto 0)         := (others => '0'); -- data bytes given to the load port
  signal consumed                    : unsigned(10 downto 0)         := (others => '0'); -- data bytes that left it
  signal commits, commits_back       : unsigned(3 downto 0)          := (others => '0');
  signal alive, load_error, refused  : std_logic                     := '0';
  signal ended                       : std_logic                     := '0'; -- changes at the end of a job
  signal ptr                         : unsigned(1 downto 0)          := (others => '0');
  signal gray                        : std_logic_vector(1 downto 0)  := (others => '0');
  signal ring                        : std_logic_vector(51 downto 0) := (others => '0');
  signal ask, ack1, ack2, settled    : std_logic                     := '0';
  signal selected                    : std_logic_vector(7 downto 0)  := (others => '0');
  signal load_ready                  : std_logic;
  signal in_ring                     : unsigned(10 downto 0);
begin
  irq       <= not (pending and enable);
  cmd_ptr   <= gray;
  cmd_ring  <= ring;
  job       <= job_r;
  map_bytes <= map_r;
  snap_req  <= ask;

  in_ring    <= written - consumed;
  load_ready <= '1' when alive = '1' and busy = '0' and commits = commits_back and in_ring <= 512 else '0';

  read : process (all)
    variable counter : std_logic_vector(31 downto 0);
  begin
    counter := (others => '0');
    for k in 0 to 4 loop
      if unsigned(selected) = to_unsigned(k, 8) then
        counter := counters(32 * k + 31 downto 32 * k);
      end if;
    end loop;
    case addr is
      when REG_ID             => rdata <= PORT_ID;
      when REG_VERSION        => rdata <= CORE_VERSION;
      when REG_CAPS           => rdata <= choose(HAS_SDRAM, x"03", x"01");
      when REG_CONTROL        => rdata <= pending & "0000000";
      when REG_STATUS         => rdata <= "00000" & (fault(0) or fault(1) or fault(2)) & done & busy;
      when REG_FAULT          => rdata <= fault;
      when REG_IRQ_ENABLE     => rdata <= "0000000" & enable;
      when "01000"            => rdata <= job_r(7 downto 0);
      when "01001"            => rdata <= job_r(15 downto 8);
      when "01010"            => rdata <= job_r(23 downto 16);
      when "01011"            => rdata <= "0000" & job_r(27 downto 24);
      when "01100"            => rdata <= pc(7 downto 0);
      when "01101"            => rdata <= pc(15 downto 8);
      when "01110"            => rdata <= pc(23 downto 16);
      when "01111"            => rdata <= "0000" & pc(27 downto 24);
      when "10000"            => rdata <= map_r(7 downto 0);
      when "10001"            => rdata <= map_r(15 downto 8);
      when "10010"            => rdata <= map_r(23 downto 16);
      when "10011"            => rdata <= map_r(31 downto 24);
      when REG_LOAD_COMMIT    => rdata <= load_ready & (load_error or refused) & "000000";
      when REG_COUNTER_SELECT => rdata <= selected;
      when "11011"            => rdata <= counter(7 downto 0);
      when "11100"            => rdata <= counter(15 downto 8);
      when "11101"            => rdata <= counter(23 downto 16);
      when "11110"            => rdata <= counter(31 downto 24);
      when others             => rdata <= x"00";
    end case;
  end process;

  process (clk)
    variable send : boolean;
  begin
    if rising_edge(clk) then
      gray    <= std_logic_vector(ptr xor ('0' & ptr(1)));
      ack1    <= snap_ack;
      ack2    <= ack1;
      settled <= '0';
      if ack2 = ask and settled = '0' then
        settled      <= '1';
        ask          <= not ask;
        pc           <= snap(27 downto 0);
        alive        <= snap(37);
        commits_back <= unsigned(snap(41 downto 38));
        consumed     <= unsigned(snap(52 downto 42));
        load_error   <= snap(53);
        ended        <= snap(36);
        if snap(36) /= ended then
          busy    <= '0';
          done    <= '1';
          fault   <= snap(35 downto 28);
          pending <= '1';
        end if;
      end if;

      if cs = '1' and wr = '1' then
        send := false;
        case addr is
          when REG_CONTROL =>
            if wdata(BIT_IRQ) = '1' then
              pending <= '0';
            end if;
            if wdata(BIT_ABORT) = '1' then
              send := busy = '1';
            elsif busy = '0' then
              send := wdata(BIT_GO) = '1' or wdata(BIT_STEP) = '1' or wdata(BIT_SYNC) = '1';
              if wdata(BIT_GO) = '1' or wdata(BIT_STEP) = '1' then
                busy  <= '1';
                done  <= '0';
                fault <= (others => '0');
              end if;
            end if;
          when REG_IRQ_ENABLE     => enable <= wdata(0);
          when "01000"            => if busy = '0' then job_r(7 downto 0) <= wdata; end if;
          when "01001"            => if busy = '0' then job_r(15 downto 8) <= wdata; end if;
          when "01010"            => if busy = '0' then job_r(23 downto 16) <= wdata; end if;
          when "01011"            => if busy = '0' then job_r(27 downto 24) <= wdata(3 downto 0); end if;
          when "10000"            => if busy = '0' then map_r(7 downto 0) <= wdata; end if;
          when "10001"            => if busy = '0' then map_r(15 downto 8) <= wdata; end if;
          when "10010"            => if busy = '0' then map_r(23 downto 16) <= wdata; end if;
          when "10011"            => if busy = '0' then map_r(31 downto 24) <= wdata; end if;
          when "10100" | "10101" | "10110" => send := true;
          when REG_LOAD_COMMIT =>
            if busy = '1' then
              refused <= '1';
            else
              send    := true;
              commits <= commits + 1;
              if wdata(BIT_LOAD_ERROR) = '1' then
                refused <= '0';
              end if;
            end if;
          when REG_LOAD_DATA =>
            if busy = '1' then
              refused <= '1';
            else
              send    := true;
              written <= written + 1;
            end if;
          when REG_COUNTER_LATCH  => send := true;
          when REG_COUNTER_SELECT => selected <= wdata;
          when others             => null;
        end case;
        if send then
          for k in 0 to 3 loop
            if ptr = to_unsigned(k, 2) then
              ring(13 * k + 12 downto 13 * k) <= addr & wdata;
            end if;
          end loop;
          ptr <= ptr + 1;
        end if;
      end if;

      if reset = '1' then
        busy <= '0'; done <= '0'; pending <= '0'; enable <= '0';
        fault <= (others => '0'); pc <= (others => '0'); job_r <= (others => '0'); map_r <= MAP_RESET;
        written <= (others => '0'); consumed <= (others => '0');
        commits <= (others => '0'); commits_back <= (others => '0');
        alive <= '0'; load_error <= '0'; refused <= '0'; ended <= '0';
        ptr <= (others => '0'); gray <= (others => '0');
        ask <= '0'; ack1 <= '1'; ack2 <= '1'; selected <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
