-- The load port: bytes of the CPU go through 1 KB of FIFO; what belongs to one 256-byte block is written as soon as the
-- pointer leaves the block, or at a commit.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_core_pkg.all;

entity load_port is
  port (
    clk       : in  std_logic;                                  -- clock162
    reset     : in  std_logic;                                  -- high active, synchronous
    map_v     : in  map_t;                                      -- address map
    cmd_valid : in  std_logic;                                  -- a register was written; four cycles or more apart
    cmd_addr  : in  std_logic_vector(4 downto 0);               -- the register; other than 14..18 are ignored
    cmd_data  : in  std_logic_vector(7 downto 0);               -- the byte
    may_write : in  std_logic;                                  -- the writer is ours, no job runs
    busy      : out std_logic;                                  -- something waits to be written, or is
    commits   : out std_logic_vector(3 downto 0);               -- commits done, modulo 16
    consumed  : out std_logic_vector(10 downto 0);              -- bytes written or dropped, modulo 2048
    error     : out std_logic;                                  -- data outside RAM, or without room; cleared by a commit
    -- Writer
    w_start   : out std_logic;                                  -- begins a run
    w_sdram   : out std_logic;                                  -- it goes to SDRAM
    w_addr    : out std_logic_vector(26 downto 1);              -- first word in its RAM
    w_words   : out std_logic_vector(21 downto 0);              -- words, 1..129
    w_valid   : out std_logic;                                  -- w_data is a word
    w_data    : out std_logic_vector(15 downto 0);              -- the word
    w_be      : out std_logic_vector(1 downto 0);               -- its bytes to write
    w_ready   : in  std_logic;                                  -- takes the word
    w_idle    : in  std_logic                                   -- everything is written
  );
end entity;

architecture rtl of load_port is
  type state_t is (IDLE_S, BEGIN_S, BYTES, GIVE, FINISH);
  signal state       : state_t                       := IDLE_S;
  signal pointer     : unsigned(27 downto 0)         := (others => '0');
  signal staged      : std_logic_vector(23 downto 0) := (others => '0');
  signal first       : unsigned(27 downto 0)         := (others => '0'); -- first byte of what is pending
  signal pending     : unsigned(8 downto 0)          := (others => '0'); -- bytes pending, in one block
  signal hyper, sd   : std_logic                     := '0';             -- the pointer is in that RAM
  signal in_fifo     : unsigned(10 downto 0)         := (others => '0'); -- bytes accepted and not yet written
  signal err         : std_logic                     := '0';
  signal commit_wait : unsigned(3 downto 0)          := (others => '0'); -- commits seen
  signal commits_r   : unsigned(3 downto 0)          := (others => '0');
  signal consumed_r  : unsigned(10 downto 0)         := (others => '0');
  signal push        : std_logic                     := '0';
  signal byte        : std_logic_vector(7 downto 0)  := (others => '0');
  signal pop         : std_logic;
  signal f_valid     : std_logic;
  signal f_data      : std_logic_vector(7 downto 0);
  signal d_push      : std_logic                     := '0';
  signal d_in        : std_logic_vector(37 downto 0) := (others => '0'); -- SDRAM, address, length
  signal d_pop       : std_logic;
  signal d_valid     : std_logic;
  signal d_out       : std_logic_vector(37 downto 0);
  signal base        : unsigned(6 downto 0)          := (others => '0');
  signal left        : unsigned(8 downto 0)          := (others => '0');
  signal high        : std_logic                     := '0';             -- the next byte is the upper one of its word
  signal word        : std_logic_vector(15 downto 0) := (others => '0');
  signal be          : std_logic_vector(1 downto 0)  := (others => '0');
begin
  busy     <= d_valid or d_push;
  commits  <= std_logic_vector(commits_r);
  consumed <= std_logic_vector(consumed_r);
  error    <= err;
  w_start  <= '1' when state = BEGIN_S else '0';
  w_sdram  <= d_out(37);
  w_words  <= std_logic_vector(resize((resize(unsigned(d_out(8 downto 0)), 10) + unsigned(d_out(9 downto 9)) + 1) srl 1, 22));
  w_addr   <= std_logic_vector(unsigned(d_out(35 downto 29)) - base) & d_out(28 downto 10);
  w_valid  <= '1' when state = GIVE else '0';
  w_data   <= word;
  w_be     <= be;
  pop      <= '1' when state = BYTES and f_valid = '1' else '0';
  d_pop    <= '1' when state = FINISH and w_idle = '1' else '0';

  u_bytes : entity work.fifo_sync
    generic map (WIDTH => 8, LOG_DEPTH => 10)
    port map (clk => clk, clear => reset, push => push, din => byte, pop => pop, valid => f_valid, dout => f_data);
  u_blocks : entity work.fifo_lut
    generic map (WIDTH => 38, LOG_DEPTH => 3)
    port map (clk => clk, clear => reset, push => d_push, din => d_in, pop => d_pop, valid => d_valid, room => open,
              dout => d_out);

  process (clk)
    variable n          : unsigned(10 downto 0);
    variable now_first  : unsigned(27 downto 0);
    variable now        : unsigned(8 downto 0);
    variable dropped    : boolean;
  begin
    if rising_edge(clk) then
      push    <= '0';
      d_push  <= '0';
      n       := in_fifo;
      dropped := false;
      hyper   <= mb_in_hyper(pointer(27 downto 20), map_v);
      sd      <= mb_in_sdram(pointer(27 downto 20), map_v) and not mb_in_hyper(pointer(27 downto 20), map_v);

      if cmd_valid = '1' then
        case cmd_addr is
          when "10100" => staged(7 downto 0)   <= cmd_data;
          when "10101" => staged(15 downto 8)  <= cmd_data;
          when "10110" => staged(23 downto 16) <= cmd_data;
          when REG_LOAD_COMMIT =>
            pointer     <= unsigned(cmd_data(3 downto 0)) & unsigned(staged);
            commit_wait <= commit_wait + 1;
            if cmd_data(BIT_LOAD_ERROR) = '1' then
              err <= '0';
            end if;
            if pending /= 0 then
              d_push  <= '1';
              d_in    <= sd & std_logic_vector(first) & std_logic_vector(pending);
              pending <= (others => '0');
            end if;
          when REG_LOAD_DATA =>
            now_first := first;
            now       := pending;
            if (hyper = '0' and sd = '0') or in_fifo(10) = '1' then
              err     <= '1';
              dropped := true;
            else
              push <= '1';
              byte <= cmd_data;
              n    := n + 1;
              now  := now + 1;
              if pending = 0 then
                now_first := pointer;
              end if;
            end if;
            first   <= now_first;
            pending <= now;
            pointer <= pointer + 1;
            -- Also without room: what is pending ends here, since the byte that follows does not follow in RAM.
            if now /= 0 and (dropped or pointer(7 downto 0) = x"FF") then
              d_push  <= '1';
              d_in    <= sd & std_logic_vector(now_first) & std_logic_vector(now);
              pending <= (others => '0');
            end if;
          when others => null;
        end case;
      end if;

      case state is
        when IDLE_S =>
          if d_out(37) = '1' then
            base <= unsigned(map_v(23 downto 17));
          else
            base <= unsigned(map_v(6 downto 0));
          end if;
          left <= unsigned(d_out(8 downto 0));
          high <= d_out(9);
          be   <= "00";
          if d_valid = '1' and may_write = '1' and w_idle = '1' then
            state <= BEGIN_S;
          elsif d_valid = '0' and d_push = '0' and cmd_valid = '0' then
            commits_r <= commit_wait;
          end if;
        when BEGIN_S =>
          state <= BYTES;
        when BYTES =>
          if f_valid = '1' then
            if high = '1' then
              word(15 downto 8) <= f_data;
              be(1)             <= '1';
            else
              word(7 downto 0) <= f_data;
              be(0)            <= '1';
            end if;
            high <= not high;
            left <= left - 1;
            if high = '1' or left = 1 then
              state <= GIVE;
            end if;
          end if;
        when GIVE =>
          if w_ready = '1' then
            be <= "00";
            if left = 0 then
              state <= FINISH;
            else
              state <= BYTES;
            end if;
          end if;
        when FINISH =>
          if w_idle = '1' then
            n          := n - unsigned(d_out(8 downto 0));
            state      <= IDLE_S;
          end if;
      end case;
      in_fifo <= n;
      if d_pop = '1' and dropped then
        consumed_r <= consumed_r + unsigned(d_out(8 downto 0)) + 1;
      elsif d_pop = '1' then
        consumed_r <= consumed_r + unsigned(d_out(8 downto 0));
      elsif dropped then
        consumed_r <= consumed_r + 1;
      end if;

      if reset = '1' then
        state       <= IDLE_S;
        pointer     <= (others => '0');
        staged      <= (others => '0');
        pending     <= (others => '0');
        in_fifo     <= (others => '0');
        err         <= '0';
        commit_wait <= (others => '0');
        commits_r   <= (others => '0');
        consumed_r  <= (others => '0');
        d_push      <= '0';
        push        <= '0';
      end if;
    end if;
  end process;
end architecture;
