-- Instruction fetch with prefetch: asks for up to 128 bytes at a time ahead of PC and puts words together to
-- instructions. A flush starts anew at any PC at once; words of before come with the other epoch and are dropped.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_core_pkg.all;

entity instr_fetch is
  port (
    clk         : in  std_logic;                                -- clock162
    clear       : in  std_logic;                                -- stops and drops everything until the next flush
    flush       : in  std_logic;                                -- starts fetching at flush_pc
    flush_pc    : in  unsigned(27 downto 4);                    -- address / 16 of the instruction wanted next
    map_v       : in  map_t;                                    -- address map
    req         : out std_logic_vector(1 downto 0);             -- wants a burst of HyperRAM (0) or SDRAM (1)
    req_addr    : out std_logic_vector(26 downto 0);            -- its byte address in that RAM, multiple of 16
    req_len     : out std_logic_vector(8 downto 0);             -- its bytes, 16..128
    epoch       : out std_logic;                                -- goes with the request and comes back with its words
    ack         : in  std_logic_vector(1 downto 0);             -- the burst is asked for
    in_valid    : in  std_logic_vector(1 downto 0);             -- a word from HyperRAM (0), SDRAM (1)
    in_epoch    : in  std_logic_vector(1 downto 0);             -- epochs of the words
    in_hyper    : in  std_logic_vector(15 downto 0);            -- word from HyperRAM
    in_sdram    : in  std_logic_vector(15 downto 0);            -- word from SDRAM
    instr_valid : out std_logic;                                -- instr is the next instruction
    instr       : out std_logic_vector(127 downto 0);           -- instruction word, byte 0 in bits 7..0
    take        : in  std_logic                                 -- takes the instruction
  );
end entity;

architecture rtl of instr_fetch is
  type state_t is (STOP, SWITCH, LOOK, ROOM, ASK);
  signal state      : state_t                        := STOP;
  signal at         : unsigned(27 downto 4)          := (others => '0');
  signal hit        : std_logic_vector(1 downto 0)   := "00";
  signal offset     : unsigned(26 downto 20)         := (others => '0');
  signal port_sel   : std_logic                      := '0'; -- RAM of what is outstanding
  signal count      : unsigned(3 downto 0)           := (others => '0'); -- instructions of the burst
  signal free       : unsigned(8 downto 0)           := (others => '0'); -- words of room
  signal epoch_r    : std_logic                      := '0';
  signal due0, due1 : unsigned(9 downto 0)           := (others => '0'); -- words to come of each epoch
  signal push       : std_logic                      := '0';
  signal word       : std_logic_vector(15 downto 0)  := (others => '0');
  signal restart    : std_logic;
  signal f_valid    : std_logic;
  signal f_data     : std_logic_vector(15 downto 0);
  signal pop        : std_logic;
  signal asm        : std_logic_vector(127 downto 0) := (others => '0');
  signal have       : unsigned(3 downto 0)           := (others => '0'); -- words in asm
  signal full       : std_logic                      := '0';             -- have = 8
  signal move       : std_logic;
  signal out_v      : std_logic                      := '0';
  signal out_i      : std_logic_vector(127 downto 0) := (others => '0');
begin
  restart     <= clear or flush;
  req         <= hit when state = ASK and ack = "00" else "00";
  req_addr    <= std_logic_vector(offset & at(19 downto 4)) & "0000";
  req_len     <= "0" & std_logic_vector(count) & "0000";
  epoch       <= epoch_r;
  instr_valid <= out_v;
  instr       <= out_i;
  move        <= full and (take or not out_v);
  pop         <= f_valid and (move or not full);

  u_fifo : entity work.fifo_sync
    generic map (WIDTH => 16, LOG_DEPTH => 8)
    port map (clk => clk, clear => restart, push => push, din => word, pop => pop, valid => f_valid, dout => f_data);

  process (clk)
    variable f        : unsigned(8 downto 0);
    variable d0, d1   : unsigned(9 downto 0);
    variable others_due, own_due : boolean;
  begin
    if rising_edge(clk) then
      f  := free;
      d0 := due0;
      d1 := due1;
      push <= '0';
      for k in 0 to 1 loop
        if in_valid(k) = '1' then
          if in_epoch(k) = '0' then
            d0 := d0 - 1;
          else
            d1 := d1 - 1;
          end if;
          if in_epoch(k) = epoch_r and state /= SWITCH then
            push <= '1';
          end if;
        end if;
      end loop;
      if in_valid(0) = '1' and in_epoch(0) = epoch_r then
        word <= in_hyper;
      else
        word <= in_sdram;
      end if;
      if move = '1' then
        f := f + 8;
      end if;

      if epoch_r = '0' then
        own_due := due0 /= 0;
      else
        own_due := due1 /= 0;
      end if;
      others_due := own_due and port_sel /= hit(1);

      case state is
        when STOP =>
          null;
        when SWITCH =>
          -- Words of the epoch to come must be gone before it is used again.
          if (epoch_r = '0' and due1 = 0) or (epoch_r = '1' and due0 = 0) then
            epoch_r <= not epoch_r;
            state   <= LOOK;
          end if;
        when LOOK =>
          hit(0) <= mb_in_hyper(at(27 downto 20), map_v);
          hit(1) <= mb_in_sdram(at(27 downto 20), map_v) and not mb_in_hyper(at(27 downto 20), map_v);
          count  <= to_unsigned(8, 4) - ('0' & at(6 downto 4));
          state  <= ROOM;
        when ROOM =>
          -- Beyond a region there is nothing to fetch, unless a jump leads elsewhere.
          if hit(0) = '1' then
            offset <= at(26 downto 20) - unsigned(map_v(6 downto 0));
          else
            offset <= at(26 downto 20) - unsigned(map_v(23 downto 17));
          end if;
          if hit = "00" then
            state <= STOP;
          elsif free >= 64 and not others_due then
            state <= ASK;
          end if;
        when ASK =>
          if ack /= "00" then
            f        := f - (count & "000");
            at       <= at + count;
            port_sel <= hit(1);
            state    <= LOOK;
          end if;
      end case;
      -- An answer can come in the cycle after a flush.
      if ack /= "00" then
        if epoch_r = '0' then
          d0 := d0 + (count & "000");
        else
          d1 := d1 + (count & "000");
        end if;
      end if;
      free <= f;
      due0 <= d0;
      due1 <= d1;

      if take = '1' then
        out_v <= '0';
      end if;
      if move = '1' then
        out_v <= '1';
        out_i <= asm;
        have  <= (others => '0');
        full  <= '0';
      end if;
      if pop = '1' then
        asm <= f_data & asm(127 downto 16);
        if move = '1' then
          have <= to_unsigned(1, 4);
        else
          have <= have + 1;
        end if;
        if have = 7 then
          full <= '1';
        end if;
      end if;

      if restart = '1' then
        push  <= '0';
        out_v <= '0';
        have  <= (others => '0');
        full  <= '0';
        state <= STOP;
        free  <= to_unsigned(256, 9);
      end if;
      if flush = '1' then
        at    <= flush_pc;
        state <= SWITCH;
      end if;
    end if;
  end process;
end architecture;
