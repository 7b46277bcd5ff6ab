-- Everything between the operand streams and both memory ports: three readers, the writer, and the masters.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity memory_side is
  port (
    clk         : in  std_logic;                                -- clock162
    kill        : in  std_logic;                                -- readers drop everything, the writer asks for nothing more
    clear       : in  std_logic;                                -- the writer drops what is left; only when not busy
    busy        : out std_logic;                                -- a command is waiting or under way
    read_error  : out std_logic;                                -- a read failed
    reads       : out std_logic_vector(1 downto 0);             -- a word came from HyperRAM (0), SDRAM (1)
    writes      : out std_logic_vector(1 downto 0);             -- a word went there
    -- Instruction fetch
    f_req       : in  std_logic_vector(1 downto 0);             -- request, to HyperRAM (0) or SDRAM (1)
    f_addr      : in  std_logic_vector(26 downto 0);            -- byte address in that RAM
    f_len       : in  std_logic_vector(8 downto 0);             -- bytes
    f_epoch     : in  std_logic;                                -- comes back with the words
    f_ack       : out std_logic_vector(1 downto 0);             -- request was taken
    f_valid     : out std_logic_vector(1 downto 0);             -- word for fetch
    f_back      : out std_logic_vector(1 downto 0);             -- epoch of the word
    f_hyper     : out std_logic_vector(15 downto 0);            -- word from HyperRAM
    f_sdram     : out std_logic_vector(15 downto 0);            -- word from SDRAM
    -- Readers X (0), Y (1), B (2)
    r_start     : in  std_logic_vector(2 downto 0);             -- begins a run
    r_sdram     : in  std_logic_vector(2 downto 0);             -- it lies in SDRAM
    r_addr      : in  std_logic_vector(80 downto 0);            -- 3 x first byte in its RAM
    r_bytes     : in  std_logic_vector(83 downto 0);            -- 3 x length
    r_half      : in  std_logic_vector(2 downto 0);             -- elements of 16 bits
    r_idle      : out std_logic_vector(2 downto 0);             -- nothing more will come
    r_valid     : out std_logic_vector(2 downto 0);             -- element
    r_data      : out std_logic_vector(95 downto 0);            -- 3 x element
    r_ready     : in  std_logic_vector(2 downto 0);             -- takes the element
    -- Writer
    w_start     : in  std_logic;                                -- begins a run
    w_sdram     : in  std_logic;                                -- it lies in SDRAM
    w_addr      : in  std_logic_vector(26 downto 1);            -- first word in its RAM
    w_words     : in  std_logic_vector(21 downto 0);            -- 16-bit words
    w_half      : in  std_logic;                                -- elements of 16 bits
    w_valid     : in  std_logic;                                -- element
    w_data      : in  std_logic_vector(31 downto 0);            -- element
    w_be        : in  std_logic_vector(1 downto 0);             -- bytes to write of each word
    w_ready     : out std_logic;                                -- takes the element
    w_idle      : out std_logic;                                -- everything is written
    -- SYNC
    inv_req     : in  std_logic_vector(1 downto 0);             -- invalidate, HyperRAM (0), SDRAM (1)
    inv_ack     : out std_logic_vector(1 downto 0);             -- taken
    inv_done    : out std_logic_vector(1 downto 0);             -- done
    -- LUMP ports, HyperRAM in the low part of each vector, SDRAM in the high part
    cmd_valid   : out std_logic_vector(1 downto 0);             -- LUMP
    cmd_ready   : in  std_logic_vector(1 downto 0);             -- LUMP
    cmd_op      : out std_logic_vector(3 downto 0);             -- LUMP
    cmd_addr    : out std_logic_vector(53 downto 0);            -- LUMP
    cmd_len     : out std_logic_vector(17 downto 0);            -- LUMP
    rdata       : in  std_logic_vector(31 downto 0);            -- LUMP
    rdata_valid : in  std_logic_vector(1 downto 0);             -- LUMP
    wdata_req   : in  std_logic_vector(1 downto 0);             -- LUMP
    wdata       : out std_logic_vector(31 downto 0);            -- LUMP
    wdata_be    : out std_logic_vector(3 downto 0);             -- LUMP
    cmd_done    : in  std_logic_vector(1 downto 0);             -- LUMP
    error       : in  std_logic_vector(1 downto 0)              -- LUMP
  );
end entity;

architecture rtl of memory_side is
  -- Gain and bias of LAYERNORM are read ahead while the sums are made: 2,048 elements each.
  function reader_depth(k : natural) return positive is
  begin
    if k = 0 then
      return 11;
    end if;
    return 12;
  end function;

  signal rd_req, rd_ack, rd_valid : std_logic_vector(7 downto 0);  -- 2 ports x 4 requesters
  signal rd_addr                  : std_logic_vector(107 downto 0);
  signal rd_len                   : std_logic_vector(35 downto 0);
  signal rd_data                  : std_logic_vector(31 downto 0);
  signal q_req, q_ack, q_valid    : std_logic_vector(2 downto 0);
  signal q_addr                   : std_logic_vector(80 downto 0);
  signal q_len                    : std_logic_vector(26 downto 0);
  signal q_data                   : std_logic_vector(47 downto 0);
  signal sel                      : std_logic_vector(2 downto 0) := "000";
  signal w_sel                    : std_logic                    := '0';
  signal w_req, w_ack, w_done     : std_logic;
  signal w_pop                    : std_logic;
  signal wr_req, wr_ack, wr_done  : std_logic_vector(1 downto 0);
  signal wr_pop                   : std_logic_vector(1 downto 0);
  signal wq_addr                  : std_logic_vector(26 downto 0);
  signal wq_len                   : std_logic_vector(8 downto 0);
  signal wq_data                  : std_logic_vector(15 downto 0);
  signal wq_be                    : std_logic_vector(1 downto 0);
  signal busy_p, err_p            : std_logic_vector(1 downto 0);
begin
  busy       <= busy_p(0) or busy_p(1);
  read_error <= err_p(0) or err_p(1);
  reads      <= rdata_valid;
  writes     <= wdata_req;
  f_ack      <= rd_ack(4) & rd_ack(0);
  f_valid    <= rd_valid(4) & rd_valid(0);
  f_hyper    <= rd_data(15 downto 0);
  f_sdram    <= rd_data(31 downto 16);
  rd_addr    <= q_addr & f_addr;
  rd_len     <= q_len & f_len;
  rd_req     <= (q_req(2) and sel(2)) & (q_req(1) and sel(1)) & (q_req(0) and sel(0)) & f_req(1)
                & (q_req(2) and not sel(2)) & (q_req(1) and not sel(1)) & (q_req(0) and not sel(0)) & f_req(0);
  wr_req     <= (w_req and w_sel) & (w_req and not w_sel);
  w_ack      <= wr_ack(0) or wr_ack(1);
  w_done     <= wr_done(0) or wr_done(1);
  w_pop      <= wr_pop(0) or wr_pop(1);

  -- A stream stays with its RAM from one start to the next.
  process (clk)
  begin
    if rising_edge(clk) then
      for k in 0 to 2 loop
        if r_start(k) = '1' then
          sel(k) <= r_sdram(k);
        end if;
      end loop;
      if w_start = '1' then
        w_sel <= w_sdram;
      end if;
    end if;
  end process;

  readers : for k in 0 to 2 generate
    q_ack(k)   <= rd_ack(k + 1) or rd_ack(k + 5);
    q_valid(k) <= rd_valid(k + 1) or rd_valid(k + 5);
    q_data(16 * k + 15 downto 16 * k) <= rd_data(31 downto 16) when sel(k) = '1' else rd_data(15 downto 0);

    u_reader : entity work.stream_reader
      generic map (LOG_DEPTH => reader_depth(k))
      port map (
        clk => clk, clear => kill, start => r_start(k), addr => r_addr(27 * k + 26 downto 27 * k),
        bytes => r_bytes(28 * k + 27 downto 28 * k), half => r_half(k), idle => r_idle(k),
        req => q_req(k), req_addr => q_addr(27 * k + 26 downto 27 * k), req_len => q_len(9 * k + 8 downto 9 * k),
        ack => q_ack(k), in_valid => q_valid(k), in_data => q_data(16 * k + 15 downto 16 * k),
        valid => r_valid(k), data => r_data(32 * k + 31 downto 32 * k), ready => r_ready(k));
  end generate;

  u_writer : entity work.stream_writer
    port map (
      clk => clk, kill => kill, clear => clear, start => w_start, addr => w_addr, words => w_words, half => w_half,
      valid => w_valid, data => w_data, be => w_be, ready => w_ready, idle => w_idle,
      req => w_req, req_addr => wq_addr, req_len => wq_len, ack => w_ack, done => w_done,
      out_data => wq_data, out_be => wq_be, out_pop => w_pop);

  ports : for p in 0 to 1 generate
    u_port : entity work.lump_port
      port map (
        clk => clk, rd_req => rd_req(4 * p + 3 downto 4 * p), rd_addr => rd_addr, rd_len => rd_len,
        rd_epoch => f_epoch, rd_ack => rd_ack(4 * p + 3 downto 4 * p), rd_valid => rd_valid(4 * p + 3 downto 4 * p),
        rd_data => rd_data(16 * p + 15 downto 16 * p), rd_back => f_back(p),
        wr_req => wr_req(p), wr_addr => wq_addr, wr_len => wq_len, wr_ack => wr_ack(p), wr_done => wr_done(p),
        wr_data => wq_data, wr_be => wq_be, wr_pop => wr_pop(p),
        inv_req => inv_req(p), inv_ack => inv_ack(p), inv_done => inv_done(p), busy => busy_p(p),
        read_error => err_p(p),
        cmd_valid => cmd_valid(p), cmd_ready => cmd_ready(p), cmd_op => cmd_op(2 * p + 1 downto 2 * p),
        cmd_addr => cmd_addr(27 * p + 26 downto 27 * p), cmd_len => cmd_len(9 * p + 8 downto 9 * p),
        rdata => rdata(16 * p + 15 downto 16 * p), rdata_valid => rdata_valid(p), wdata_req => wdata_req(p),
        wdata => wdata(16 * p + 15 downto 16 * p), wdata_be => wdata_be(2 * p + 1 downto 2 * p),
        cmd_done => cmd_done(p), error => error(p));
  end generate;
end architecture;
