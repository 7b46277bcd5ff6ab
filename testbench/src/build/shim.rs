//! The C functions that a model's shared library has, and where its ports are.

use crate::ghdl2v::Verilog;
use crate::ghdl2v::netlist::Port;

/// Bytes in which Verilator keeps a port.
pub(crate) fn storage(width: u32) -> usize {
    match width {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        33..=64 => 8,
        w => 4 * w.div_ceil(32) as usize,
    }
}

/// All ports, inputs first: the order of `ssnail_port`.
pub(crate) fn ports(v: &Verilog) -> impl Iterator<Item = &Port> {
    v.inputs.iter().chain(&v.outputs)
}

/// The C++ source. Nothing else of the library is visible, so that several models live in one process.
pub(super) fn source(v: &Verilog, class: &str, trace: bool) -> String {
    let addresses: String = ports(v)
        .enumerate()
        .map(|(k, Port { name, width })| {
            let bytes = storage(*width);
            format!("    case {k}: static_assert(sizeof(m.{name}) == {bytes}, \"{name}\"); return (void*)&m.{name};\n")
        })
        .collect();
    let include = if trace { "#include \"verilated_fst_c.h\"\n" } else { "" };
    let trace_functions = if trace { TRACE } else { "" };
    format!(
        "#include \"{class}.h\"\n#include \"verilated.h\"\n{include}\
         namespace {{ struct S {{ VerilatedContext ctx; {class} m; S() : ctx(), m((ctx.traceEverOn({trace}), &ctx), \"top\") {{}} }}; }}\n\
         #define API extern \"C\" __attribute__((visibility(\"default\")))\n\
         API void* ssnail_new() {{ return new S; }}\n\
         API void ssnail_free(void* p) {{ S* s = (S*)p; s->m.final(); delete s; }}\n\
         API void ssnail_eval(void* p) {{ ((S*)p)->m.eval(); }}\n\
         API void* ssnail_port(void* p, int i) {{\n  {class}& m = ((S*)p)->m;\n  switch (i) {{\n{addresses}  }}\n  return 0;\n}}\n\
         {trace_functions}"
    )
}

const TRACE: &str = "\
API void* ssnail_trace_open(void* p, const char* f) { VerilatedFstC* t = new VerilatedFstC; ((S*)p)->m.trace(t, 99); t->open(f); return t; }
API void ssnail_trace_dump(void* t, unsigned long long time) { ((VerilatedFstC*)t)->dump((uint64_t)time); }
API void ssnail_trace_close(void* t) { ((VerilatedFstC*)t)->close(); delete (VerilatedFstC*)t; }
";
