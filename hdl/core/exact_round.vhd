-- The limbs of a row's exact sum to a single, nearest even: one limb a cycle, from the bottom.
--
-- The carry goes on from limb to limb. Of the sum and of its negative, since the sign is known only at the end, the
-- highest word that is not zero is kept with the word below it, and whether anything is below that. The lowest bit of a
-- subnormal single is bit 149 of the sum, in word 4; so word 5 is taken as the highest one where all above it are zero,
-- and a one put into the count of zeros stops the shift where the exponent would be 1.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity exact_round is
  port (
    clk       : in  std_logic;                            -- rising edge
    reset     : in  std_logic;                            -- forgets the row
    begun     : in  std_logic;                            -- limb is a row's lowest; the others follow each cycle
    limb      : in  signed(EXACT_LIMB_BITS - 1 downto 0);  -- units of 2^(32 * number of the limb - 298)
    special   : in  exact_special_t;                      -- of the row, with all its limbs
    out_valid : out std_logic;                            -- one cycle for each row
    y         : out f32_t                                 -- the sum
  );
end entity;

architecture rtl of exact_round is

  type track_t is record
    before : unsigned(31 downto 0);  -- the word before this one
    under  : std_logic;              -- something is in words before that one
    high   : unsigned(31 downto 0);  -- the highest word so far that is not zero
    low    : unsigned(31 downto 0);  -- the word below it
    sticky : std_logic;              -- something is below that
    at     : unsigned(4 downto 0);   -- number of the highest word, 5..18
  end record;

  -- A track after word w, number k
  function follow(t : track_t; w : unsigned(31 downto 0); k : unsigned(4 downto 0)) return track_t is
    variable r : track_t;
  begin
    r := t;
    if k = 0 then
      r.under := '0';
    else
      r.under := t.under or (or t.before);
    end if;
    r.before := w;
    if k = 5 or (k > 5 and (or w) = '1') then
      r.high := w;
      r.low := t.before;
      r.sticky := t.under;
      r.at := k;
    end if;
    return r;
  end function;

  signal running : std_logic := '0';
  signal count   : unsigned(4 downto 0);            -- 0..18, limbs of the row before this one
  signal number  : unsigned(4 downto 0);
  signal active  : std_logic;
  signal carry   : signed(EXACT_LIMB_BITS - 33 downto 0);
  -- 1 carried
  signal valid1  : std_logic := '0';
  signal number1 : unsigned(4 downto 0);
  signal word1   : unsigned(31 downto 0);
  signal special1 : exact_special_t;
  -- 2 of the negative as well
  signal valid2  : std_logic := '0';
  signal number2 : unsigned(4 downto 0);
  signal word2   : unsigned(31 downto 0);
  signal minus2  : unsigned(31 downto 0);
  signal zeros2  : std_logic;                       -- all words before were zero
  signal special2 : exact_special_t;
  -- 3 followed
  signal plus3   : track_t;
  signal minus3  : track_t;
  signal done3   : std_logic := '0';
  signal sign3   : std_logic;
  signal special3 : exact_special_t;
  -- 4 chosen, 5 counted, 6 shifted, 7 rounding bit
  signal done    : std_logic_vector(4 to 8) := (others => '0');
  signal sign    : std_logic_vector(4 to 7);
  signal special4, special5, special6, special7 : exact_special_t;
  signal bits4, bits5 : unsigned(63 downto 0);
  signal sticky4, sticky5, sticky6 : std_logic;
  signal at4     : unsigned(4 downto 0);
  signal shift5  : unsigned(4 downto 0);            -- 0..31
  signal base5   : unsigned(9 downto 0);            -- exponent of the top bit, less the hidden one, 19..435
  signal bits6   : unsigned(63 downto 0);
  signal exp6    : unsigned(9 downto 0);
  signal man7    : unsigned(23 downto 0);
  signal exp7    : unsigned(9 downto 0);
  signal up7     : std_logic;
  signal zero7   : std_logic;

begin

  active <= begun or running;
  number <= (others => '0') when begun = '1' else count;

  read : process (clk)
    variable v : signed(EXACT_LIMB_BITS - 1 downto 0);
    variable c : signed(EXACT_LIMB_BITS - 33 downto 0);
    variable lower_zero : std_logic;
    variable one : unsigned(0 downto 0);
  begin
    if rising_edge(clk) then
      c := carry;
      if begun = '1' then
        c := (others => '0');
      end if;
      v := limb + resize(c, EXACT_LIMB_BITS);
      carry <= v(EXACT_LIMB_BITS - 1 downto 32);
      word1 <= unsigned(v(31 downto 0));
      number1 <= number;
      valid1 <= active;
      special1 <= special;
      count <= number + 1;
      if active = '1' then
        running <= '1';
        if number = EXACT_LIMBS - 1 then
          running <= '0';
        end if;
      end if;

      -- The negative: the bits inverted, and one added for as long as all lower words are zero.
      lower_zero := zeros2;
      if number1 = 0 then
        lower_zero := '1';
      end if;
      one(0) := lower_zero;
      word2 <= word1;
      minus2 <= (not word1) + one;
      zeros2 <= lower_zero and not (or word1);
      number2 <= number1;
      valid2 <= valid1;
      special2 <= special1;

      if valid2 = '1' then
        plus3 <= follow(plus3, word2, number2);
        minus3 <= follow(minus3, minus2, number2);
      end if;
      done3 <= '0';
      if valid2 = '1' and number2 = EXACT_LIMBS - 1 then
        done3 <= '1';
      end if;
      sign3 <= word2(31);
      special3 <= special2;
      if reset = '1' then
        running <= '0';
        valid1 <= '0';
        valid2 <= '0';
        done3 <= '0';
      end if;
    end if;
  end process;

  round : process (clk)
    variable marked : unsigned(31 downto 0);
    variable field  : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      done <= done3 & done(4 to 7);
      sign <= sign3 & sign(4 to 6);
      special4 <= special3;
      special5 <= special4;
      special6 <= special5;
      special7 <= special6;

      if sign3 = '1' then
        bits4 <= minus3.high & minus3.low;
        sticky4 <= minus3.sticky;
        at4 <= minus3.at;
      else
        bits4 <= plus3.high & plus3.low;
        sticky4 <= plus3.sticky;
        at4 <= plus3.at;
      end if;

      marked := bits4(63 downto 32);
      if at4 = 5 then
        marked(12) := '1';
      end if;
      shift5 <= to_unsigned(leading_zeros(marked), 5);
      bits5 <= bits4;
      sticky5 <= sticky4;
      base5 <= (at4 & "00000") - to_unsigned(141, 10);

      bits6 <= shift_left(bits5, to_integer(shift5));
      exp6 <= base5 - resize(shift5, 10);
      sticky6 <= sticky5;

      man7 <= bits6(63 downto 40);
      up7 <= bits6(39) and (bits6(40) or sticky6 or (or bits6(38 downto 0)));
      zero7 <= not (sticky6 or (or bits6));
      exp7 <= exp6;

      field := ((exp7(7 downto 0) & "000" & x"00000") + man7) + ("" & up7);
      y <= sign(7) & std_logic_vector(field);
      if exp7 > 253 then
        y <= infinity(sign(7));
      end if;
      if zero7 = '1' then
        y <= zero('0');
      end if;
      if (special7.is_nan or (special7.pos_inf and special7.neg_inf)) = '1' then
        y <= F32_NAN;
      elsif (special7.pos_inf or special7.neg_inf) = '1' then
        y <= infinity(special7.neg_inf);
      end if;
      if reset = '1' then
        done <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= done(8);

end architecture;
