-- The clock162 side of the register crossing: takes the CPU's commands one by one, at least four cycles apart, and answers
-- requests for snapshots of the core's state.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity cpu_link is
  port (
    clk       : in  std_logic;                                  -- clock162
    reset     : in  std_logic;                                  -- high active, synchronous; both sides are reset together
    cmd_ptr   : in  std_logic_vector(1 downto 0);               -- from cpu_regs
    cmd_ring  : in  std_logic_vector(51 downto 0);              -- from cpu_regs
    snap_req  : in  std_logic;                                  -- from cpu_regs
    snap_ack  : out std_logic;                                  -- to cpu_regs
    snap      : out std_logic_vector(53 downto 0);              -- to cpu_regs
    state     : in  std_logic_vector(53 downto 0);              -- what a snapshot is taken of
    cmd_valid : out std_logic;                                  -- a register was written, one cycle
    cmd_addr  : out std_logic_vector(4 downto 0);               -- the register
    cmd_data  : out std_logic_vector(7 downto 0)                -- the byte
  );
end entity;

architecture rtl of cpu_link is
  signal p1, p2, p3 : std_logic_vector(1 downto 0)  := (others => '0');
  signal r1, r2     : std_logic                     := '0';
  signal ptr        : unsigned(1 downto 0)          := (others => '0');
  signal ack        : std_logic                     := '1';
  signal taken      : std_logic_vector(53 downto 0) := (others => '0');
  signal wait_r     : unsigned(1 downto 0)          := (others => '0');
  signal valid      : std_logic                     := '0';
  signal cmd        : std_logic_vector(12 downto 0) := (others => '0');
begin
  snap_ack  <= ack;
  snap      <= taken;
  cmd_valid <= valid;
  cmd_addr  <= cmd(12 downto 8);
  cmd_data  <= cmd(7 downto 0);

  process (clk)
  begin
    if rising_edge(clk) then
      p1    <= cmd_ptr;
      p2    <= p1;
      r1    <= snap_req;
      r2    <= r1;
      valid <= '0';
      -- Binary of the Gray code.
      p3 <= p2(1) & (p2(1) xor p2(0));
      if wait_r /= 0 then
        wait_r <= wait_r - 1;
      elsif unsigned(p3) /= ptr then
        for k in 0 to 3 loop
          if ptr = to_unsigned(k, 2) then
            cmd <= cmd_ring(13 * k + 12 downto 13 * k);
          end if;
        end loop;
        valid  <= '1';
        ptr    <= ptr + 1;
        wait_r <= "10";
      end if;
      if r2 /= ack then
        taken <= state;
        ack   <= r2;
      end if;
      if reset = '1' then
        p1    <= (others => '0');
        p2    <= (others => '0');
        p3    <= (others => '0');
        r1    <= '1';
        r2    <= '1';
        ptr   <= (others => '0');
        ack   <= '1';
        valid <= '0';
        taken <= (others => '0');
      end if;
    end if;
  end process;
end architecture;
