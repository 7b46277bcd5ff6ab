-- Signed integer to single precision, nearest even.
--
-- 1 magnitude; 2 count the leading zeros, shift by whole bytes; 3 shift by the rest; 4 round, pack.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_fp_pkg.all;

entity int_to_f32 is
  port (
    clk       : in  std_logic;                      -- rising edge
    reset     : in  std_logic;                      -- clears valid bits
    in_valid  : in  std_logic;                      -- a is there
    a         : in  std_logic_vector(31 downto 0);  -- any integer, two's complement
    out_valid : out std_logic;                      -- in_valid, INT_TO_F32_LATENCY later
    y         : out f32_t                           -- nearest even
  );
end entity;

architecture rtl of int_to_f32 is
  signal valid : std_logic_vector(1 to INT_TO_F32_LATENCY) := (others => '0');
  signal sign1, sign2, sign3 : std_logic;
  signal mag1  : unsigned(31 downto 0);
  signal byte2 : unsigned(31 downto 0);  -- leading one in the top byte
  signal fine2 : unsigned(2 downto 0);   -- shift that is left
  signal exp2  : unsigned(7 downto 0);   -- biased, less the hidden bit, of a one in bit 31 of byte2
  signal zero2, zero3 : std_logic;
  signal man3  : unsigned(23 downto 0);  -- with hidden bit
  signal up3   : std_logic;
  signal exp3  : unsigned(7 downto 0);   -- less the hidden bit
begin

  process (clk)
    variable m : unsigned(31 downto 0);
    variable field : unsigned(30 downto 0);
  begin
    if rising_edge(clk) then
      sign1 <= a(31);
      if a(31) = '1' then
        mag1 <= unsigned(-signed(a));
      else
        mag1 <= unsigned(a);
      end if;

      sign2 <= sign1;
      zero2 <= not (or mag1);
      -- Each byte's zeros are counted before it is known which byte is the top one.
      if (or mag1(31 downto 24)) = '1' then
        byte2 <= mag1;
        fine2 <= to_unsigned(leading_zeros(mag1(31 downto 25)), 3);
        exp2 <= to_unsigned(157, 8);
      elsif (or mag1(23 downto 16)) = '1' then
        byte2 <= shift_left(mag1, 8);
        fine2 <= to_unsigned(leading_zeros(mag1(23 downto 17)), 3);
        exp2 <= to_unsigned(149, 8);
      elsif (or mag1(15 downto 8)) = '1' then
        byte2 <= shift_left(mag1, 16);
        fine2 <= to_unsigned(leading_zeros(mag1(15 downto 9)), 3);
        exp2 <= to_unsigned(141, 8);
      else
        byte2 <= shift_left(mag1, 24);
        fine2 <= to_unsigned(leading_zeros(mag1(7 downto 1)), 3);
        exp2 <= to_unsigned(133, 8);
      end if;

      m := shift_left(byte2, to_integer(fine2));
      exp3 <= exp2 - fine2;
      man3 <= m(31 downto 8);
      up3 <= m(7) and (m(8) or (or m(6 downto 0)));
      sign3 <= sign2;
      zero3 <= zero2;

      field := ((exp3 & "000" & x"00000") + man3) + ("" & up3);
      if zero3 = '1' then
        y <= (others => '0');
      else
        y <= sign3 & std_logic_vector(field);
      end if;
    end if;
  end process;

  process (clk)
  begin
    if rising_edge(clk) then
      valid <= in_valid & valid(1 to INT_TO_F32_LATENCY - 1);
      if reset = '1' then
        valid <= (others => '0');
      end if;
    end if;
  end process;
  out_valid <= valid(INT_TO_F32_LATENCY);

end architecture;
