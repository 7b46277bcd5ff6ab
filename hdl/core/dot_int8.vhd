-- The exact integer sum of a block's products, Q8_0 or Q4_0, at the speed of memory: a 16-bit word of weights a cycle.
--
-- 1 take the word apart; 2, 3 multiply; 4, 5 add the four products; 6 accumulate. Word w of a Q8_0 block (0..15) holds weights
-- 2w and 2w + 1; word w of a Q4_0 block (0..7) holds these in its low nibbles and 2w + 16 and 2w + 17 in its high ones.
-- So the quantised vector is read as two 16-bit words, x_low at 2w and x_high at 2w + 16, in both formats.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity dot_int8 is
  port (
    clk       : in  std_logic;                      -- rising edge
    reset     : in  std_logic;                      -- clears valid bits
    in_valid  : in  std_logic;                      -- word, x_low, x_high are there
    first     : in  std_logic;                      -- the first word of a block: the sum starts anew
    last      : in  std_logic;                      -- the last word of a block: the sum comes out
    nibbles   : in  std_logic;                      -- 1: Q4_0, 0: Q8_0
    word      : in  std_logic_vector(15 downto 0);  -- weights, low byte first
    x_low     : in  std_logic_vector(15 downto 0);  -- two int8 of x, elements 2w (low byte) and 2w + 1
    x_high    : in  std_logic_vector(15 downto 0);  -- elements 2w + 16 and 2w + 17; Q8_0 does not look at it
    out_valid : out std_logic;                      -- sum is there, DOT_INT8_LATENCY after the last word
    sum       : out std_logic_vector(31 downto 0)   -- two's complement, |sum| <= 32 * 128 * 127
  );
end entity;

architecture rtl of dot_int8 is

  type int8_vec_t is array (0 to 3) of signed(7 downto 0);
  type product_vec_t is array (0 to 3) of signed(15 downto 0);

  signal valid  : std_logic_vector(1 to 5) := (others => '0');
  signal firsts : std_logic_vector(1 to 5);
  signal lasts  : std_logic_vector(1 to 5);
  signal w1     : int8_vec_t;
  signal x1     : int8_vec_t;
  signal p2, p3 : product_vec_t;
  signal low4   : signed(16 downto 0);
  signal high4  : signed(16 downto 0);
  signal s5     : signed(17 downto 0);
  signal acc6   : signed(20 downto 0);
  signal done6  : std_logic := '0';

  -- A nibble of Q4_0 as a number
  function nibble(n : std_logic_vector(3 downto 0)) return signed is
    variable r : signed(7 downto 0);
  begin
    -- Less 8: the top bit inverted is the sign.
    r := (7 downto 3 => not n(3)) & signed(n(2 downto 0));
    return r;
  end function;

begin

  process (clk)
  begin
    if rising_edge(clk) then
      firsts <= first & firsts(1 to 4);
      lasts <= last & lasts(1 to 4);
      x1(0) <= signed(x_low(7 downto 0));
      x1(1) <= signed(x_low(15 downto 8));
      x1(2) <= signed(x_high(7 downto 0));
      x1(3) <= signed(x_high(15 downto 8));
      if nibbles = '1' then
        w1(0) <= nibble(word(3 downto 0));
        w1(1) <= nibble(word(11 downto 8));
        w1(2) <= nibble(word(7 downto 4));
        w1(3) <= nibble(word(15 downto 12));
      else
        w1(0) <= signed(word(7 downto 0));
        w1(1) <= signed(word(15 downto 8));
        w1(2) <= (others => '0');
        w1(3) <= (others => '0');
      end if;

      for i in 0 to 3 loop
        p2(i) <= w1(i) * x1(i);
      end loop;

      p3 <= p2;

      low4 <= resize(p3(0), 17) + resize(p3(1), 17);
      high4 <= resize(p3(2), 17) + resize(p3(3), 17);
      s5 <= resize(low4, 18) + resize(high4, 18);

      if valid(5) = '1' then
        if firsts(5) = '1' then
          acc6 <= resize(s5, 21);
        else
          acc6 <= acc6 + resize(s5, 21);
        end if;
      end if;
      done6 <= valid(5) and lasts(5);
      valid <= in_valid & valid(1 to 4);
      if reset = '1' then
        valid <= (others => '0');
        done6 <= '0';
      end if;
    end if;
  end process;
  out_valid <= done6;
  sum <= std_logic_vector(resize(acc6, 32));

end architecture;
