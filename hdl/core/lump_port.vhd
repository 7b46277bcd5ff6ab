-- Master of one LUMP memory port: chooses among the requests of fetch, readers, writer and SYNC, and gives every word
-- that comes back to whom it belongs. It is never reset: what was asked for is always finished, and `busy` tells when.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity lump_port is
  port (
    clk         : in  std_logic;                                -- clock162
    -- Read requests: 0 instruction fetch, 1 reader X, 2 reader Y, 3 reader B
    rd_req      : in  std_logic_vector(3 downto 0);             -- request, held until rd_ack
    rd_addr     : in  std_logic_vector(107 downto 0);           -- 4 x byte address in this RAM, multiple of 8
    rd_len      : in  std_logic_vector(35 downto 0);            -- 4 x bytes, 8..256, multiple of 8
    rd_epoch    : in  std_logic;                                -- comes back with the words of request 0
    rd_ack      : out std_logic_vector(3 downto 0);             -- request was taken, one cycle
    rd_valid    : out std_logic_vector(3 downto 0);             -- rd_data is a word for this requester
    rd_data     : out std_logic_vector(15 downto 0);            -- the word, low byte = lower address
    rd_back     : out std_logic;                                -- rd_epoch of the request that the word answers
    -- Writes
    wr_req      : in  std_logic;                                -- request, held until wr_ack; its words are ready
    wr_addr     : in  std_logic_vector(26 downto 0);            -- byte address in this RAM, multiple of 8
    wr_len      : in  std_logic_vector(8 downto 0);             -- bytes, 8..256, multiple of 8
    wr_ack      : out std_logic;                                -- request was taken, one cycle
    wr_done     : out std_logic;                                -- one of the writes is done, one cycle
    wr_data     : in  std_logic_vector(15 downto 0);            -- next word to write
    wr_be       : in  std_logic_vector(1 downto 0);             -- its bytes to write
    wr_pop      : out std_logic;                                -- takes wr_data away
    -- SYNC
    inv_req     : in  std_logic;                                -- invalidate the CPU's caches, held until inv_ack
    inv_ack     : out std_logic;                                -- request was taken, one cycle
    inv_done    : out std_logic;                                -- caches are invalid, one cycle
    busy        : out std_logic;                                -- a command is waiting or under way
    read_error  : out std_logic;                                -- a read failed, one cycle
    -- The port
    cmd_valid   : out std_logic;                                -- LUMP command
    cmd_ready   : in  std_logic;                                -- LUMP command is taken
    cmd_op      : out std_logic_vector(1 downto 0);             -- 0 READ, 1 WRITE, 2 INVALIDATE
    cmd_addr    : out std_logic_vector(26 downto 0);            -- byte address, multiple of 8
    cmd_len     : out std_logic_vector(8 downto 0);             -- bytes, 8..256, multiple of 8
    rdata       : in  std_logic_vector(15 downto 0);            -- LUMP read word
    rdata_valid : in  std_logic;                                -- rdata is a word
    wdata_req   : in  std_logic;                                -- LUMP wants a word
    wdata       : out std_logic_vector(15 downto 0);            -- word to write
    wdata_be    : out std_logic_vector(1 downto 0);             -- its bytes to write
    cmd_done    : in  std_logic;                                -- a command is done, in order
    error       : in  std_logic                                 -- LUMP read error
  );
end entity;

architecture rtl of lump_port is
  signal valid_r   : std_logic                     := '0';
  signal op_r      : std_logic_vector(1 downto 0)  := (others => '0');
  signal addr_r    : std_logic_vector(26 downto 0) := (others => '0');
  signal len_r     : std_logic_vector(8 downto 0)  := (others => '0');
  signal ack_r     : std_logic_vector(5 downto 0)  := (others => '0'); -- SYNC, write, reads 3..0
  signal turn      : std_logic                     := '0';             -- B goes before Y
  signal word_r    : std_logic_vector(15 downto 0) := (others => '0');
  signal word_v    : std_logic                     := '0';
  signal seen      : unsigned(6 downto 0)          := (others => '0'); -- words of the first tag that have come
  signal done_r    : std_logic                     := '0';
  signal wdata_r   : std_logic_vector(15 downto 0) := (others => '0');
  signal be_r      : std_logic_vector(1 downto 0)  := (others => '0');
  signal rvalid_r  : std_logic_vector(3 downto 0)  := (others => '0');
  signal rdata_r   : std_logic_vector(15 downto 0) := (others => '0');
  signal back_r    : std_logic                     := '0';
  signal err_r     : std_logic                     := '0';

  signal push_tag, pop_tag, tag_valid, tag_room     : std_logic;
  signal push_done, done_valid, done_room           : std_logic;
  signal tag_in, tag                                : std_logic_vector(9 downto 0); -- epoch, requester, words - 1
  signal done_in, done_op                           : std_logic_vector(1 downto 0);
  signal last                                       : std_logic;
begin
  cmd_valid  <= valid_r;
  cmd_op     <= op_r;
  cmd_addr   <= addr_r;
  cmd_len    <= len_r;
  rd_ack     <= ack_r(3 downto 0);
  wr_ack     <= ack_r(4);
  inv_ack    <= ack_r(5);
  wdata      <= wdata_r;
  wdata_be   <= be_r;
  wr_pop     <= wdata_req;
  rd_valid   <= rvalid_r;
  rd_data    <= rdata_r;
  rd_back    <= back_r;
  read_error <= err_r;
  wr_done    <= '1' when done_r = '1' and done_op = "01" else '0';
  inv_done   <= '1' when done_r = '1' and done_op = "10" else '0';
  busy       <= valid_r or tag_valid or done_valid or word_v or rvalid_r(0) or rvalid_r(1) or rvalid_r(2) or rvalid_r(3)
                or ack_r(0) or ack_r(1) or ack_r(2) or ack_r(3) or ack_r(4) or ack_r(5);

  last    <= '1' when std_logic_vector(seen) = tag(6 downto 0) else '0';
  pop_tag <= word_v and last;

  u_tags : entity work.fifo_lut
    generic map (WIDTH => 10, LOG_DEPTH => 3)
    port map (clk => clk, clear => '0', push => push_tag, din => tag_in, pop => pop_tag, valid => tag_valid,
              room => tag_room, dout => tag);
  u_done : entity work.fifo_lut
    generic map (WIDTH => 2, LOG_DEPTH => 3)
    port map (clk => clk, clear => '0', push => push_done, din => done_in, pop => done_r, valid => done_valid,
              room => done_room, dout => done_op);

  -- Tags are pushed one cycle after the choice, together with cmd_valid, so that no answer can come before its tag.
  process (clk)
    variable pick : integer range 0 to 6;
    variable len  : std_logic_vector(8 downto 0);
    variable id   : std_logic_vector(1 downto 0);
  begin
    if rising_edge(clk) then
      ack_r     <= (others => '0');
      push_tag  <= '0';
      push_done <= '0';
      done_r    <= cmd_done;
      err_r     <= error;
      if cmd_ready = '1' then
        valid_r <= '0';
      end if;

      pick := 6;
      if inv_req = '1' then
        pick := 5;
      elsif wr_req = '1' then
        pick := 4;
      elsif rd_req(0) = '1' then
        pick := 0;
      elsif rd_req(1) = '1' then
        -- X first: it paces the sums of the norms, while what the others read ahead can wait.
        pick := 1;
      elsif rd_req(2) = '1' and (turn = '0' or rd_req(3) = '0') then
        pick := 2;
      elsif rd_req(3) = '1' then
        pick := 3;
      end if;

      -- A requester drops its request in the cycle after the acknowledge: one choice in two cycles.
      if valid_r = '0' and ack_r = "000000" and tag_room = '1' and done_room = '1' and pick /= 6 then
        valid_r   <= '1';
        push_done <= '1';
        op_r      <= "00";
        len       := (others => '0');
        id        := "00";
        case pick is
          when 0 =>
            addr_r <= rd_addr(26 downto 0);
            len    := rd_len(8 downto 0);
          when 1 =>
            addr_r <= rd_addr(53 downto 27);
            len    := rd_len(17 downto 9);
            id     := "01";
          when 2 =>
            addr_r <= rd_addr(80 downto 54);
            len    := rd_len(26 downto 18);
            id     := "10";
            turn   <= '1';
          when 3 =>
            addr_r <= rd_addr(107 downto 81);
            len    := rd_len(35 downto 27);
            id     := "11";
            turn   <= '0';
          when 4 =>
            addr_r <= wr_addr;
            len    := wr_len;
            op_r   <= "01";
          when others =>
            addr_r <= (others => '0');
            len    := "000001000";
            op_r   <= "10";
        end case;
        len_r <= len;
        for k in 0 to 5 loop
          if pick = k then
            ack_r(k) <= '1';
          end if;
        end loop;
        if pick < 4 then
          push_tag <= '1';
        end if;
        if pick = 4 then
          done_in <= "01";
        elsif pick = 5 then
          done_in <= "10";
        else
          done_in <= "00";
        end if;
        tag_in <= rd_epoch & id & std_logic_vector(unsigned(len(7 downto 1)) - 1);
      end if;

      word_r <= rdata;
      word_v <= rdata_valid;
      rvalid_r <= (others => '0');
      if word_v = '1' then
        if last = '1' then
          seen <= (others => '0');
        else
          seen <= seen + 1;
        end if;
        for k in 0 to 3 loop
          if unsigned(tag(8 downto 7)) = to_unsigned(k, 2) then
            rvalid_r(k) <= '1';
          end if;
        end loop;
      end if;
      rdata_r <= word_r;
      back_r  <= tag(9);

      if wdata_req = '1' then
        wdata_r <= wr_data;
        be_r    <= wr_be;
      end if;
    end if;
  end process;
end architecture;
