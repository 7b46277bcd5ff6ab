-- Single precision quotient, nearest even, subnormals kept, every NaN canonical. One operation at a time.
--
-- Two quotient bits a cycle: the remainder is compared with 1, 2 and 3 times the divisor at once. Numbers that are not
-- subnormal take FP_DIV_CYCLES from the edge that takes the operands to the result; a subnormal operand or result takes
-- a cycle more for each place that it is shifted, 71 at the most.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity fp_div is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- drops what is under way
    in_valid  : in  std_logic;  -- a, b are there; taken on an edge with in_ready
    in_ready  : out std_logic;  -- idle
    a         : in  f32_t;      -- any single
    b         : in  f32_t;      -- any single
    out_valid : out std_logic;  -- one cycle for each operation
    y         : out f32_t       -- a / b, nearest even; stays until the next result
  );
end entity;

architecture rtl of fp_div is

  type state_t is (IDLE, NORMALISE, DIVIDE, ADJUST, ROUND);
  type special_t is (NUMBER, NOT_A_NUMBER, INFINITE, NOTHING);

  signal state     : state_t := IDLE;
  signal special   : special_t;
  signal sign      : std_logic;
  signal exp       : signed(9 downto 0);      -- of the result if the quotient is 1 or more, biased after the first step
  signal man_a     : unsigned(23 downto 0);
  signal divisor   : unsigned(23 downto 0);
  signal triple    : unsigned(25 downto 0);   -- 3 * divisor
  signal remainder : unsigned(25 downto 0);   -- times the step's 4: below 4 * divisor
  signal quotient  : unsigned(25 downto 0);
  signal sticky    : std_logic;               -- what is below the quotient's last bit
  signal step      : unsigned(3 downto 0);    -- 0..12
  signal done      : std_logic := '0';

begin

  in_ready <= '1' when state = IDLE else '0';
  out_valid <= done;

  process (clk)
    variable pa, pb : fp_parts_t;
    variable less1, less2, less3 : unsigned(26 downto 0);
    variable rest  : unsigned(25 downto 0);
    variable digit : unsigned(1 downto 0);
    variable up    : std_logic;
    variable field : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      done <= '0';
      case state is

        when IDLE =>
          pa := unpack(a);
          pb := unpack(b);
          sign <= pa.sign xor pb.sign;
          exp <= signed(resize(pa.exp, 10)) - signed(resize(pb.exp, 10));
          man_a <= pa.man;
          divisor <= pb.man;
          if (pa.is_nan or pb.is_nan or (pa.is_inf and pb.is_inf) or (pa.is_zero and pb.is_zero)) = '1' then
            special <= NOT_A_NUMBER;
          elsif (pa.is_inf or pb.is_zero) = '1' then
            special <= INFINITE;
          elsif (pa.is_zero or pb.is_inf) = '1' then
            special <= NOTHING;
          else
            special <= NUMBER;
          end if;
          if in_valid = '1' then
            state <= NORMALISE;
          end if;

        when NORMALISE =>
          triple <= ("00" & divisor) + ('0' & divisor & '0');
          remainder <= '0' & man_a & '0';
          step <= (others => '0');
          quotient <= (others => '0');
          sticky <= '0';
          if special /= NUMBER then
            state <= ROUND;
          elsif man_a(23) = '0' then
            man_a <= shift_left(man_a, 1);
            exp <= exp - 1;
          elsif divisor(23) = '0' then
            divisor <= shift_left(divisor, 1);
            exp <= exp + 1;
          else
            state <= DIVIDE;
          end if;

        when DIVIDE =>
          less1 := ('0' & remainder) - ("000" & divisor);
          less2 := ('0' & remainder) - ("00" & divisor & '0');
          less3 := ('0' & remainder) - ('0' & triple);
          if less3(26) = '0' then
            rest := less3(25 downto 0);
            digit := "11";
          elsif less2(26) = '0' then
            rest := less2(25 downto 0);
            digit := "10";
          elsif less1(26) = '0' then
            rest := less1(25 downto 0);
            digit := "01";
          else
            rest := remainder;
            digit := "00";
          end if;
          remainder <= rest(23 downto 0) & "00";
          quotient <= quotient(23 downto 0) & digit;
          if step = 0 then
            exp <= exp + to_signed(127, 10);
          end if;
          step <= step + 1;
          if step = 12 then
            state <= ADJUST;
          end if;

        -- The leading one to bit 25, then down again while the exponent is below 1
        when ADJUST =>
          sticky <= sticky or (or remainder);
          remainder <= (others => '0');
          if quotient(25) = '0' and exp > 1 then
            quotient <= shift_left(quotient, 1);
            exp <= exp - 1;
            state <= ROUND;
          elsif exp < 1 then
            quotient <= shift_right(quotient, 1);
            sticky <= sticky or quotient(0) or (or remainder);
            exp <= exp + 1;
            if exp < -25 then
              quotient <= (others => '0');
              sticky <= '1';
              exp <= to_signed(1, 10);
            end if;
          else
            state <= ROUND;
          end if;

        when ROUND =>
          -- Less one, since the hidden bit, where there is one, adds it again.
          up := quotient(1) and (quotient(2) or quotient(0) or sticky);
          field := ((unsigned(exp(7 downto 0) - 1) & "000" & x"00000") + quotient(25 downto 2)) + ("" & up);
          case special is
            when NOT_A_NUMBER => y <= F32_NAN;
            when INFINITE => y <= infinity(sign);
            when NOTHING => y <= zero(sign);
            when NUMBER =>
              if exp > 254 then
                y <= infinity(sign);
              else
                y <= sign & std_logic_vector(field);
              end if;
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
