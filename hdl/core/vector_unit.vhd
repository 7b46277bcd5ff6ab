-- What an instruction with memory operands does with its elements: takes them from the readers and gives results to the
-- writer, or a value for a register.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;

entity vector_unit is
  port (
    clk     : in  std_logic;                                    -- clock162
    kill    : in  std_logic;                                    -- back to idle
    start   : in  std_logic;                                    -- begins an instruction; the inputs below stay until done
    op      : in  std_logic_vector(7 downto 0);                 -- opcode
    n       : in  unsigned(20 downto 0);                        -- elements, 1..2^20
    value   : in  std_logic_vector(31 downto 0);                -- what STR stores
    x_valid : in  std_logic;                                    -- element of X
    x_data  : in  std_logic_vector(31 downto 0);                -- element of X
    x_ready : out std_logic;                                    -- takes it
    y_ready : out std_logic;                                    -- takes an element of Y
    b_ready : out std_logic;                                    -- takes an element of B
    w_valid : out std_logic;                                    -- element to write
    w_data  : out std_logic_vector(31 downto 0);                -- element to write
    w_ready : in  std_logic;                                    -- the writer takes it
    done    : out std_logic;                                    -- all elements are taken and given; until the next start
    result  : out std_logic_vector(31 downto 0)                 -- value for the register
  );
end entity;

architecture rtl of vector_unit is
  type mode_t is (IDLE_S, PASS, LOAD, STORE);
  signal mode   : mode_t                        := IDLE_S;
  signal left   : unsigned(20 downto 0)         := (others => '0');
  signal res    : std_logic_vector(31 downto 0) := (others => '0');
  signal done_r : std_logic                     := '0';
begin
  done    <= done_r;
  result  <= res;
  y_ready <= '0';
  b_ready <= '0';
  x_ready <= '1' when mode = LOAD or (mode = PASS and w_ready = '1') else '0';
  w_valid <= '1' when mode = STORE or (mode = PASS and x_valid = '1') else '0';
  w_data  <= value when mode = STORE else x_data;

  process (clk)
  begin
    if rising_edge(clk) then
      case mode is
        when IDLE_S =>
          null;
        when PASS =>
          if x_valid = '1' and w_ready = '1' then
            left <= left - 1;
            if left = 1 then
              mode   <= IDLE_S;
              done_r <= '1';
            end if;
          end if;
        when LOAD =>
          if x_valid = '1' then
            res    <= x_data;
            mode   <= IDLE_S;
            done_r <= '1';
          end if;
        when STORE =>
          if w_ready = '1' then
            mode   <= IDLE_S;
            done_r <= '1';
          end if;
      end case;
      if start = '1' then
        left   <= n;
        done_r <= '0';
        if op = OP_LDR then
          mode <= LOAD;
        elsif op = OP_STR then
          mode <= STORE;
        else
          mode <= PASS;
        end if;
      end if;
      if kill = '1' then
        mode   <= IDLE_S;
        done_r <= '0';
      end if;
    end if;
  end process;
end architecture;
