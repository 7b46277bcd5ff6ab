-- Weights of Q8_0 and Q4_0 blocks as integers in their order: a scale, then 32 bytes, or 16 bytes whose low nibbles come
-- first and whose high nibbles follow.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity block_unpack is
  port (
    clk       : in  std_logic;                                  -- clock162
    clear     : in  std_logic;                                  -- begins at the scale of a block
    nibbles   : in  std_logic;                                  -- Q4_0, else Q8_0; stays while blocks come
    in_valid  : in  std_logic;                                  -- in_data is a word
    in_data   : in  std_logic_vector(15 downto 0);              -- word, low byte first
    in_ready  : out std_logic;                                  -- takes it
    out_valid : out std_logic;                                  -- out_data is a weight
    out_data  : out std_logic_vector(31 downto 0);              -- -128..127, Q4_0 -8..7, two's complement
    out_ready : in  std_logic;                                  -- takes it
    scale     : out std_logic_vector(15 downto 0)               -- F16; still for 7 cycles before and after its weights
  );
end entity;

architecture rtl of block_unpack is
  -- nibble - 8 in 32 bits.
  function less_eight(nibble : std_logic_vector(3 downto 0)) return std_logic_vector is
    variable r : std_logic_vector(31 downto 0) := (others => not nibble(3));
  begin
    r(2 downto 0) := nibble(2 downto 0);
    return r;
  end function;

  constant STILL : natural := 7; -- cycles that a scale stands before and after its weights

  type state_t is (SCALE_S, SETTLE, BYTES, HIGHS, PASS);
  signal state   : state_t                        := SCALE_S;
  signal scale_r : std_logic_vector(15 downto 0)  := (others => '0');
  signal count   : unsigned(4 downto 0)           := (others => '0'); -- words, weights or cycles left in this state
  signal upper   : std_logic                      := '0';             -- the upper byte of the word is next
  signal kept    : std_logic_vector(127 downto 0) := (others => '0'); -- Q4_0: the block's bytes, the next one low
  signal byte    : std_logic_vector(7 downto 0);
begin
  scale <= scale_r;
  byte  <= in_data(15 downto 8) when upper = '1' else in_data(7 downto 0);

  in_ready  <= '1' when state = SCALE_S or (state = BYTES and upper = '1' and out_ready = '1') else '0';
  out_valid <= '1' when state = HIGHS or (state = BYTES and in_valid = '1') else '0';
  out_data  <= less_eight(kept(7 downto 4)) when state = HIGHS else
               less_eight(byte(3 downto 0)) when nibbles = '1' else
               (31 downto 8 => byte(7)) & byte;

  process (clk)
  begin
    if rising_edge(clk) then
      case state is
        when SCALE_S =>
          upper <= '0';
          if in_valid = '1' then
            scale_r <= in_data;
            count   <= to_unsigned(STILL, 5);
            state   <= SETTLE;
          end if;
        when SETTLE =>
          count <= count - 1;
          if count = 0 then
            count <= to_unsigned(16, 5);
            if nibbles = '1' then
              count <= to_unsigned(8, 5);
            end if;
            state <= BYTES;
          end if;
        when BYTES =>
          if in_valid = '1' and out_ready = '1' then
            upper <= not upper;
            if upper = '1' then
              kept  <= in_data & kept(127 downto 16);
              count <= count - 1;
              if count = 1 then
                count <= to_unsigned(STILL, 5);
                state <= PASS;
                if nibbles = '1' then
                  count <= to_unsigned(16, 5);
                  state <= HIGHS;
                end if;
              end if;
            end if;
          end if;
        when HIGHS =>
          if out_ready = '1' then
            kept  <= kept(7 downto 0) & kept(127 downto 8);
            count <= count - 1;
            if count = 1 then
              count <= to_unsigned(STILL, 5);
              state <= PASS;
            end if;
          end if;
        when PASS =>
          count <= count - 1;
          if count = 0 then
            state <= SCALE_S;
          end if;
      end case;
      if clear = '1' then
        state <= SCALE_S;
        upper <= '0';
      end if;
    end if;
  end process;
end architecture;
