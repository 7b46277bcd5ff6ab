-- The sequencer: jobs, instruction by instruction. Fetch, decode and check, then effects on registers at once or by the
-- streams, and retirement once everything is written. ABORT, faults of memory, the watchdog and reset end a job in the
-- state KILL, which waits until the memory ports have finished what they were asked for.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_core_pkg.all;

entity control is
  port (
    clk             : in  std_logic;                            -- clock162
    reset           : in  std_logic;                            -- high active, synchronous
    -- CPU
    cmd_valid       : in  std_logic;                            -- a register was written
    cmd_addr        : in  std_logic_vector(4 downto 0);         -- the register; other than 03 are ignored
    cmd_data        : in  std_logic_vector(7 downto 0);         -- the byte
    job             : in  std_logic_vector(27 downto 0);        -- job pointer
    map_v           : in  map_t;                                -- address map
    has_ram         : in  std_logic_vector(1 downto 0);         -- there is HyperRAM (0), SDRAM (1)
    pc              : out unsigned(27 downto 0);                -- PC
    fault           : out std_logic_vector(7 downto 0);         -- how the last job ended
    ended           : out std_logic;                            -- changes at the end of a job
    alive           : out std_logic;                            -- not in reset
    running         : out std_logic;                            -- a job runs
    job_start       : out std_logic;                            -- a job begins by GO
    -- Load port
    load_may        : out std_logic;                            -- the load port may use the writer
    load_busy       : in  std_logic;                            -- it does, or will
    -- Memory
    kill            : out std_logic;                            -- drop everything
    clear           : out std_logic;                            -- the writer may forget what it has
    mem_busy        : in  std_logic;                            -- commands are under way
    mem_moves       : in  std_logic;                            -- a word comes or goes
    read_error      : in  std_logic;                            -- a read failed
    inv_req         : out std_logic_vector(1 downto 0);         -- invalidate, HyperRAM (0), SDRAM (1)
    inv_ack         : in  std_logic_vector(1 downto 0);         -- taken
    inv_done        : in  std_logic_vector(1 downto 0);         -- done
    -- Fetch
    fetch_clear     : out std_logic;                            -- stop fetching
    flush           : out std_logic;                            -- fetch from PC
    instr_valid     : in  std_logic;                            -- an instruction is there
    instr           : in  std_logic_vector(127 downto 0);       -- it
    take            : out std_logic;                            -- takes it
    -- Check
    ir              : out std_logic_vector(127 downto 0);       -- instruction that is run
    check_start     : out std_logic;                            -- it has just come
    quick, decoded  : in  std_logic;                            -- see operand_check
    checked         : in  std_logic;                            -- all checks are done
    check_fault     : in  std_logic_vector(7 downto 0);         -- what they found
    empty           : in  std_logic;                            -- the operation is on nothing
    addr_x          : in  unsigned(27 downto 0);                -- address that X gives
    over_code       : in  std_logic;                            -- writes over instructions that follow
    product         : in  unsigned(27 downto 0);                -- R[b] * Z, five cycles after rb is there
    ra, rb          : in  std_logic_vector(31 downto 0);        -- R[a], R[b], registered
    n0, n1, n2      : out std_logic_vector(31 downto 0);        -- lengths
    r_we, a_we      : out std_logic;                            -- write R, A register a
    reg_value       : out std_logic_vector(31 downto 0);        -- what
    -- Streams
    run_start       : out std_logic;                            -- streams and vector unit begin
    run_done        : in  std_logic;                            -- all of them are done
    run_result      : in  std_logic_vector(31 downto 0);        -- value for R[a]
    -- Trace
    retire_valid    : out std_logic;                            -- an instruction retired or faulted
    retire_pc       : out std_logic_vector(27 downto 0);        -- its address
    retire_next_pc  : out std_logic_vector(27 downto 0);        -- PC after it
    retire_fault    : out std_logic_vector(7 downto 0);         -- 0 none
    retire_reg_kind : out std_logic_vector(1 downto 0);         -- 0 none, 1 R, 2 A, 3 N
    retire_reg      : out std_logic_vector(3 downto 0);         -- register
    retire_value    : out std_logic_vector(31 downto 0)         -- its new value
  );
end entity;

architecture rtl of control is
  type state_t is (KILL_S, CLEAR_S, IDLE_S, FETCH, FETCH_WAIT, DECODE, DECODE_2, EXECUTE, CHECKING, MULTIPLY, RUN,
                   RUN_WAIT, SYNC, RETIRE);
  constant REPORT_AT : natural := 1500; -- cycles of draining after which the CPU hears of the end at the latest

  signal state        : state_t                       := KILL_S;
  signal drain        : unsigned(10 downto 0)         := (others => '0');
  signal kill_fault   : std_logic_vector(7 downto 0)  := (others => '0');
  signal job_r        : std_logic                     := '0'; -- a job runs, or is to
  signal go_r, sync_r : std_logic                     := '0'; -- job, SYNC to begin when idle
  signal stepping     : std_logic                     := '0';
  signal pc_r, next_pc : unsigned(27 downto 0)        := (others => '0');
  signal pc_ok        : std_logic                     := '0';
  signal ir_r         : std_logic_vector(127 downto 0) := (others => '0');
  signal n0_r, n1_r, n2_r : std_logic_vector(31 downto 0) := (others => '0');
  signal fault_r      : std_logic_vector(7 downto 0)  := (others => '0'); -- of the instruction
  signal last_fault   : std_logic_vector(7 downto 0)  := (others => '0');
  signal ended_r      : std_logic                     := '0';
  signal eq, lt       : std_logic                     := '0';
  signal kind         : std_logic_vector(1 downto 0)  := (others => '0');
  signal value        : std_logic_vector(31 downto 0) := (others => '0');
  signal jump         : std_logic                     := '0'; -- fetch must start anew
  signal flush_r      : std_logic                     := '0';
  signal count        : unsigned(2 downto 0)          := (others => '0');
  signal inv_r        : std_logic_vector(1 downto 0)  := (others => '0'); -- to be asked for
  signal inv_wait     : std_logic_vector(1 downto 0)  := (others => '0'); -- not done yet
  signal dog          : unsigned(24 downto 0)         := (others => '0');
  signal moves        : std_logic                     := '0';
  signal op           : std_logic_vector(7 downto 0);
  signal t_valid      : std_logic                     := '0';
  signal t_pc, t_next : unsigned(27 downto 0)         := (others => '0');
  signal t_fault      : std_logic_vector(7 downto 0)  := (others => '0');
  signal t_kind       : std_logic_vector(1 downto 0)  := (others => '0');
  signal t_reg        : std_logic_vector(3 downto 0)  := (others => '0');
  signal t_value      : std_logic_vector(31 downto 0) := (others => '0');
  signal start_r      : std_logic                     := '0';
begin
  op          <= ir_r(7 downto 0);
  pc          <= pc_r;
  fault       <= last_fault;
  ended       <= ended_r;
  alive       <= '0' when reset = '1' or (state = KILL_S and job_r = '0') or state = CLEAR_S else '1';
  running     <= job_r;
  job_start   <= start_r;
  load_may    <= '1' when state = IDLE_S else '0';
  kill        <= '1' when state = KILL_S or state = CLEAR_S else '0';
  clear       <= '1' when state = CLEAR_S else '0';
  inv_req     <= inv_r and not inv_ack;
  fetch_clear <= '1' when state = KILL_S or state = CLEAR_S or state = IDLE_S else '0';
  flush       <= flush_r;
  take        <= '1' when state = FETCH_WAIT and flush_r = '0' and pc_r(3 downto 0) = "0000" and pc_ok = '1' else '0';
  ir          <= ir_r;
  check_start <= '1' when state = DECODE else '0';
  n0          <= n0_r;
  n1          <= n1_r;
  n2          <= n2_r;
  reg_value   <= value;
  r_we        <= '1' when state = RETIRE and kind = "01" else '0';
  a_we        <= '1' when state = RETIRE and kind = "10" else '0';
  run_start   <= '1' when state = RUN else '0';

  retire_valid    <= t_valid;
  retire_pc       <= std_logic_vector(t_pc);
  retire_next_pc  <= std_logic_vector(t_next);
  retire_fault    <= t_fault;
  retire_reg_kind <= t_kind;
  retire_reg      <= t_reg;
  retire_value    <= t_value;

  process (clk)
    variable finish : boolean;
    variable why    : std_logic_vector(7 downto 0);
    variable die    : boolean;
  begin
    if rising_edge(clk) then
      flush_r <= '0';
      t_valid <= '0';
      start_r <= '0';
      finish  := false;
      why     := fault_r;
      die     := false;
      moves   <= mem_moves;
      pc_ok   <= mb_in_hyper(pc_r(27 downto 20), map_v) or mb_in_sdram(pc_r(27 downto 20), map_v);
      eq      <= '0';
      lt      <= '0';
      if ra = rb then
        eq <= '1';
      end if;
      if unsigned(ra) < unsigned(rb) then
        lt <= '1';
      end if;
      inv_r    <= inv_r and not inv_ack;
      inv_wait <= inv_wait and not inv_done;

      case state is
        when KILL_S =>
          if drain /= 2047 then
            drain <= drain + 1;
          end if;
          if drain >= 16 and mem_busy = '0' then
            state <= CLEAR_S;
          elsif drain = REPORT_AT then
            finish := job_r = '1' and go_r = '0';
            why    := kill_fault;
          end if;
        when CLEAR_S =>
          state  <= IDLE_S;
          finish := job_r = '1' and go_r = '0';
          why    := kill_fault;
        when IDLE_S =>
          if load_busy = '0' then
            if sync_r = '1' then
              sync_r   <= '0';
              inv_r    <= has_ram;
              inv_wait <= has_ram;
              state    <= SYNC;
            elsif go_r = '1' then
              go_r    <= '0';
              flush_r <= '1';
              jump    <= '0';
              state   <= FETCH;
            end if;
          end if;
        when FETCH => state <= FETCH_WAIT;
        when FETCH_WAIT =>
          kind    <= "00";
          value   <= (others => '0');
          fault_r <= FAULT_NONE;
          next_pc <= pc_r + 16;
          jump    <= '0';
          ir_r    <= instr;
          if flush_r = '0' then
            if pc_r(3 downto 0) /= "0000" then
              fault_r <= FAULT_ALIGNMENT;
              state   <= RETIRE;
            elsif pc_ok = '0' then
              fault_r <= FAULT_RANGE;
              state   <= RETIRE;
            elsif instr_valid = '1' then
              state <= DECODE;
            end if;
          end if;
        when DECODE => state <= DECODE_2;
        when DECODE_2 =>
          state <= EXECUTE;
          count <= to_unsigned(3, 3);
        when EXECUTE =>
          if quick = '0' then
            state <= CHECKING;
          elsif check_fault /= FAULT_NONE then
            fault_r <= check_fault;
            state   <= RETIRE;
          else
            state <= RETIRE;
            case op is
              when OP_HALT =>
                next_pc <= pc_r;
              when OP_SYNC =>
                inv_r    <= has_ram;
                inv_wait <= has_ram;
                state    <= SYNC;
              when OP_SETN =>
                kind  <= "11";
                value <= ir_r(63 downto 32);
                n0_r  <= ir_r(63 downto 32);
                n1_r  <= ir_r(95 downto 64);
                n2_r  <= ir_r(127 downto 96);
              when OP_LI =>
                kind  <= "01";
                value <= ir_r(127 downto 96);
              when OP_ADDI =>
                kind  <= "01";
                value <= std_logic_vector(unsigned(rb) + unsigned(ir_r(127 downto 96)));
              when OP_LEA => state <= MULTIPLY;
              when OP_BEQ => jump <= eq;
              when OP_BNE => jump <= not eq;
              when OP_BLT => jump <= lt;
              when others => null;
            end case;
            if (op = OP_BEQ and eq = '1') or (op = OP_BNE and eq = '0') or (op = OP_BLT and lt = '1') then
              next_pc <= addr_x;
            end if;
          end if;
        when CHECKING =>
          if checked = '1' then
            fault_r <= check_fault;
            jump    <= over_code;
            if check_fault /= FAULT_NONE or empty = '1' then
              state <= RETIRE;
            else
              state <= RUN;
            end if;
          end if;
        when MULTIPLY =>
          count <= count - 1;
          value <= x"0" & std_logic_vector(addr_x + product);
          kind  <= "10";
          if count = 0 then
            state <= RETIRE;
          end if;
        when RUN =>
          count <= to_unsigned(2, 3);
          state <= RUN_WAIT;
        when RUN_WAIT =>
          if count /= 0 then
            count <= count - 1;
          elsif run_done = '1' then
            if op = OP_LDR or op = OP_ARGMAX then
              kind <= "01";
            end if;
            value <= run_result;
            state <= RETIRE;
          end if;
        when SYNC =>
          if inv_wait = "00" then
            if job_r = '1' and go_r = '0' then
              state <= RETIRE;
            else
              state <= IDLE_S;
            end if;
          end if;
        when RETIRE =>
          t_valid <= '1';
          t_pc    <= pc_r;
          t_fault <= fault_r;
          t_kind  <= kind;
          t_reg   <= ir_r(11 downto 8);
          t_value <= value;
          if kind = "01" and ir_r(11 downto 8) = "1111" then
            t_kind <= "00";
          end if;
          if fault_r = FAULT_NONE then
            pc_r   <= next_pc;
            t_next <= next_pc;
          else
            t_next <= pc_r;
          end if;
          if fault_r /= FAULT_NONE or stepping = '1' or op = OP_HALT then
            finish := true;
            state  <= IDLE_S;
          else
            flush_r <= jump;
            state   <= FETCH;
          end if;
      end case;

      -- The watchdog counts cycles in which nothing moves.
      if job_r = '0' or moves = '1' or state = RETIRE then
        dog <= (others => '0');
      else
        dog <= dog + 1;
      end if;
      if job_r = '1' and go_r = '0' and state /= KILL_S and state /= CLEAR_S and state /= RETIRE then
        if read_error = '1' or dog(24) = '1' then
          die := true;
          kill_fault <= FAULT_MEMORY;
        end if;
      end if;

      if cmd_valid = '1' and cmd_addr = REG_CONTROL then
        if cmd_data(BIT_ABORT) = '1' then
          if job_r = '1' and go_r = '1' then
            go_r   <= '0';
            finish := true;
            why    := FAULT_ABORTED;
          elsif job_r = '1' and state /= KILL_S and state /= CLEAR_S and not finish then
            die := true;
            kill_fault <= FAULT_ABORTED;
          end if;
        elsif job_r = '0' then
          if cmd_data(BIT_SYNC) = '1' then
            sync_r <= '1';
          end if;
          if cmd_data(BIT_GO) = '1' then
            pc_r     <= unsigned(job);
            job_r    <= '1';
            go_r     <= '1';
            stepping <= '0';
            start_r  <= '1';
          elsif cmd_data(BIT_STEP) = '1' then
            job_r    <= '1';
            go_r     <= '1';
            stepping <= '1';
          end if;
        end if;
      end if;

      if die then
        state <= KILL_S;
        drain <= (others => '0');
        inv_r <= "00";
      end if;
      if finish then
        job_r      <= '0';
        ended_r    <= not ended_r;
        last_fault <= why;
        if state = KILL_S or state = CLEAR_S then
          t_valid <= '1';
          t_pc    <= pc_r;
          t_next  <= pc_r;
          t_fault <= why;
          t_kind  <= "00";
        end if;
      end if;

      if reset = '1' then
        state      <= KILL_S;
        drain      <= (others => '0');
        job_r      <= '0';
        go_r       <= '0';
        sync_r     <= '0';
        stepping   <= '0';
        inv_r      <= "00";
        inv_wait   <= "00";
        pc_r       <= (others => '0');
        n0_r       <= (others => '0');
        n1_r       <= (others => '0');
        n2_r       <= (others => '0');
        last_fault <= (others => '0');
        ended_r    <= '0';
        t_valid    <= '0';
      end if;
    end if;
  end process;
end architecture;
