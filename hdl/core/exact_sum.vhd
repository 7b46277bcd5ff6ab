-- A row's sum of products of singles without loss, rounded once: GEMV over F32, F16 and BF16 weights. Two DSP48.
--
-- The sum is a fixed-point number of 19 limbs of 32 bits, in units of 2^-298, the product of the two smallest subnormals.
-- A product covers three limbs at the most, each of which adds or subtracts its part for itself and keeps what goes
-- beyond 32 bits. At a row's end the limbs go to a copy, which exact_round reads from the bottom while the next row is
-- summed.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity exact_sum is
  port (
    clk       : in  std_logic;  -- rising edge
    reset     : in  std_logic;  -- forgets everything taken so far
    in_valid  : in  std_logic;  -- a, b, last are there; taken on an edge with in_ready
    in_ready  : out std_logic;  -- low only with last, within EXACT_SUM_CYCLES after another one
    a         : in  f32_t;      -- any single
    b         : in  f32_t;      -- any single
    last      : in  std_logic;  -- the last product of a row, which has at most 4096
    out_valid : out std_logic;  -- one cycle for each row, in order
    y         : out f32_t       -- the sum of a * b, nearest even
  );
end entity;

architecture rtl of exact_sum is

  type limb_vec_t is array (0 to EXACT_LIMBS - 1) of signed(EXACT_LIMB_BITS - 1 downto 0);
  type part_vec_t is array (0 to EXACT_LIMBS - 1) of std_logic_vector(31 downto 0);
  type special_vec_t is array (1 to 6) of exact_special_t;
  type place_vec_t is array (1 to 4) of unsigned(8 downto 0);

  signal ready    : std_logic;
  signal wait_for : unsigned(4 downto 0) := (others => '0');  -- cycles until another row may end
  signal valid    : std_logic_vector(1 to 6) := (others => '0');
  signal lasts    : std_logic_vector(1 to 6) := (others => '0');
  signal minus    : std_logic_vector(1 to 6);
  signal specials : special_vec_t;
  signal place    : place_vec_t;             -- of the product's lowest bit, 0..506
  signal man_a1   : unsigned(23 downto 0);   -- 0 for what is not finite
  signal man_b1   : unsigned(23 downto 0);
  signal low2     : unsigned(40 downto 0);
  signal high2    : unsigned(30 downto 0);
  signal product3 : unsigned(47 downto 0);
  signal bytes4   : unsigned(71 downto 0);   -- shifted by whole bytes, 0..24 places
  signal parts5   : unsigned(95 downto 0);   -- shifted, all bits inverted where it is subtracted
  signal lowest5  : std_logic_vector(EXACT_LIMBS - 1 downto 0);  -- limb of the lowest part, one-hot
  signal part6    : part_vec_t;
  signal hit6     : std_logic_vector(EXACT_LIMBS - 1 downto 0);  -- limbs that have a part of something subtracted
  signal fresh    : std_logic := '1';        -- the next product starts a row
  signal limb     : limb_vec_t;
  signal special  : exact_special_t;
  signal hand     : std_logic := '0';        -- limb and special are a row's
  signal copy     : limb_vec_t;
  signal verdict  : exact_special_t;
  signal begun    : std_logic := '0';        -- copy(0) is the lowest limb

begin

  ready <= '1' when wait_for = 0 or last = '0' else '0';
  in_ready <= ready;

  multiply : process (clk)
    variable pa, pb : fp_parts_t;
    variable bad : std_logic;
  begin
    if rising_edge(clk) then
      pa := unpack(a);
      pb := unpack(b);
      minus <= (pa.sign xor pb.sign) & minus(1 to 5);
      place <= (resize(pa.exp, 9) + resize(pb.exp, 9) - to_unsigned(2, 9)) & place(1 to 3);
      bad := pa.is_nan or pb.is_nan or (pa.is_inf and pb.is_zero) or (pa.is_zero and pb.is_inf);
      specials(1).is_nan <= bad;
      specials(1).pos_inf <= (pa.is_inf or pb.is_inf) and not (pa.sign xor pb.sign);
      specials(1).neg_inf <= (pa.is_inf or pb.is_inf) and (pa.sign xor pb.sign);
      specials(2 to 6) <= specials(1 to 5);
      man_a1 <= pa.man;
      man_b1 <= pb.man;
      if (pa.is_nan or pa.is_inf or pb.is_nan or pb.is_inf) = '1' then
        man_a1 <= (others => '0');
      end if;
      low2 <= man_a1 * man_b1(16 downto 0);
      high2 <= man_a1 * man_b1(23 downto 17);
      product3 <= (high2 & (16 downto 0 => '0')) + resize(low2, 48);
    end if;
  end process;

  shift : process (clk)
    variable s : unsigned(95 downto 0);
  begin
    if rising_edge(clk) then
      case place(3)(4 downto 3) is
        when "00" => bytes4 <= resize(product3, 72);
        when "01" => bytes4 <= resize(product3 & x"00", 72);
        when "10" => bytes4 <= resize(product3 & x"0000", 72);
        when others => bytes4 <= product3 & x"000000";
      end case;
      s := shift_left(resize(bytes4, 96), to_integer(place(4)(2 downto 0)));
      if minus(4) = '1' then
        s := not s;
      end if;
      parts5 <= s;
      lowest5 <= (others => '0');
      for i in 0 to 15 loop
        if place(4)(8 downto 5) = to_unsigned(i, 4) then
          lowest5(i) <= '1';
        end if;
      end loop;
      for i in 0 to EXACT_LIMBS - 1 loop
        part6(i) <= (others => '0');
        hit6(i) <= '0';
        for k in 0 to 2 loop
          if i >= k then
            if lowest5(i - k) = '1' then
              part6(i) <= std_logic_vector(parts5(32 * k + 31 downto 32 * k));
              hit6(i) <= minus(5);
            end if;
          end if;
        end loop;
      end loop;
    end if;
  end process;

  -- Of a part that is subtracted the inverted bits are added, with ones above them and a carry in.
  sum : process (clk)
    variable before, addend : signed(EXACT_LIMB_BITS - 1 downto 0);
    variable one : signed(1 downto 0);
  begin
    if rising_edge(clk) then
      hand <= valid(6) and lasts(6);
      if valid(6) = '1' then
        fresh <= lasts(6);
        for i in 0 to EXACT_LIMBS - 1 loop
          before := limb(i);
          if fresh = '1' then
            before := (others => '0');
          end if;
          addend := (others => hit6(i));
          addend(31 downto 0) := signed(part6(i));
          one := '0' & hit6(i);
          limb(i) <= before + addend + one;
        end loop;
        special <= specials(6);
        if fresh = '0' then
          special.is_nan <= special.is_nan or specials(6).is_nan;
          special.pos_inf <= special.pos_inf or specials(6).pos_inf;
          special.neg_inf <= special.neg_inf or specials(6).neg_inf;
        end if;
      end if;
      begun <= hand;
      if hand = '1' then
        copy <= limb;
        verdict <= special;
      else
        copy(0 to EXACT_LIMBS - 2) <= copy(1 to EXACT_LIMBS - 1);
      end if;
      if reset = '1' then
        fresh <= '1';
        hand <= '0';
        begun <= '0';
      end if;
    end if;
  end process;

  u_round : entity work.exact_round
    port map (clk => clk, reset => reset, begun => begun, limb => copy(0), special => verdict,
              out_valid => out_valid, y => y);

  control : process (clk)
  begin
    if rising_edge(clk) then
      valid <= (in_valid and ready) & valid(1 to 5);
      lasts <= last & lasts(1 to 5);
      if in_valid = '1' and ready = '1' and last = '1' then
        wait_for <= to_unsigned(EXACT_SUM_CYCLES - 1, 5);
      elsif wait_for /= 0 then
        wait_for <= wait_for - 1;
      end if;
      if reset = '1' then
        valid <= (others => '0');
        wait_for <= (others => '0');
      end if;
    end if;
  end process;

end architecture;
