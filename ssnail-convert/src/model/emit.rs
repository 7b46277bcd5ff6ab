//! Emission of scripts by name of object: GEMVs, norms and vector instructions with their lengths.

use crate::plan::Places;
use ssnail_isa::Opcode;
use ssnail_isa::Operand;
use ssnail_isa::script::{GemvMode, Label, Script};

/// The operand at an address register.
pub(super) const fn at(reg: u8) -> Operand {
    Operand::Rel { reg, offset: 0 }
}

/// A script under construction, the objects it may name, and what N0, N1, N2 are known to hold.
pub(super) struct Emit<'a> {
    /// The script; instructions without lengths are emitted on it directly, labels through [`Emit::bind`].
    pub(super) s: Script,
    at: &'a Places,
    lengths: Option<[u32; 3]>,
}

impl<'a> Emit<'a> {
    pub(super) fn new(at: &'a Places) -> Self {
        Emit { s: Script::new(), at, lengths: None }
    }

    /// The address of an object.
    pub(super) fn addr(&self, name: &str) -> u32 {
        self.at.addr(name)
    }

    /// Binds a label. What the lengths hold there depends on where it was reached from.
    pub(super) fn bind(&mut self, label: Label) {
        self.lengths = None;
        self.s.bind(label);
    }

    /// Sets the lengths that are given and not known to hold already.
    fn lengths(&mut self, n0: u32, n1: Option<u32>, n2: Option<u32>) {
        let known = self.lengths;
        let holds = known
            .is_some_and(|[k0, k1, k2]| k0 == n0 && n1.is_none_or(|n| n == k1) && n2.is_none_or(|n| n == k2));
        if !holds {
            let [_, k1, k2] = known.unwrap_or([0; 3]);
            let new = [n0, n1.unwrap_or(k1), n2.unwrap_or(k2)];
            self.s.setn(new[0], new[1], new[2]);
            self.lengths = Some(new);
        }
    }

    /// y = W*x with the whole of a matrix.
    pub(super) fn linear(&mut self, w: &str, mode: GemvMode, x: impl Into<Operand>, y: impl Into<Operand>) {
        self.linear_rows(w, 0, self.at.matrix(w).rows, mode, x, y);
    }

    /// y = W*x with `rows` rows of a matrix from `first` on.
    pub(super) fn linear_rows(
        &mut self,
        w: &str,
        first: u32,
        rows: u32,
        mode: GemvMode,
        x: impl Into<Operand>,
        y: impl Into<Operand>,
    ) {
        let m = self.at.matrix(w);
        self.lengths(m.cols, Some(rows), None);
        self.s.gemv(m.format, mode, m.addr + first * m.row_bytes(), x, y);
    }

    /// The row `R[reg]` of a matrix as F32 at `dst`, through address register `a`.
    pub(super) fn row(&mut self, w: &str, a: u8, reg: u8, dst: impl Into<Operand>) {
        let m = self.at.matrix(w);
        self.s.lea(a, reg, m.addr, m.row_bytes());
        self.lengths(m.cols, None, None);
        self.s.deqrow(m.format, at(a), dst);
    }

    /// A vector instruction over `n0` elements.
    pub(super) fn vector(&mut self, op: Opcode, n0: u32, operands: &[Operand]) {
        self.lengths(n0, None, None);
        self.s.vector(op, operands);
    }

    /// RMSNORM or LAYERNORM; `params` names gain, or gain and bias.
    pub(super) fn norm(
        &mut self,
        op: Opcode,
        n0: u32,
        eps: f32,
        x: impl Into<Operand>,
        params: &str,
        z: impl Into<Operand>,
    ) {
        self.lengths(n0, None, Some(eps.to_bits()));
        let params = self.addr(params).into();
        self.s.vector(op, &[x.into(), params, z.into()]);
    }

    /// Rotates `n0` elements of heads in place.
    pub(super) fn rope(&mut self, n0: u32, head_dim: u32, x: impl Into<Operand>, table: impl Into<Operand>) {
        self.lengths(n0, Some(head_dim), None);
        self.s.vector(Opcode::Rope, &[x.into(), table.into()]);
    }

    /// `x += bias` where the model has that bias.
    pub(super) fn bias(&mut self, n0: u32, bias: Option<u32>, x: impl Into<Operand>) {
        if let Some(bias) = bias {
            let x = x.into();
            self.vector(Opcode::Vadd, n0, &[x, bias.into(), x]);
        }
    }

    /// R\[reg\] = index of the largest of `n0` elements.
    pub(super) fn argmax(&mut self, n0: u32, reg: u8, x: u32) {
        self.lengths(n0, None, None);
        self.s.argmax(reg, x);
    }

    /// Mean of `R[reg]` rows of `n0` elements.
    pub(super) fn meanrows(&mut self, n0: u32, reg: u8, x: u32, z: u32) {
        self.lengths(n0, None, None);
        self.s.meanrows(reg, x, z);
    }
}
