//! Verilog names: letters, digits and underscores, no keyword, each once in its scope.

use super::netlist::Module;
use std::collections::HashSet;

/// Keywords of Verilog and SystemVerilog, so that either reads the output.
const KEYWORDS: &str = "always always_comb always_ff always_latch and assert assign assume automatic before begin bind \
    bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const \
    constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge \
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule \
    endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect \
    export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global \
    highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input \
    inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local \
    localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor \
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program \
    property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase \
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 \
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled \
    signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 \
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri \
    tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var \
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor";

/// The names of one scope.
pub(super) struct Names(HashSet<String>);

impl Names {
    pub(super) fn new() -> Self {
        Names(KEYWORDS.split_whitespace().map(String::from).collect())
    }

    /// A name like `wanted` that nothing has yet.
    pub(super) fn unique(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_string();
        let mut k = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{wanted}_{k}");
            k += 1;
        }
        name
    }
}

/// A name of the dump in Verilog's letters.
pub(super) fn plain(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = name.chars().filter(|&c| c != '\\').map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("v{name}") } else { name }
}

/// Names of a module's ports: inputs, outputs. They depend on the module alone, so that its instances agree.
pub(super) fn ports(m: &Module) -> (Vec<String>, Vec<String>) {
    let mut names = Names::new();
    let mut name = |p: &super::netlist::Port| names.unique(&plain(&p.name));
    (m.inputs.iter().map(&mut name).collect(), m.outputs.iter().map(&mut name).collect())
}
