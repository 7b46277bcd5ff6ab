-- Single precision square root, nearest even, every NaN canonical. One operation at a time, a root bit a cycle.
--
-- FP_SQRT_CYCLES from the edge that takes the operand to the result, and a cycle more for each leading zero of a
-- subnormal. A root is never subnormal, nor half way between two singles.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity fp_sqrt is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- drops what is under way
    in_valid  : in  std_logic;  -- a is there; taken on an edge with in_ready
    in_ready  : out std_logic;  -- idle
    a         : in  f32_t;      -- any single
    out_valid : out std_logic;  -- one cycle for each operation
    y         : out f32_t       -- square root of a, nearest even; stays until the next result
  );
end entity;

architecture rtl of fp_sqrt is

  type state_t is (IDLE, NORMALISE, ITERATE, ROUND);
  type special_t is (NUMBER, NOT_A_NUMBER, INFINITE, NOTHING);

  signal state     : state_t := IDLE;
  signal special   : special_t;
  signal sign      : std_logic;
  signal exp       : signed(8 downto 0);     -- of a, biased, -22..254
  signal man       : unsigned(23 downto 0);
  signal radicand  : unsigned(25 downto 0);  -- two bits a step from the top; zeros follow
  signal remainder : unsigned(26 downto 0);
  signal root      : unsigned(24 downto 0);  -- 24 bits and guard
  signal step      : unsigned(4 downto 0);   -- 0..24
  signal done      : std_logic := '0';

begin

  in_ready <= '1' when state = IDLE else '0';
  out_valid <= done;

  process (clk)
    variable p      : fp_parts_t;
    variable larger : unsigned(28 downto 0);
    variable rest   : unsigned(28 downto 0);
    variable half   : signed(8 downto 0);
    variable field  : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      done <= '0';
      case state is

        when IDLE =>
          p := unpack(a);
          sign <= p.sign;
          exp <= signed(resize(p.exp, 9));
          man <= p.man;
          if p.is_nan = '1' or (p.sign = '1' and p.is_zero = '0') then
            special <= NOT_A_NUMBER;
          elsif p.is_inf = '1' then
            special <= INFINITE;
          elsif p.is_zero = '1' then
            special <= NOTHING;
          else
            special <= NUMBER;
          end if;
          if in_valid = '1' then
            state <= NORMALISE;
          end if;

        when NORMALISE =>
          -- The exponent without bias is odd where the biased one is even.
          if exp(0) = '0' then
            radicand <= man & "00";
          else
            radicand <= '0' & man & '0';
          end if;
          remainder <= (others => '0');
          root <= (others => '0');
          step <= (others => '0');
          if special /= NUMBER then
            state <= ROUND;
          elsif man(23) = '0' then
            man <= shift_left(man, 1);
            exp <= exp - 1;
          else
            state <= ITERATE;
          end if;

        when ITERATE =>
          larger := remainder & radicand(25 downto 24);
          rest := larger - ("00" & root & "01");
          if rest(28) = '0' then
            remainder <= rest(26 downto 0);
          else
            remainder <= larger(26 downto 0);
          end if;
          root <= root(23 downto 0) & not rest(28);
          radicand <= shift_left(radicand, 2);
          step <= step + 1;
          if step = 24 then
            state <= ROUND;
          end if;

        when ROUND =>
          -- (exp - 127) / 2 + 127, less one for the hidden bit
          half := shift_right(exp - to_signed(127, 9), 1) + to_signed(126, 9);
          field := ((unsigned(half(7 downto 0)) & "000" & x"00000") + root(24 downto 1)) + ("" & root(0));
          case special is
            when NOT_A_NUMBER => y <= F32_NAN;
            when INFINITE => y <= infinity(sign);
            when NOTHING => y <= zero(sign);
            when NUMBER => y <= '0' & std_logic_vector(field);
          end case;
          done <= '1';
          state <= IDLE;

      end case;
      if reset = '1' then
        state <= IDLE;
        done <= '0';
      end if;
    end if;
  end process;

end architecture;
