-- What the control and data movement of the core share: the address map in the form that is compared with, and the
-- fault of instructions that are not built yet.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;

package ssnail_core_pkg is
  -- The instruction is legal and this core does not have it yet. No fault of the instruction set has this code.
  constant FAULT_NOT_BUILT : std_logic_vector(7 downto 0) := x"7F";
  constant CORE_VERSION    : std_logic_vector(7 downto 0) := x"01"; -- register 01

  -- Both regions in MB: HyperRAM base 7..0, HyperRAM end 16..8, SDRAM base 24..17, SDRAM end 33..25; end = base + size
  subtype map_t is std_logic_vector(33 downto 0);

  function mb_in_hyper(mb : unsigned(7 downto 0); map_v : map_t) return std_logic; -- the MB is HyperRAM
  function mb_in_sdram(mb : unsigned(7 downto 0); map_v : map_t) return std_logic; -- the MB is SDRAM
  -- This core has the instruction, with this weight format
  function built(op, format : std_logic_vector(7 downto 0)) return std_logic;
end package;

package body ssnail_core_pkg is
  function mb_in_hyper(mb : unsigned(7 downto 0); map_v : map_t) return std_logic is
  begin
    if mb >= unsigned(map_v(7 downto 0)) and ('0' & mb) < unsigned(map_v(16 downto 8)) then
      return '1';
    end if;
    return '0';
  end function;

  function mb_in_sdram(mb : unsigned(7 downto 0); map_v : map_t) return std_logic is
  begin
    if mb >= unsigned(map_v(24 downto 17)) and ('0' & mb) < unsigned(map_v(33 downto 25)) then
      return '1';
    end if;
    return '0';
  end function;

  function built(op, format : std_logic_vector(7 downto 0)) return std_logic is
  begin
    case op is
      when OP_ATTN | OP_MEANROWS =>
        return '0';
      when OP_GEMV =>
        return format_quantised(format);
      when others =>
        return '1';
    end case;
  end function;
end package body;
