//! A builder for scripts: instructions in order, labels for branches, encoded at the end.

use crate::format::Format;
use crate::instr::{Instruction, Operand, WORD_BYTES};
use crate::table::{GEMV_ACCUMULATE, GEMV_F16, Opcode, WordField};

/// A place in a script that branches can go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label(usize);

/// A number of an integer register, 0..15; R15 is always 0.
pub type Reg = u8;
/// A number of an address register, 0..15.
pub type AddrReg = u8;

/// What GEMV does with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GemvMode {
    /// Write F32.
    Store,
    /// Add to the F32 that are there.
    Accumulate,
    /// Write F16.
    F16,
}

/// Instructions under construction. One method an instruction, operands in the order of the assembler.
#[derive(Debug, Clone, Default)]
pub struct Script {
    instructions: Vec<Instruction>,
    /// Instruction index of each label, once bound.
    labels: Vec<Option<usize>>,
    /// Instructions whose X is the address of a label.
    fixups: Vec<(usize, Label)>,
}

impl Script {
    /// An empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of instructions so far.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether there is none yet.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// A new label, to be bound once.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds a label to the next instruction.
    ///
    /// # Panics
    /// When it is bound already: that is a mistake in the program that builds the script.
    pub fn bind(&mut self, label: Label) {
        let slot = &mut self.labels[label.0];
        assert!(slot.is_none(), "label bound twice");
        *slot = Some(self.instructions.len());
    }

    /// Appends an instruction as it is.
    pub fn push(&mut self, i: Instruction) {
        self.instructions.push(i);
    }

    /// The bytes of the script when it starts at `origin`.
    ///
    /// # Panics
    /// When a label that is branched to was never bound.
    pub fn encode(&self, origin: u32) -> Vec<u8> {
        let mut instructions = self.instructions.clone();
        for &(at, label) in &self.fixups {
            let index = self.labels[label.0].expect("branch to a label that was never bound");
            instructions[at].x = Operand::Abs(origin + (index * WORD_BYTES) as u32).word();
        }
        instructions.iter().flat_map(Instruction::encode).collect()
    }

    fn op(&mut self, op: Opcode, a: u8, b: u8, xyz: [u32; 3]) {
        let [x, y, z] = xyz;
        self.push(Instruction { op, a, b, x, y, z });
    }

    fn branch(&mut self, op: Opcode, a: Reg, b: Reg, target: Label) {
        self.fixups.push((self.instructions.len(), target));
        self.op(op, a, b, [0; 3]);
    }

    /// The job is done.
    pub fn halt(&mut self) {
        self.op(Opcode::Halt, 0, 0, [0; 3]);
    }

    /// Makes what was written visible to the CPU.
    pub fn sync(&mut self) {
        self.op(Opcode::Sync, 0, 0, [0; 3]);
    }

    /// Copies bytes, a multiple of 8 below 64 KB.
    pub fn copy(&mut self, src: impl Into<Operand>, dst: impl Into<Operand>, bytes: u32) {
        self.op(Opcode::Copy, 0, 0, [src.into().word(), dst.into().word(), bytes]);
    }

    /// Sets N0, N1, N2.
    pub fn setn(&mut self, n0: u32, n1: u32, n2: u32) {
        self.op(Opcode::Setn, 0, 0, [n0, n1, n2]);
    }

    /// R\[a\] = value.
    pub fn li(&mut self, a: Reg, value: u32) {
        self.op(Opcode::Li, a, 0, [0, 0, value]);
    }

    /// R\[a\] = u32 at src.
    pub fn ldr(&mut self, a: Reg, src: impl Into<Operand>) {
        self.op(Opcode::Ldr, a, 0, [src.into().word(), 0, 0]);
    }

    /// u32 at dst = R\[a\].
    pub fn str(&mut self, a: Reg, dst: impl Into<Operand>) {
        self.op(Opcode::Str, a, 0, [dst.into().word(), 0, 0]);
    }

    /// R\[a\] = R\[b\] + value.
    pub fn addi(&mut self, a: Reg, b: Reg, value: u32) {
        self.op(Opcode::Addi, a, b, [0, 0, value]);
    }

    /// A\[a\] = base + R\[b\] * scale.
    pub fn lea(&mut self, a: AddrReg, b: Reg, base: impl Into<Operand>, scale: u32) {
        self.op(Opcode::Lea, a, b, [base.into().word(), 0, scale]);
    }

    /// Branch when equal.
    pub fn beq(&mut self, a: Reg, b: Reg, target: Label) {
        self.branch(Opcode::Beq, a, b, target);
    }

    /// Branch when different.
    pub fn bne(&mut self, a: Reg, b: Reg, target: Label) {
        self.branch(Opcode::Bne, a, b, target);
    }

    /// Branch when R\[a\] is less than R\[b\], unsigned.
    pub fn blt(&mut self, a: Reg, b: Reg, target: Label) {
        self.branch(Opcode::Blt, a, b, target);
    }

    /// Branch always.
    pub fn jump(&mut self, target: Label) {
        self.beq(15, 15, target);
    }

    /// Matrix times vector.
    pub fn gemv(
        &mut self,
        format: Format,
        mode: GemvMode,
        w: impl Into<Operand>,
        x: impl Into<Operand>,
        y: impl Into<Operand>,
    ) {
        let flags = match mode {
            GemvMode::Store => 0,
            GemvMode::Accumulate => GEMV_ACCUMULATE,
            GemvMode::F16 => GEMV_F16,
        };
        self.op(Opcode::Gemv, format.ggml(), flags, [w.into().word(), x.into().word(), y.into().word()]);
    }

    /// One row of weights as F32.
    pub fn deqrow(&mut self, format: Format, row: impl Into<Operand>, dst: impl Into<Operand>) {
        self.op(Opcode::Deqrow, format.ggml(), 0, [row.into().word(), 0, dst.into().word()]);
    }

    /// R\[a\] = index of the largest.
    pub fn argmax(&mut self, a: Reg, src: impl Into<Operand>) {
        self.op(Opcode::Argmax, a, 0, [src.into().word(), 0, 0]);
    }

    /// A vector instruction: VADD, VMUL, RMSNORM, SILUMUL, LAYERNORM, or with one source GELU, CVT16, ROPE.
    ///
    /// # Panics
    /// When the instruction uses byte fields, or the number of operands is not what the table says.
    pub fn vector(&mut self, op: Opcode, operands: &[Operand]) {
        let spec = op.spec();
        assert_eq!(spec.a, crate::table::ByteField::Unused, "{op} is no plain vector instruction");
        let mut given = operands.iter();
        let xyz = spec.words().map(|f| match f {
            WordField::Unused => 0,
            _ => given.next().unwrap_or_else(|| panic!("{op}: operand missing")).word(),
        });
        assert!(given.next().is_none(), "{op}: too many operands");
        self.op(op, 0, 0, xyz);
    }

    /// Attention over positions 0..R\[a\] inclusive.
    pub fn attn(
        &mut self,
        a: Reg,
        block: impl Into<Operand>,
        q: impl Into<Operand>,
        out: impl Into<Operand>,
    ) {
        self.op(Opcode::Attn, a, 0, [block.into().word(), q.into().word(), out.into().word()]);
    }

    /// Mean of R\[a\] rows.
    pub fn meanrows(&mut self, a: Reg, x: impl Into<Operand>, z: impl Into<Operand>) {
        self.op(Opcode::Meanrows, a, 0, [x.into().word(), 0, z.into().word()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::disassemble;

    #[test]
    fn labels_become_addresses() {
        let mut s = Script::new();
        let (top, end) = (s.label(), s.label());
        s.li(1, 3);
        s.bind(top);
        s.beq(1, 15, end);
        s.addi(1, 1, u32::MAX);
        s.vector(Opcode::Gelu, &[0x900_0000.into(), Operand::Rel { reg: 2, offset: 64 }]);
        s.jump(top);
        s.bind(end);
        s.halt();
        insta::assert_snapshot!(disassemble(&s.encode(0x800_5000), 0x800_5000), @r"
        .org    0x8005000
        LI       R1, 3                                          ; 8005000
L_8005010:
        BEQ      R1, R15, L_8005050                             ; 8005010
        ADDI     R1, R1, 0xFFFFFFFF                             ; 8005020
        GELU     0x9000000, [A2+0x40]                           ; 8005030
        BEQ      R15, R15, L_8005010                            ; 8005040
L_8005050:
        HALT                                                    ; 8005050
");
    }

    #[test]
    #[should_panic(expected = "GELU: too many operands")]
    fn operands_are_counted() {
        Script::new().vector(Opcode::Gelu, &[0.into(), 0.into(), 0.into()]);
    }
}
