-- All of SSNAIL's logic: registers in cpuclock, the core in clock162, two LUMP memory masters, and a trace of retired
-- instructions for testbenches. The board wrapper adds the tri-state bus.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_core_pkg.all;

entity ssnail_chip is
  generic (
    HAS_SDRAM : boolean := false                                -- the board has SDRAM
  );
  port (
    cpuclock        : in  std_logic;                            -- 40.5 MHz
    reset           : in  std_logic;                            -- low active, four cycles of cpuclock or more
    irq             : out std_logic;                            -- done interrupt, low active
    ssnail_cs       : in  std_logic;                            -- registers are addressed
    fastio_addr     : in  std_logic_vector(19 downto 0);        -- bits 4..0: register
    fastio_write    : in  std_logic;                            -- write at the next edge of cpuclock
    fastio_read     : in  std_logic;                            -- read
    fastio_wdata    : in  std_logic_vector(7 downto 0);         -- byte to write
    fastio_rdata    : out std_logic_vector(7 downto 0);         -- byte read, combinational
    fastio_rdata_en : out std_logic;                            -- drive the bus
    clock162        : in  std_logic;                            -- 162 MHz
    hr_cmd_valid    : out std_logic;                            -- HyperRAM: LUMP command
    hr_cmd_ready    : in  std_logic;                            -- command is taken
    hr_cmd_op       : out std_logic_vector(1 downto 0);         -- 0 READ, 1 WRITE, 2 INVALIDATE
    hr_cmd_addr     : out std_logic_vector(26 downto 0);        -- byte address, multiple of 8
    hr_cmd_len      : out std_logic_vector(8 downto 0);         -- bytes, 8..256, multiple of 8
    hr_rdata        : in  std_logic_vector(15 downto 0);        -- word read, low byte = lower address
    hr_rdata_valid  : in  std_logic;                            -- hr_rdata is a word
    hr_wdata_req    : in  std_logic;                            -- a word is wanted
    hr_wdata        : out std_logic_vector(15 downto 0);        -- word to write
    hr_wdata_be     : out std_logic_vector(1 downto 0);         -- its bytes to write
    hr_cmd_done     : in  std_logic;                            -- a command is done
    hr_error        : in  std_logic;                            -- a read failed
    hr_idle         : in  std_logic;                            -- nothing queued or in flight
    sd_cmd_valid    : out std_logic;                            -- SDRAM: LUMP command
    sd_cmd_ready    : in  std_logic;                            -- command is taken
    sd_cmd_op       : out std_logic_vector(1 downto 0);         -- 0 READ, 1 WRITE, 2 INVALIDATE
    sd_cmd_addr     : out std_logic_vector(26 downto 0);        -- byte address, multiple of 8
    sd_cmd_len      : out std_logic_vector(8 downto 0);         -- bytes, 8..256, multiple of 8
    sd_rdata        : in  std_logic_vector(15 downto 0);        -- word read, low byte = lower address
    sd_rdata_valid  : in  std_logic;                            -- sd_rdata is a word
    sd_wdata_req    : in  std_logic;                            -- a word is wanted
    sd_wdata        : out std_logic_vector(15 downto 0);        -- word to write
    sd_wdata_be     : out std_logic_vector(1 downto 0);         -- its bytes to write
    sd_cmd_done     : in  std_logic;                            -- a command is done
    sd_error        : in  std_logic;                            -- a read failed
    sd_idle         : in  std_logic;                            -- nothing queued or in flight
    retire_valid    : out std_logic;                            -- an instruction retired or faulted, one cycle
    retire_pc       : out std_logic_vector(27 downto 0);        -- its address
    retire_next_pc  : out std_logic_vector(27 downto 0);        -- PC after it
    retire_fault    : out std_logic_vector(7 downto 0);         -- 0 none
    retire_reg_kind : out std_logic_vector(1 downto 0);         -- 0 none, 1 R, 2 A, 3 N0..N2
    retire_reg      : out std_logic_vector(3 downto 0);         -- register that it wrote
    retire_value    : out std_logic_vector(31 downto 0);        -- what it wrote
    retire_n0       : out std_logic_vector(31 downto 0);        -- N0
    retire_n1       : out std_logic_vector(31 downto 0);        -- N1
    retire_n2       : out std_logic_vector(31 downto 0)         -- N2
  );
end entity;

architecture rtl of ssnail_chip is
  signal rst_c1, rst_c, rst_m1, rst_m : std_logic := '1';
  -- Crossing
  signal cmd_ptr            : std_logic_vector(1 downto 0);
  signal cmd_ring           : std_logic_vector(51 downto 0);
  signal job                : std_logic_vector(27 downto 0);
  signal map_bytes          : std_logic_vector(31 downto 0);
  signal snap_req, snap_ack : std_logic;
  signal snap, live         : std_logic_vector(53 downto 0);
  signal counters           : std_logic_vector(159 downto 0);
  signal cmd_valid          : std_logic;
  signal cmd_addr           : std_logic_vector(4 downto 0);
  signal cmd_data           : std_logic_vector(7 downto 0);
  signal map_v              : map_t                        := (others => '0');
  signal has_ram            : std_logic_vector(1 downto 0) := "00";
  -- Control
  signal pc                                           : unsigned(27 downto 0);
  signal fault                                        : std_logic_vector(7 downto 0);
  signal ended, alive, running, job_start             : std_logic;
  signal load_may, load_busy, kill, clear             : std_logic;
  signal commits                                      : std_logic_vector(3 downto 0);
  signal consumed                                     : std_logic_vector(10 downto 0);
  signal load_error                                   : std_logic;
  signal mem_busy, mem_moves, read_error              : std_logic;
  signal reads_c, writes_c                            : std_logic_vector(1 downto 0);
  signal inv_req, inv_ack, inv_done                   : std_logic_vector(1 downto 0);
  signal fetch_clear, flush, instr_valid, take        : std_logic;
  signal instr, ir                                    : std_logic_vector(127 downto 0);
  signal check_start, quick, decoded, checked, empty  : std_logic;
  signal check_fault                                  : std_logic_vector(7 downto 0);
  signal addr_x                                       : unsigned(27 downto 0);
  signal over_code                                    : std_logic;
  signal ra_c, rb_c, rc_c                             : std_logic_vector(31 downto 0);
  signal ra, rb                                       : std_logic_vector(31 downto 0) := (others => '0');
  signal ax, ay, az                                   : std_logic_vector(27 downto 0);
  signal n0, n1, n2                                   : std_logic_vector(31 downto 0);
  signal r_we, r_we_15, a_we                          : std_logic;
  signal reg_value                                    : std_logic_vector(31 downto 0);
  signal run_start, run_done                          : std_logic;
  signal run_result                                   : std_logic_vector(31 downto 0);
  signal mul_a, mul_b, check_a, check_b               : unsigned(27 downto 0);
  signal mul_p                                        : unsigned(55 downto 0);
  -- Streams
  signal op_reads, op_writes, op_sdram                : std_logic_vector(2 downto 0);
  signal op_offset                                    : std_logic_vector(80 downto 0);
  signal op_length                                    : std_logic_vector(83 downto 0);
  signal f_req, f_ack, f_valid, f_back                : std_logic_vector(1 downto 0);
  signal f_addr                                       : std_logic_vector(26 downto 0);
  signal f_len                                        : std_logic_vector(8 downto 0);
  signal f_epoch                                      : std_logic;
  signal f_hyper, f_sdram                             : std_logic_vector(15 downto 0);
  signal r_start, r_sdram, r_half, r_idle             : std_logic_vector(2 downto 0);
  signal r_valid, r_ready                             : std_logic_vector(2 downto 0);
  signal r_addr                                       : std_logic_vector(80 downto 0);
  signal r_bytes                                      : std_logic_vector(83 downto 0);
  signal r_data                                       : std_logic_vector(95 downto 0);
  signal w_start, w_sdram, w_half, w_valid            : std_logic;
  signal w_ready, w_idle                              : std_logic;
  signal w_addr                                       : std_logic_vector(26 downto 1);
  signal w_words                                      : std_logic_vector(21 downto 0);
  signal w_data                                       : std_logic_vector(31 downto 0);
  signal w_be                                         : std_logic_vector(1 downto 0);
  signal l_start, l_sdram, l_valid                    : std_logic;
  signal l_addr                                       : std_logic_vector(26 downto 1);
  signal l_words                                      : std_logic_vector(21 downto 0);
  signal l_data                                       : std_logic_vector(15 downto 0);
  signal l_be                                         : std_logic_vector(1 downto 0);
  signal v_valid, v_done                              : std_logic;
  signal v_data                                       : std_logic_vector(31 downto 0);
  signal v_n                                          : unsigned(20 downto 0) := (others => '0');
  signal d_sdram                                      : std_logic             := '0';
  signal d_addr                                       : std_logic_vector(26 downto 1) := (others => '0');
  signal d_words                                      : std_logic_vector(21 downto 0) := (others => '0');
  signal d_writes                                     : std_logic             := '0';
  signal gemv, b_sdram, w_f16                         : std_logic             := '0';
  signal b_bytes                                      : std_logic_vector(27 downto 0) := (others => '0');
  signal g_start, v_start, g_valid, g_done, e_done    : std_logic;
  signal g_data                                       : std_logic_vector(31 downto 0);
  signal gx, gy, gb, vx, vy, vb                       : std_logic;
  signal e_valid                                      : std_logic;
  signal e_data                                       : std_logic_vector(31 downto 0);
  signal go, layernorm, x_half                        : std_logic             := '0';
  signal bias_addr                                    : std_logic_vector(26 downto 0) := (others => '0');
  signal y_bytes                                      : std_logic_vector(27 downto 0) := (others => '0');
  signal x_again                                      : std_logic;
  signal waits                                        : std_logic             := '0';
  signal latch                                        : std_logic;
  signal retired                                      : std_logic;
  signal cmd_ready_v, rdata_valid_v, wdata_req_v      : std_logic_vector(1 downto 0);
  signal cmd_done_v, error_v, cmd_valid_v             : std_logic_vector(1 downto 0);
  signal cmd_op_v, wdata_be_v                         : std_logic_vector(3 downto 0);
  signal cmd_addr_v                                   : std_logic_vector(53 downto 0);
  signal cmd_len_v                                    : std_logic_vector(17 downto 0);
  signal rdata_v, wdata_v                             : std_logic_vector(31 downto 0);
begin
  process (cpuclock)
  begin
    if rising_edge(cpuclock) then
      rst_c1 <= not reset;
      rst_c  <= rst_c1;
    end if;
  end process;

  fastio_rdata_en <= ssnail_cs and fastio_read;

  u_regs : entity work.cpu_regs
    generic map (HAS_SDRAM => HAS_SDRAM)
    port map (
      clk => cpuclock, reset => rst_c, cs => ssnail_cs, addr => fastio_addr(4 downto 0), wr => fastio_write,
      wdata => fastio_wdata, rdata => fastio_rdata, irq => irq, cmd_ptr => cmd_ptr, cmd_ring => cmd_ring, job => job,
      map_bytes => map_bytes, snap_req => snap_req, snap_ack => snap_ack, snap => snap, counters => counters);

  live <= load_error & consumed & commits & alive & ended & fault & std_logic_vector(pc);

  u_link : entity work.cpu_link
    port map (
      clk => clock162, reset => rst_m, cmd_ptr => cmd_ptr, cmd_ring => cmd_ring, snap_req => snap_req,
      snap_ack => snap_ack, snap => snap, state => live, cmd_valid => cmd_valid, cmd_addr => cmd_addr,
      cmd_data => cmd_data);

  -- The map changes only while idle; registered once more, since everything compares with it.
  process (clock162)
    variable hr_end, sd_end : unsigned(8 downto 0);
  begin
    if rising_edge(clock162) then
      rst_m1 <= not reset;
      rst_m  <= rst_m1;
      hr_end := ('0' & unsigned(map_bytes(31 downto 24))) + unsigned(map_bytes(7 downto 0));
      sd_end := ('0' & unsigned(map_bytes(15 downto 8))) + unsigned(map_bytes(23 downto 16));
      has_ram <= "11";
      if map_bytes(7 downto 0) = x"00" then
        has_ram(0) <= '0';
      end if;
      if not HAS_SDRAM or map_bytes(23 downto 16) = x"00" then
        has_ram(1) <= '0';
        sd_end     := (others => '0');
      end if;
      map_v <= std_logic_vector(sd_end) & map_bytes(15 downto 8) & std_logic_vector(hr_end) & map_bytes(31 downto 24);
      ra    <= ra_c;
      rb    <= rb_c;
    end if;
  end process;

  u_load : entity work.load_port
    port map (
      clk => clock162, reset => rst_m, map_v => map_v, cmd_valid => cmd_valid, cmd_addr => cmd_addr, cmd_data => cmd_data,
      may_write => load_may, busy => load_busy, commits => commits, consumed => consumed, error => load_error,
      w_start => l_start, w_sdram => l_sdram, w_addr => l_addr, w_words => l_words, w_valid => l_valid, w_data => l_data,
      w_be => l_be, w_ready => w_ready, w_idle => w_idle);

  u_control : entity work.control
    port map (
      clk => clock162, reset => rst_m, cmd_valid => cmd_valid, cmd_addr => cmd_addr, cmd_data => cmd_data, job => job,
      map_v => map_v, has_ram => has_ram, pc => pc, fault => fault, ended => ended, alive => alive, running => running,
      job_start => job_start, load_may => load_may, load_busy => load_busy, kill => kill, clear => clear,
      mem_busy => mem_busy, mem_moves => mem_moves, read_error => read_error, inv_req => inv_req, inv_ack => inv_ack,
      inv_done => inv_done, fetch_clear => fetch_clear, flush => flush, instr_valid => instr_valid, instr => instr,
      take => take, ir => ir, check_start => check_start, quick => quick, decoded => decoded, checked => checked,
      check_fault => check_fault, empty => empty, addr_x => addr_x, over_code => over_code,
      product => mul_p(27 downto 0), ra => ra, rb => rb, n0 => n0, n1 => n1, n2 => n2, r_we => r_we, a_we => a_we,
      reg_value => reg_value, run_start => run_start, run_done => run_done, run_result => run_result,
      retire_valid => retired, retire_pc => retire_pc, retire_next_pc => retire_next_pc, retire_fault => retire_fault,
      retire_reg_kind => retire_reg_kind, retire_reg => retire_reg, retire_value => retire_value);

  retire_valid <= retired;
  retire_n0    <= n0;
  retire_n1    <= n1;
  retire_n2    <= n2;

  u_fetch : entity work.instr_fetch
    port map (
      clk => clock162, clear => fetch_clear, flush => flush, flush_pc => pc(27 downto 4), map_v => map_v, req => f_req,
      req_addr => f_addr, req_len => f_len, epoch => f_epoch, ack => f_ack, in_valid => f_valid, in_epoch => f_back,
      in_hyper => f_hyper, in_sdram => f_sdram, instr_valid => instr_valid, instr => instr, take => take);

  -- R15 is never written and stays 0.
  r_we_15 <= '1' when r_we = '1' and ir(11 downto 8) /= "1111" else '0';

  u_r : entity work.reg_file
    generic map (WIDTH => 32)
    port map (
      clk => clock162, we => r_we_15, waddr => ir(11 downto 8), wdata => reg_value, raddr0 => ir(11 downto 8),
      raddr1 => ir(19 downto 16), raddr2 => ir(19 downto 16), rdata0 => ra_c, rdata1 => rb_c, rdata2 => rc_c);
  u_a : entity work.reg_file
    generic map (WIDTH => 28)
    port map (
      clk => clock162, we => a_we, waddr => ir(11 downto 8), wdata => reg_value(27 downto 0),
      raddr0 => ir(59 downto 56), raddr1 => ir(91 downto 88), raddr2 => ir(123 downto 120), rdata0 => ax, rdata1 => ay,
      rdata2 => az);

  mul_a <= unsigned(rb(27 downto 0)) when ir(7 downto 0) = OP_LEA else check_a;
  mul_b <= unsigned(ir(123 downto 96)) when ir(7 downto 0) = OP_LEA else check_b;

  u_mul : entity work.multiplier28
    port map (clk => clock162, a => mul_a, b => mul_b, p => mul_p);

  u_check : entity work.operand_check
    port map (
      clk => clock162, clear => kill, start => check_start, ir => ir, pc => pc, ra => ra, ax => ax, ay => ay, az => az,
      n0 => n0, n1 => n1, map_v => map_v, mul_a => check_a, mul_b => check_b, mul_p => mul_p, quick => quick,
      decoded => decoded, done => checked, fault => check_fault, empty => empty, addr_x => addr_x, reads => op_reads,
      writes => op_writes, sdram => op_sdram, offset => op_offset, length => op_length, over_code => over_code);

  -- What the streams do for the instruction. B follows Y and belongs to LAYERNORM alone.
  process (clock162)
  begin
    if rising_edge(clock162) then
      go       <= run_start;
      d_writes <= op_writes(0) or op_writes(1) or op_writes(2);
      d_sdram  <= (op_writes(0) and op_sdram(0)) or (op_writes(1) and op_sdram(1)) or (op_writes(2) and op_sdram(2));
      if op_writes(0) = '1' then
        d_addr  <= op_offset(26 downto 1);
        d_words <= op_length(22 downto 1);
      elsif op_writes(1) = '1' then
        d_addr  <= op_offset(53 downto 28);
        d_words <= op_length(50 downto 29);
      else
        d_addr  <= op_offset(80 downto 55);
        d_words <= op_length(78 downto 57);
      end if;
      if ir(7 downto 0) = OP_COPY then
        v_n <= resize(unsigned(ir(111 downto 98)), 21);
      else
        v_n <= unsigned(n0(20 downto 0));
      end if;
      layernorm <= '0';
      x_half    <= '0';
      y_bytes   <= op_length(55 downto 28);
      bias_addr <= std_logic_vector(unsigned(op_offset(53 downto 27)) + unsigned(op_length(26 downto 0)));
      b_bytes   <= op_length(27 downto 0);
      b_sdram   <= op_sdram(1);
      gemv      <= '0';
      if ir(7 downto 0) = OP_GEMV then
        gemv      <= '1';
        bias_addr <= op_offset(80 downto 54);
        b_bytes   <= op_length(83 downto 56);
        b_sdram   <= op_sdram(2);
      end if;
      if ir(7 downto 0) = OP_LAYERNORM then
        layernorm <= '1';
        y_bytes   <= op_length(27 downto 0);
      end if;
      if (ir(7 downto 0) = OP_DEQROW or ir(7 downto 0) = OP_GEMV) and ir(15 downto 8) /= FMT_F32 then
        x_half <= '1';
      end if;
      w_f16 <= '0';
      if ir(7 downto 0) = OP_CVT16 or (ir(7 downto 0) = OP_GEMV and ir(16 + GEMV_F16) = '1') then
        w_f16 <= '1';
      end if;
      waits <= running and mem_busy and not mem_moves;
    end if;
  end process;

  r_start   <= (go and (layernorm or (gemv and ir(16 + GEMV_ACCUMULATE)))) & (go and op_reads(1)) & ((go and op_reads(0)) or x_again);
  r_sdram   <= b_sdram & op_sdram(1) & op_sdram(0);
  r_addr    <= bias_addr & op_offset(53 downto 0);
  r_bytes   <= b_bytes & y_bytes & op_length(27 downto 0);
  r_half    <= "00" & x_half;
  run_done  <= '1' when e_done = '1' and w_idle = '1' and r_idle = "111" else '0';
  mem_moves <= reads_c(0) or reads_c(1) or writes_c(0) or writes_c(1);
  latch     <= '1' when cmd_valid = '1' and cmd_addr = REG_COUNTER_LATCH and cmd_data(0) = '1' else '0';

  w_start <= l_start when load_may = '1' else (go and d_writes);
  w_sdram <= l_sdram when load_may = '1' else d_sdram;
  w_addr  <= l_addr when load_may = '1' else d_addr;
  w_words <= l_words when load_may = '1' else d_words;
  w_half  <= '1' when load_may = '1' or w_f16 = '1' else '0';
  w_valid <= l_valid when load_may = '1' else e_valid;
  w_data  <= x"0000" & l_data when load_may = '1' else e_data;
  w_be    <= l_be when load_may = '1' else "11";

  -- The sequencer that the instruction belongs to has the streams.
  g_start <= go and gemv;
  v_start <= go and not gemv;
  r_ready <= gb & gy & gx when gemv = '1' else vb & vy & vx;
  e_valid <= g_valid when gemv = '1' else v_valid;
  e_data  <= g_data when gemv = '1' else v_data;
  e_done  <= g_done when gemv = '1' else v_done;

  u_gemv : entity work.gemv_unit
    port map (
      clk => clock162, kill => kill, start => g_start, nibbles => ir(9), accumulate => ir(16 + GEMV_ACCUMULATE),
      half => ir(16 + GEMV_F16), columns => v_n(12 downto 0), rows => unsigned(n1(27 downto 0)), w_valid => r_valid(0),
      w_data => r_data(15 downto 0), w_ready => gx, x_valid => r_valid(1), x_data => r_data(63 downto 32),
      x_ready => gy, y_valid => r_valid(2), y_data => r_data(95 downto 64), y_ready => gb, out_valid => g_valid,
      out_data => g_data, out_ready => w_ready, done => g_done);

  u_vector : entity work.vector_unit
    port map (
      clk => clock162, kill => kill, start => v_start, op => ir(7 downto 0), format => ir(15 downto 8), n => v_n,
      pairs => unsigned(n1(8 downto 0)), eps => n2, value => ra, x_valid => r_valid(0), x_data => r_data(31 downto 0),
      x_ready => vx, x_idle => r_idle(0), x_again => x_again, y_valid => r_valid(1),
      y_data => r_data(63 downto 32), y_ready => vy, b_valid => r_valid(2), b_data => r_data(95 downto 64),
      b_ready => vb, w_valid => v_valid, w_data => v_data, w_ready => w_ready, done => v_done,
      result => run_result);

  u_memory : entity work.memory_side
    port map (
      clk => clock162, kill => kill, clear => clear, busy => mem_busy, read_error => read_error, reads => reads_c,
      writes => writes_c, f_req => f_req, f_addr => f_addr, f_len => f_len, f_epoch => f_epoch, f_ack => f_ack,
      f_valid => f_valid, f_back => f_back, f_hyper => f_hyper, f_sdram => f_sdram, r_start => r_start,
      r_sdram => r_sdram, r_addr => r_addr, r_bytes => r_bytes, r_half => r_half, r_idle => r_idle, r_valid => r_valid,
      r_data => r_data, r_ready => r_ready, w_start => w_start, w_sdram => w_sdram, w_addr => w_addr, w_words => w_words,
      w_half => w_half, w_valid => w_valid, w_data => w_data, w_be => w_be, w_ready => w_ready, w_idle => w_idle,
      inv_req => inv_req, inv_ack => inv_ack, inv_done => inv_done, cmd_valid => cmd_valid_v, cmd_ready => cmd_ready_v,
      cmd_op => cmd_op_v, cmd_addr => cmd_addr_v, cmd_len => cmd_len_v, rdata => rdata_v, rdata_valid => rdata_valid_v,
      wdata_req => wdata_req_v, wdata => wdata_v, wdata_be => wdata_be_v, cmd_done => cmd_done_v, error => error_v);

  u_counters : entity work.perf_counters
    port map (
      clk => clock162, clear => job_start, latch => latch, busy => running, retired => retired, reads => reads_c,
      writes => writes_c, waits => waits, latched => counters);

  cmd_ready_v   <= sd_cmd_ready & hr_cmd_ready;
  rdata_v       <= sd_rdata & hr_rdata;
  rdata_valid_v <= sd_rdata_valid & hr_rdata_valid;
  wdata_req_v   <= sd_wdata_req & hr_wdata_req;
  cmd_done_v    <= sd_cmd_done & hr_cmd_done;
  error_v       <= sd_error & hr_error;
  hr_cmd_valid  <= cmd_valid_v(0);
  sd_cmd_valid  <= cmd_valid_v(1);
  hr_cmd_op     <= cmd_op_v(1 downto 0);
  sd_cmd_op     <= cmd_op_v(3 downto 2);
  hr_cmd_addr   <= cmd_addr_v(26 downto 0);
  sd_cmd_addr   <= cmd_addr_v(53 downto 27);
  hr_cmd_len    <= cmd_len_v(8 downto 0);
  sd_cmd_len    <= cmd_len_v(17 downto 9);
  hr_wdata      <= wdata_v(15 downto 0);
  sd_wdata      <= wdata_v(31 downto 16);
  hr_wdata_be   <= wdata_be_v(1 downto 0);
  sd_wdata_be   <= wdata_be_v(3 downto 2);
end architecture;
