//! Random legal programs. Candidates are drawn so that most are legal, and kept when the emulator's check says so.

use super::data::{CODE, WINDOW, Window, windows};
use super::illegal;
use super::{COUNT, OPERAND_REGISTERS, Operation, Program, Step};
use crate::memory::Memory;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use ssnail_isa::Opcode;
use ssnail_isa::check::{self, AttnBlock, Span};
use ssnail_isa::instr::{Instruction, Operand};
use ssnail_isa::map::{AddressMap, Board};
use ssnail_isa::table::{ByteField, Extent, TABLE, WordField};

/// Tries of a candidate before a shorter one is taken.
const TRIES: u32 = 40;
/// Vectors longer than this are rare: simulation takes its time.
const LONG: u32 = 300;

/// What the RTL does not do yet, or of GEMV not in all formats: programs leave it out unless they are told otherwise.
pub const NOT_YET: &[Opcode] = &[Opcode::Gemv, Opcode::Attn, Opcode::Meanrows];

/// Formats that the RTL multiplies with, as ggml type numbers.
const GEMV_FORMATS: &[u8] = &[2, 8];

/// Which instructions programs are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set(pub Vec<Opcode>);

impl Set {
    /// All instructions with operands in memory or registers, but those given.
    pub fn without(left_out: &[Opcode]) -> Self {
        Set(TABLE.iter().map(|s| s.op).filter(|op| !left_out.contains(op) && !is_control(*op)).collect())
    }

    /// All that the RTL does.
    pub fn implemented() -> Self {
        Set::without(NOT_YET)
    }

    /// Those given.
    ///
    /// # Errors
    /// The name that no instruction has.
    pub fn named(names: &str) -> Result<Self, String> {
        let find = |n: &str| Opcode::from_name(n.trim()).ok_or_else(|| format!("no instruction `{n}`"));
        names.split(',').map(find).collect::<Result<_, _>>().map(Set)
    }
}

fn is_control(op: Opcode) -> bool {
    matches!(op, Opcode::Halt | Opcode::Setn | Opcode::Beq | Opcode::Bne | Opcode::Blt)
}

/// Random choices.
pub(super) struct Random<'a> {
    pub(super) bits: Pcg64Mcg,
    pub(super) map: AddressMap,
    windows: Vec<Window>,
    set: &'a Set,
}

impl Random<'_> {
    pub(super) fn below(&mut self, n: u32) -> u32 {
        self.bits.next_u32() % n.max(1)
    }

    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// A number of elements: all classes of length, long ones rarely.
    fn length(&mut self) -> u32 {
        match self.below(16) {
            0 => 0,
            1 => 1,
            2 | 3 => 2 + self.below(6),
            4..=7 => 8 + self.below(25),
            8 => 64,
            9 => 32 * (1 + self.below(4)),
            10..=13 => 33 + self.below(48),
            14 => 80 + self.below(100),
            _ => 200 + self.below(LONG),
        }
    }

    /// A place for `len` bytes: near a multiple of 256, at an end of a window, or anywhere.
    fn place(&mut self, len: u64, alignment: u32) -> u32 {
        let len = len.min(u64::from(WINDOW)) as u32;
        let windows = self.windows.clone();
        let w = self.pick(&windows);
        let room = WINDOW - len;
        let offset = match self.below(8) {
            0 => 0,
            1 | 2 => room,
            3 | 4 => (self.below(room + 1) & !0xFF).saturating_sub(self.below(16) * alignment),
            5 => self.below(room + 1) & !0x1F,
            _ => self.below(room + 1),
        };
        w.base + offset / alignment * alignment
    }

    /// An operation of a kind, legal or (in one of many tries) not; `None` when none was found.
    pub(super) fn operation(&mut self, op: Opcode) -> Option<Operation> {
        let mut n0 = self.length();
        for k in 0..TRIES {
            let o = self.candidate(op, n0);
            let checked = check::check(&o.instruction, &o.registers(), &self.map, |_| ATTN_BLOCK);
            if checked.is_ok_and(|c| self.in_windows(&c.xyz)) {
                return Some(o);
            }
            if k % 8 == 7 {
                n0 /= 2;
            }
        }
        None
    }

    /// Whether what is read and written lies where the program may work.
    fn in_windows(&self, spans: &[Span]) -> bool {
        let inside = |s: &&Span| {
            s.len == 0 || self.windows.iter().any(|w| s.addr >= w.base && s.addr + s.len <= w.base + WINDOW)
        };
        spans.iter().filter(inside).count() == spans.len()
    }

    fn candidate(&mut self, op: Opcode, n0: u32) -> Operation {
        let spec = op.spec();
        let format = self.pick(if op == Opcode::Gemv { GEMV_FORMATS } else { &[0u8, 1, 2, 8, 30] });
        let mut n = [n0, 1 + self.below(8), self.epsilon()];
        match op {
            Opcode::Rope => {
                n[1] = 2 * (1 + self.below(16));
                n[0] = n0 / n[1] * n[1];
            }
            Opcode::Gemv | Opcode::Deqrow if format == 2 || format == 8 => n[0] = n0.next_multiple_of(32),
            _ => {}
        }
        let count = if matches!(op, Opcode::Meanrows) { self.below(6) } else { 0 };
        let mut i = Instruction::new(op);
        let mut byte = |kind| match kind {
            ByteField::Unused => 0,
            ByteField::Format => format,
            ByteField::GemvFlags => self.below(3) as u8,
            ByteField::Reg if matches!(op, Opcode::Meanrows | Opcode::Attn) => COUNT,
            // Not those that loops count with; 15 reads 0.
            ByteField::Reg => self.pick(&[0u8, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15]),
            ByteField::AddrReg => self.pick(&[0u8, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        };
        (i.a, i.b) = (byte(spec.a), byte(spec.b));
        let mut words = [0; 3];
        let mut addresses = [0; 3];
        let copy = 8 * self.below(60);
        for (k, field) in spec.words().into_iter().enumerate() {
            words[k] = match field {
                WordField::Unused => 0,
                WordField::Imm(_) if op == Opcode::Copy => copy | self.bits.next_u32() & 0xFFFF_0000,
                WordField::Imm(_) => self.bits.next_u32(),
                WordField::Addr(_, _, extent) => {
                    let (len, alignment) = extent_guess(extent, n, count, copy, op, i.a);
                    // In place, or what another operand reads, or a place of its own.
                    let address = match k {
                        1 | 2 if self.one_in(4) => addresses[self.below(k as u32) as usize],
                        _ => self.place(len, alignment),
                    };
                    let relative = self.one_in(2);
                    let offset = if relative { self.below(1 << 12) & !7 } else { 0 };
                    addresses[k] = address.wrapping_sub(offset);
                    let reg = OPERAND_REGISTERS[k];
                    if relative { Operand::Rel { reg, offset } } else { Operand::Abs(address) }.word()
                }
            };
        }
        [i.x, i.y, i.z] = words;
        Operation {
            instruction: i,
            n,
            addresses: addresses.map(|a| a & ssnail_isa::map::ADDRESS_MASK),
            count,
        }
    }

    fn epsilon(&mut self) -> u32 {
        self.pick(&[1e-5f32, 1e-6, 0.0, 1.0, 1e-12]).to_bits()
    }

    fn step(&mut self) -> Option<Step> {
        let set = &self.set.0;
        let op = set[self.bits.next_u32() as usize % set.len()];
        Some(match self.below(12) {
            0 => {
                let op = self.pick(&[Opcode::Beq, Opcode::Bne, Opcode::Blt]);
                let a = self.bits.next_u32();
                let b = self.pick(&[a, self.bits.clone().next_u32(), 0, u32::MAX]);
                let over = Instruction { a: 7, z: self.bits.next_u32(), ..Instruction::new(Opcode::Li) };
                Step::Branch { op, values: (a, b), over }
            }
            1 => {
                let operation = self.operation(op)?;
                let mut body = operation.clone();
                body.n[0] = body.n[0].min(40);
                let (rounds, stride) = (1 + self.below(4), 32 * self.below(5));
                let legal = (0..rounds).all(|k| self.legal_at(&body, k * stride));
                if legal { Step::Loop { rounds, stride, body } } else { Step::Operation(operation) }
            }
            _ => Step::Operation(self.operation(op)?),
        })
    }

    /// Whether the operation is legal with its address registers so many bytes further.
    fn legal_at(&self, o: &Operation, by: u32) -> bool {
        let moved = Operation { addresses: o.addresses.map(|a| a + by), ..o.clone() };
        let checked = check::check(&moved.instruction, &moved.registers(), &self.map, |_| ATTN_BLOCK);
        checked.is_ok_and(|c| self.in_windows(&c.xyz))
    }
}

/// Programs have no ATTN block in RAM yet, so that ATTN is never legal by this one.
const ATTN_BLOCK: [u32; 8] = [0; 8];

/// Bytes of an operand and its alignment; a guess, which the check confirms or not.
fn extent_guess(e: Extent, n: [u32; 3], count: u32, copy: u32, op: Opcode, format: u8) -> (u64, u32) {
    let [n0, n1, _] = n.map(u64::from);
    let row = ssnail_isa::Format::from_ggml(u32::from(format)).map_or(0, |f| f.row_bytes(n0));
    match e {
        Extent::Address | Extent::Code => (0, 1),
        Extent::CopyBytes => (u64::from(copy), 8),
        Extent::Word => (4, 4),
        Extent::VecF32 => (4 * n0, 4),
        Extent::PairsF32 => (4 * n0, 8),
        Extent::VecF16 => (2 * n0, 2),
        Extent::Row => (row, 1),
        Extent::Matrix => (row * n1, 1),
        Extent::GemvOut => (4 * n1, 4),
        Extent::RopeTable => (4 * n1, 4),
        Extent::GainBias => (8 * n0, 4),
        Extent::RowsF32 => (u64::from(count) * 4 * n0, 4),
        Extent::AttnBlock => (u64::from(AttnBlock::BYTES), 4),
        Extent::HeadsF32 => (if op == Opcode::Attn { 4 * n0 } else { 0 }, 4),
    }
}

/// The program of a seed.
pub fn generate(seed: u64, memory: Memory, set: &Set, steps: usize) -> Program {
    let map = if memory.has_sdram() { Board::R6 } else { Board::R3 }.map();
    let mut random = Random { bits: Pcg64Mcg::seed_from_u64(seed), map, windows: windows(&map), set };
    let mut out = vec![];
    while out.len() < steps {
        out.extend(random.step());
    }
    let illegal = if random.one_in(3) { illegal::illegal(&mut random, set) } else { None };
    // Now and then the code runs up to the end of a burst, or lies in the other RAM.
    let region = random.below(map.regions().len() as u32) as usize;
    let origin = CODE - map.regions()[0].base + map.regions()[region].base + 16 * random.below(16);
    Program { seed, memory, origin, steps: out, illegal }
}
