-- Decodes an instruction and checks all that must hold before its first effect, in the order of ssnail-isa's check.rs:
-- limits (1), format (6), alignment (3), range (2), overlap (1). Instructions without memory operands are through in two
-- cycles, others in seven, GEMV and MEANROWS in 14, ROPE in 28.
library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;
use work.ssnail_isa_pkg.all;
use work.ssnail_core_pkg.all;

entity operand_check is
  port (
    clk        : in  std_logic;                                 -- clock162
    clear      : in  std_logic;                                 -- stops
    start      : in  std_logic;                                 -- the instruction has just come; it stays until the next start
    ir         : in  std_logic_vector(127 downto 0);            -- instruction word
    pc         : in  unsigned(27 downto 0);                     -- its address
    ra         : in  std_logic_vector(31 downto 0);             -- R[a], from two cycles after start
    ax, ay, az : in  std_logic_vector(27 downto 0);             -- A registers that X, Y, Z name, combinational of ir
    n0, n1     : in  std_logic_vector(31 downto 0);             -- lengths
    map_v      : in  map_t;                                     -- address map
    mul_a      : out unsigned(27 downto 0);                     -- factors of a size
    mul_b      : out unsigned(27 downto 0);                     --
    mul_p      : in  unsigned(55 downto 0);                     -- their product, 5 cycles later
    quick      : out std_logic;                                 -- with `decoded`: no memory operand, nothing more to check
    decoded    : out std_logic;                                 -- two cycles after start: addr_x and, if quick, fault hold
    done       : out std_logic;                                 -- everything below holds, one cycle
    fault      : out std_logic_vector(7 downto 0);              -- 0 none
    empty      : out std_logic;                                 -- the operation is on nothing
    addr_x     : out unsigned(27 downto 0);                     -- address that X gives
    reads      : out std_logic_vector(2 downto 0);              -- operands Z, Y, X that are read
    writes     : out std_logic_vector(2 downto 0);              -- operands Z, Y, X that are written
    sdram      : out std_logic_vector(2 downto 0);              -- operands Z, Y, X that lie in SDRAM
    offset     : out std_logic_vector(80 downto 0);             -- 3 x byte address in that RAM, X in the low bits
    length     : out std_logic_vector(83 downto 0);             -- 3 x bytes, X in the low bits
    over_code  : out std_logic                                  -- what is written may have been fetched already
  );
end entity;

architecture rtl of operand_check is
  type state_t is (IDLE_S, ADDRESS, LIMIT, SIZE, MODULO, FAR_END, RANGES, COMBINE, CHOOSE);
  type words_t is array (0 to 2) of word_spec_t;
  type addr_t is array (0 to 2) of unsigned(27 downto 0);
  type len_t is array (0 to 2) of unsigned(28 downto 0);
  type mb_t is array (0 to 2) of unsigned(6 downto 0);
  constant TOO_LONG : unsigned(28 downto 0) := "1" & x"0000000";

  signal state                       : state_t                      := IDLE_S;
  signal count                       : unsigned(4 downto 0)         := (others => '0');
  signal spec                        : words_t                      := (others => WORD_SPEC_NONE);
  signal n0_limited                  : std_logic                    := '0';
  signal max_n0                      : unsigned(20 downto 0)        := (others => '0');
  signal illegal, limits, bad_format : std_logic                    := '0';
  signal misaligned, bad_range, clash : std_logic                   := '0';
  signal addrs                       : addr_t                       := (others => (others => '0'));
  signal lens                        : len_t                        := (others => (others => '0'));
  signal ends_r                      : len_t                        := (others => (others => '0'));
  signal empty_r                     : std_logic                    := '0';
  signal row                         : unsigned(24 downto 0)        := (others => '0'); -- bytes of a row
  signal known, quantised            : std_logic                    := '0';
  signal rest                        : unsigned(8 downto 0)         := (others => '0');
  signal dividend                    : unsigned(20 downto 0)        := (others => '0');
  signal dst                         : unsigned(27 downto 0)        := (others => '0');
  signal dst_end                     : unsigned(28 downto 0)        := (others => '0');
  signal dst_some                    : std_logic                    := '0';
  signal quick_r, decoded_r, done_r  : std_logic                    := '0';
  signal fault_r                     : std_logic_vector(7 downto 0) := (others => '0');
  signal off_r                       : addr_t                       := (others => (others => '0'));
  signal sdram_r                     : std_logic_vector(2 downto 0) := (others => '0');
  signal over_r                      : std_logic                    := '0';
  -- Operand by operand: first byte in a RAM, end beyond it, not empty, in reach of the destination, exactly it
  signal in_h, in_s, out_h, out_s    : std_logic_vector(2 downto 0) := (others => '0');
  signal some, before, same          : std_logic_vector(2 downto 0) := (others => '0');
  signal off_h, off_s                : mb_t                         := (others => (others => '0'));
  signal op                          : std_logic_vector(7 downto 0);
  signal huge_n1, huge_ra            : std_logic                    := '0';
begin
  op      <= ir(7 downto 0);
  quick   <= quick_r;
  decoded <= decoded_r;
  done    <= done_r;
  fault   <= fault_r;
  empty   <= empty_r;
  addr_x  <= addrs(0);
  sdram   <= sdram_r;
  over_code <= over_r;

  outputs : for k in 0 to 2 generate
    reads(k)                             <= spec(k).reads;
    writes(k)                            <= spec(k).writes;
    offset(27 * k + 26 downto 27 * k)    <= std_logic_vector(off_r(k)(26 downto 0));
    length(28 * k + 27 downto 28 * k)    <= std_logic_vector(lens(k)(27 downto 0));
  end generate;

  process (clk)
    variable s       : op_spec_t;
    variable a_regs  : addr_t;
    variable field   : std_logic_vector(31 downto 0);
    variable n0_u    : unsigned(24 downto 0);
    variable mask    : std_logic_vector(2 downto 0);
    variable e, n    : unsigned(28 downto 0);
    variable r       : unsigned(8 downto 0);
    variable wrong   : std_logic;
    variable h, sd   : std_logic;
    variable longest : boolean;
  begin
    if rising_edge(clk) then
      decoded_r <= '0';
      done_r    <= '0';
      a_regs    := (unsigned(ax), unsigned(ay), unsigned(az));
      n0_u      := resize(unsigned(n0(20 downto 0)), 25);
      case state is
        when IDLE_S => null;
        when ADDRESS =>
          for k in 0 to 2 loop
            field := ir(32 * k + 63 downto 32 * k + 32);
            if field(31) = '1' then
              addrs(k) <= a_regs(k) + unsigned(field(23 downto 0));
            else
              addrs(k) <= unsigned(field(27 downto 0));
            end if;
          end loop;
          decoded_r <= '1';
          quick_r   <= '1';
          for k in 0 to 2 loop
            if spec(k).reads = '1' or spec(k).writes = '1' then
              quick_r <= '0';
            end if;
          end loop;
          fault_r <= FAULT_NONE;
          if illegal = '1' then
            quick_r <= '1';
            fault_r <= FAULT_ILLEGAL;
          end if;
          -- Bytes of a row of weights.
          case ir(15 downto 8) is
            when FMT_F32            => row <= shift_left(n0_u, 2);
            when FMT_F16 | FMT_BF16 => row <= shift_left(n0_u, 1);
            when FMT_Q8_0           => row <= n0_u + shift_right(n0_u, 4);
            when others             => row <= shift_right(n0_u, 1) + shift_right(n0_u, 4);
          end case;
          known     <= format_known(ir(15 downto 8));
          quantised <= format_quantised(ir(15 downto 8));
          huge_n1   <= or n1(31 downto 26);
          state <= LIMIT;

        when LIMIT =>
          huge_ra    <= or ra(31 downto 28);
          limits     <= '0';
          bad_format <= '0';
          misaligned <= '0';
          empty_r    <= '0';
          if n0_limited = '1' then
            if unsigned(n0) > resize(max_n0, 32) then
              limits <= '1';
            end if;
            if unsigned(n0) = 0 then
              empty_r <= '1';
            end if;
          end if;
          case op is
            when OP_COPY =>
              if ir(98 downto 96) /= "000" then
                limits <= '1';
              end if;
              if ir(111 downto 96) = x"0000" then
                empty_r <= '1';
              end if;
            when OP_GEMV | OP_DEQROW =>
              if quantised = '1' and n0(4 downto 0) /= "00000" then
                limits <= '1';
              end if;
              bad_format <= not known;
              if op = OP_GEMV and unsigned(n1) = 0 then
                empty_r <= '1';
              end if;
            when OP_ROPE =>
              if unsigned(n1) < to_unsigned(2, 32) or unsigned(n1) > to_unsigned(MAX_HEAD_DIM, 32) or n1(0) = '1' then
                limits <= '1';
              end if;
            when OP_MEANROWS =>
              if unsigned(ra) = 0 then
                empty_r <= '1';
              end if;
            when OP_ATTN =>
              if unsigned(ra) >= to_unsigned(MAX_POSITIONS, 32) then
                limits <= '1';
              end if;
            when others => null;
          end case;
          for k in 0 to 2 loop
            mask := spec(k).align_mask;
            if spec(k).extent = EXT_GEMV_OUT and ir(16 + GEMV_F16) = '1' then
              mask := GEMV_F16_ALIGN_MASK;
            end if;
            if (spec(k).reads = '1' or spec(k).writes = '1')
              and (std_logic_vector(addrs(k)(2 downto 0)) and mask) /= "000" and (op /= OP_ATTN or k = 0) then
              misaligned <= '1';
            end if;
            n := (others => '0');
            case spec(k).extent is
              when EXT_COPY_BYTES             => n := resize(unsigned(ir(111 downto 96)), 29);
              when EXT_WORD                   => n := to_unsigned(4, 29);
              when EXT_VEC_F32 | EXT_PAIRS_F32 => n := resize(shift_left(n0_u, 2), 29);
              when EXT_VEC_F16                => n := resize(shift_left(n0_u, 1), 29);
              when EXT_GAIN_BIAS              => n := resize(shift_left(n0_u, 3), 29);
              when EXT_ROW                    => n := resize(row, 29);
              when EXT_GEMV_OUT               =>
                if huge_n1 = '1' then
                  n := TOO_LONG;
                elsif ir(16 + GEMV_F16) = '1' then
                  n := "00" & unsigned(n1(25 downto 0)) & '0';
                else
                  n := '0' & unsigned(n1(25 downto 0)) & "00";
                end if;
              when EXT_ROPE_TABLE             => n := resize(unsigned(n1(8 downto 0)) & "00", 29);
              when EXT_ATTN_BLOCK             => n := to_unsigned(32, 29);
              when others                     => null;
            end case;
            lens(k) <= n;
          end loop;
          rest     <= (others => '0');
          dividend <= unsigned(n0(20 downto 0));
          if op = OP_GEMV or op = OP_MEANROWS then
            count <= to_unsigned(6, 5);
            state <= SIZE;
          elsif op = OP_ROPE then
            count <= to_unsigned(20, 5);
            state <= MODULO;
          else
            state <= FAR_END;
          end if;

        when SIZE =>
          -- R[a] or N1 rows.
          count <= count - 1;
          if count = 0 then
            longest := mul_p(55 downto 28) /= 0;
            if op = OP_GEMV then
              longest := longest or n1(31 downto 28) /= "0000";
            else
              longest := longest or huge_ra = '1';
            end if;
            if longest then
              lens(0) <= TOO_LONG;
            else
              lens(0) <= '0' & mul_p(27 downto 0);
            end if;
            state <= FAR_END;
          end if;

        when MODULO =>
          -- N0 mod N1 bit by bit.
          r := rest(7 downto 0) & dividend(20);
          if r >= unsigned(n1(8 downto 0)) then
            r := r - unsigned(n1(8 downto 0));
          end if;
          rest     <= r;
          dividend <= shift_left(dividend, 1);
          count    <= count - 1;
          if count = 0 then
            if r /= 0 then
              limits <= '1';
            end if;
            state <= FAR_END;
          end if;

        when FAR_END =>
          dst      <= addrs(0);
          dst_end  <= ('0' & addrs(0)) + lens(0);
          dst_some <= '0';
          for k in 0 to 2 loop
            ends_r(k) <= ('0' & addrs(k)) + lens(k);
            if empty_r = '1' then
              lens(k)   <= (others => '0');
            end if;
            if spec(k).writes = '1' then
              dst     <= addrs(k);
              dst_end <= ('0' & addrs(k)) + lens(k);
              if lens(k) /= 0 and empty_r = '0' then
                dst_some <= '1';
              end if;
            end if;
          end loop;
          state <= RANGES;

        when RANGES =>
          for k in 0 to 2 loop
            e := ends_r(k);
            in_h(k)  <= mb_in_hyper(addrs(k)(27 downto 20), map_v);
            in_s(k)  <= mb_in_sdram(addrs(k)(27 downto 20), map_v);
            out_h(k) <= '0';
            out_s(k) <= '0';
            if e(28 downto 20) > unsigned(map_v(16 downto 8))
              or (e(28 downto 20) = unsigned(map_v(16 downto 8)) and e(19 downto 0) /= 0) then
              out_h(k) <= '1';
            end if;
            if e(28 downto 20) > unsigned(map_v(33 downto 25))
              or (e(28 downto 20) = unsigned(map_v(33 downto 25)) and e(19 downto 0) /= 0) then
              out_s(k) <= '1';
            end if;
            some(k) <= or lens(k);
            before(k) <= '0';
            if ('0' & dst) < ends_r(k) and ('0' & addrs(k)) < dst_end then
              before(k) <= '1';
            end if;
            same(k) <= '0';
            if dst = addrs(k) then
              same(k) <= spec(k).same_ok;
            end if;
            off_h(k) <= addrs(k)(26 downto 20) - unsigned(map_v(6 downto 0));
            off_s(k) <= addrs(k)(26 downto 20) - unsigned(map_v(23 downto 17));
          end loop;
          over_r <= '0';
          if dst_some = '1' and ('0' & dst) < ('0' & pc) + 2048 and ('0' & pc) < dst_end then
            over_r <= '1';
          end if;
          state <= COMBINE;

        when COMBINE =>
          bad_range <= '0';
          clash     <= '0';
          for k in 0 to 2 loop
            h  := in_h(k) and not out_h(k);
            sd := in_s(k) and not in_h(k) and not out_s(k);
            if (spec(k).reads = '1' or spec(k).writes = '1') and some(k) = '1' and h = '0' and sd = '0' then
              bad_range <= '1';
            end if;
            if spec(k).reads = '1' and spec(k).writes = '0' and dst_some = '1' and some(k) = '1' and before(k) = '1'
              and same(k) = '0' then
              clash <= '1';
            end if;
            sdram_r(k) <= sd;
            off_r(k)   <= addrs(k);
            if sd = '1' then
              off_r(k)(26 downto 20) <= off_s(k);
            else
              off_r(k)(26 downto 20) <= off_h(k);
            end if;
          end loop;
          state <= CHOOSE;

        when CHOOSE =>
          fault_r <= FAULT_NONE;
          if limits = '1' then
            fault_r <= FAULT_ILLEGAL;
          elsif bad_format = '1' then
            fault_r <= FAULT_FORMAT;
          elsif misaligned = '1' then
            fault_r <= FAULT_ALIGNMENT;
          elsif bad_range = '1' then
            fault_r <= FAULT_RANGE;
          elsif clash = '1' then
            fault_r <= FAULT_ILLEGAL;
          elsif op = OP_ATTN or (built(op, ir(15 downto 8)) = '0' and empty_r = '0') then
            fault_r <= FAULT_NOT_BUILT;
          end if;
          done_r <= '1';
          state  <= IDLE_S;
      end case;

      if op = OP_GEMV then
        mul_a <= unsigned(n1(27 downto 0));
        mul_b <= resize(row, 28);
      else
        mul_a <= unsigned(ra(27 downto 0));
        mul_b <= resize(shift_left(n0_u, 2), 28);
      end if;

      if start = '1' then
        s          := op_spec(op);
        spec       <= (s.x, s.y, s.z);
        n0_limited <= s.n0_limited;
        max_n0     <= s.max_n0;
        wrong      := not s.known;
        if ir(31 downto 24) /= x"00" then
          wrong := '1';
        end if;
        if (s.a = BYTE_REG or s.a = BYTE_ADDR_REG) and ir(15 downto 12) /= "0000" then
          wrong := '1';
        end if;
        if (s.b = BYTE_REG or s.b = BYTE_ADDR_REG) and ir(23 downto 20) /= "0000" then
          wrong := '1';
        end if;
        if s.b = BYTE_GEMV_FLAGS and (ir(23 downto 18) /= "000000" or ir(17 downto 16) = "11") then
          wrong := '1';
        end if;
        illegal <= wrong;
        state   <= ADDRESS;
      end if;
      if clear = '1' or (decoded_r = '1' and quick_r = '1') then
        state <= IDLE_S;
      end if;
    end if;
  end process;
end architecture;
